// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The call of the user's own `ssh` for a remote. No part of a URL becomes an option or more than one shell word.
struct SSHCommand {
    /// The program's name, which is looked up on the search path, and its arguments.
    let arguments: [String]
    /// The command that a person types to reach the server.
    let byHand: String

    /// An untrusted server gets no agent, ticket, display or port of this machine, and `ssh` asks no questions.
    private static let settings = [
        "BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=10", "ServerAliveCountMax=3", "LogLevel=ERROR",
        "ClearAllForwardings=yes", "ControlMaster=no",
        "RemoteCommand=none", "PermitLocalCommand=no", "Tunnel=no",
    ]

    /// - Parameter url: a URL of the scheme `ssh`.
    /// - Throws: `.refused` for another scheme.
    init(_ url: RemoteURL) throws(RecordStoreError) {
        guard url.scheme == .ssh, let host = url.hosts.first else {
            throw .refused("a server by ssh is ssh://[user@]host[:port]/absolute/path", hint: nil)
        }
        let port = host.port.map { ["-p", String($0)] } ?? []
        let user = url.user.map { ["-l", $0] } ?? []
        let settings = Self.settings.flatMap { ["-o", $0] }
        let served = ["vault", "remote", "serve", "--", Self.quoted(url.path)]
        arguments = ["ssh", "-T", "-a", "-x", "-k"] + settings + port + user + ["--", host.name] + served
        byHand = (["ssh"] + port + user + [host.name]).joined(separator: " ")
    }

    /// Quotes a text as one word for the shell of the server's user: a POSIX shell, csh, or fish, which interprets
    /// backslashes between single quotes. `ssh` joins words by spaces, and the remote shell splits them again.
    static func quoted(_ text: String) -> String {
        var word = "'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "'": word += #"'\''"#
            case "\\": word += #"'\\'"#
            // csh expands its history even between quotes.
            case "!": word += #"'\!'"#
            default: word.unicodeScalars.append(scalar)
            }
        }
        return word + "'"
    }
}
