// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// How the user's own `ssh` is called for a remote. No word of a URL is an option, or more than a word of a shell.
struct SSHCommand {
    /// What is looked for on the search path, and what it is given.
    let arguments: [String]
    /// What a person types to get there.
    let byHand: String

    /// An untrusted server reaches no agent, ticket, display or port of this machine, and ssh asks no questions.
    private static let settings = [
        "BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=10", "ServerAliveCountMax=3", "LogLevel=ERROR",
        "ClearAllForwardings=yes", "ControlMaster=no",
        "RemoteCommand=none", "PermitLocalCommand=no", "Tunnel=no",
    ]

    /// - Parameter url: of the scheme `ssh`.
    /// - Throws: `.refused` for another one.
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

    /// One word for the shell that the server's user has: POSIX's, csh or fish, which reads backslashes between single
    /// quotes. `ssh` joins words by spaces, and the shell takes them apart again.
    static func quoted(_ text: String) -> String {
        var word = "'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "'": word += #"'\''"#
            case "\\": word += #"'\\'"#
            // csh looks for its history even between quotes.
            case "!": word += #"'\!'"#
            default: word.unicodeScalars.append(scalar)
            }
        }
        return word + "'"
    }
}
