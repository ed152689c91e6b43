// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import CLinux
internal import Vault
internal import VaultCrypto
internal import VaultImport

/// A command that other programs start by a name of its own, in their protocol.
protocol HelperCommand: ParsableCommand {
    /// The name of the link by which they start it.
    static var link: String { get }

    /// Whether nothing that they say is an option.
    static var hasOptions: Bool { get }
}

extension HelperCommand {
    static var hasOptions: Bool { true }

    fileprivate static func arguments(_ said: [String]) -> [String] {
        [configuration.commandName ?? ""] + (hasOptions ? [] : ["--"]) + said
    }
}

/// What commands have in common that answer another program, which has no words for a prompt.
enum HelperAccess {
    private static let commands: [any HelperCommand.Type] = [
        GitCredential.self, DockerCredential.self, CargoCredential.self, BrowserHost.self,
    ]

    /// What the command takes, with the name of the helper before it if another program has started that by its link,
    /// or as cargo starts every provider.
    ///
    /// - Parameter all: of the process, with what it was started as.
    static func arguments(_ all: [String]) -> [String] {
        let (name, said) = (all.first?.split(separator: "/").last, Array(all.dropFirst()))
        if let command = commands.first(where: { $0.link == name.map(String.init) }) {
            // For ps(1), and for an agent, which does not see the program.
            unsafe clinux_set_name("vault-\(command.configuration.commandName ?? "")")
            return command.arguments(said)
        }
        return said.first == CargoCredential.option ? CargoCredential.arguments(said) : said
    }

    /// Runs a body, once, on the groups of the vault that the user's own programs trust. While it is locked a person is
    /// asked: at the terminal if there is one, else by pinentry.
    ///
    /// - Throws: code 4 when nobody can be asked.
    static func withVault<R>(
        _ options: VaultOptions, for command: String, onlyReads: Bool, _ body: (any CommandVault) throws -> R
    ) throws -> R {
        let locked = try options.locked()
        let asks = Terminal() == nil && !options.unlocking.hasSource
        let dialog = { @Sendable [path = locked.givenPath] in PassphraseDialog(asksFor: path, command) }
        let access: VaultAccess
        do { access = try options.trustedAccess(onlyReads: onlyReads) } catch let error as CommandError
            where error.status == .locked
        {
            guard asks, let dialog = dialog() else { throw error }
            let client = try AgentLauncher.agent(of: locked)
            try options.naming(locked) {
                try VaultAccess.unlock(client, options.unlocking, locked, dialog: dialog)
            }
            access = try options.trustedAccess(onlyReads: onlyReads)
        }
        return try access.withVault(dialog: asks && dialog() != nil ? dialog : nil, body)
    }

    static func write(_ secret: Secret) throws { try secret.withBytes { try Output.write($0) } }
}

extension JSONValue {
    /// A text of a protocol: nothing that breaks a line, or ends a string somewhere.
    static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}
