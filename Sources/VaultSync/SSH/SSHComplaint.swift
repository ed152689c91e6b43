// SPDX-License-Identifier: Apache-2.0

/// Why there is no connection by ssh, in words for a person, with what to do about it.
struct SSHComplaint {
    /// What ssh, and the server, have said on standard error: any bytes.
    let said: String
    /// ssh's exit code, that of the program on the server, or 128 and a signal. Nil: it has not ended.
    let status: Int32?
    let failure: PipeFailure
    /// What a person types to get to the server.
    let byHand: String

    private static let longestQuotation = 400

    var words: String {
        let quotation = lines.isEmpty ? "" : ": " + lines
        if case .violation(let what) = failure {
            return "the server does not speak vault's protocol: \(what); "
                + "a start-up file of its shell may print something, or 'vault' be another version\(quotation)"
        }
        guard let advice else { return "ssh \(ending)\(quotation)" }
        return "ssh \(ending)\(quotation); \(advice)"
    }

    private var ending: String {
        switch (failure, status) {
        case (.silent, _): "has no answer from the server"
        case (_, 0?): "has ended"
        // ssh's own errors are 255.
        case (_, let status?) where status < 128: "has ended with \(status)"
        case (_, let status?) where status < 193: "was ended by signal \(status - 128)"
        default: "has no connection to the server"
        }
    }

    /// The last lines, without what ends them.
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
        if status == 127 || said.contains("command not found") {
            return "the server's shell finds no 'vault': install it there, or name it in authorized_keys, "
                + "command=\"/path/to/vault remote serve -- DIR\""
        }
        return nil
    }
}
