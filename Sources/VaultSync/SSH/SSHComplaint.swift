// SPDX-License-Identifier: Apache-2.0

/// The end of a program.
enum SSHEnding: Equatable {
    case exited(Int32)
    case killed(Int32)
}

/// The reason why there is no connection by ssh, in words for a person, with advice.
struct SSHComplaint {
    /// The output of ssh and the server on standard error: any bytes.
    let said: String
    /// `nil` while the program runs.
    let ending: SSHEnding?
    let failure: PipeFailure
    /// The command that a person types to reach the server.
    let byHand: String

    private static let longestQuotation = 400
    /// The exit code of ssh's own errors; the program on the server has the others.
    private static let ownStatus: Int32 = 255

    var words: String {
        let quotation = lines.isEmpty ? "" : ": " + lines
        if case .violation(let what) = failure {
            return "the server does not speak vault's protocol: \(what); "
                + "a start-up file of its shell may print something, or 'vault' be another version\(quotation)"
        }
        guard let advice else { return "ssh \(state)\(quotation)" }
        return "ssh \(state)\(quotation); \(advice)"
    }

    private var state: String {
        switch (failure, ending) {
        case (.silent, _): "has no answer from the server"
        case (_, .exited(0)?): "has ended"
        case (_, .exited(Self.ownStatus)?), (_, nil): "has no connection to the server"
        case (_, .exited(let status)?): "has ended with \(status)"
        case (_, .killed(let signal)?): "was ended by signal \(signal)"
        }
    }

    /// The last three lines, without trailing periods and spaces.
    private var lines: String {
        let lines = said.split(whereSeparator: \.isNewline).map { line in
            String(line.reversed().drop { $0 == "." || $0.isWhitespace }.reversed())
        }.filter { !$0.isEmpty }
        return String(lines.suffix(3).joined(separator: "; ").suffix(Self.longestQuotation))
    }

    private var advice: String? {
        if said.contains("REMOTE HOST IDENTIFICATION HAS CHANGED") {
            return "the server shows another key than before: ask its operator before anything else"
        }
        if said.contains("Host key verification failed") || said.contains("host key is known for") {
            return "run '\(byHand)' once, which shows the server's key and asks"
        }
        if said.contains("Permission denied") {
            return "the server takes none of this device's keys, and nobody is asked for a passphrase: "
                + "see '\(byHand)' and 'ssh-add'"
        }
        if ending == .exited(127) || said.contains("command not found") {
            return "the server's shell finds no 'vault': install it there, or name it in authorized_keys, "
                + "command=\"/path/to/vault remote serve -- DIR\""
        }
        return nil
    }
}
