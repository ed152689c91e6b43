// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultCrypto
internal import VaultImport

/// A command that other programs start by a name of its own, in their protocol.
protocol HelperCommand: ParsableCommand {
    /// The name of the link by which they start it.
    static var link: String { get }
}

/// What commands have in common that answer another program, which has no words for a prompt.
enum HelperAccess {
    static let commands: [any HelperCommand.Type] = [GitCredential.self, DockerCredential.self, CargoCredential.self]

    /// The arguments of the command, if another program started it by its link, or as cargo starts every provider.
    static func arguments(_ arguments: [String], startedAs path: String) -> [String] {
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        let isCargo = arguments.first == CargoCredential.option
        let command = commands.first { $0.link == name } ?? (isCargo ? CargoCredential.self : nil)
        return (command?.configuration.commandName).map { [$0] + arguments } ?? arguments
    }

    /// Runs a body on the vault. While that is locked a person is asked: at the terminal if there is one, else by
    /// pinentry.
    ///
    /// - Throws: code 4 when nobody can be asked.
    static func withVault<R>(
        _ options: VaultOptions, for command: String, onlyReads: Bool, _ body: (any OpenVault) throws -> R
    ) throws -> R {
        do {
            return try options.access(.named(nil), onlyReads: onlyReads).withVault(body)
        } catch let error as CommandError where error.status == .locked {
            let locked = try options.locked()
            guard Terminal() == nil, !options.unlocking.hasSource,
                let dialog = PassphraseDialog(asksFor: locked.givenPath, command)
            else { throw error }
            let client = try AgentLauncher.agent(of: locked)
            return try options.naming(locked) {
                try VaultAccess.unlock(client, options.unlocking, locked, dialog: dialog)
                return try body(client)
            }
        }
    }

    static func write(_ secret: Secret) throws { try secret.withBytes { try Output.write($0) } }
}

extension JSONValue {
    /// A text of a protocol: nothing that breaks a line, or ends a string somewhere.
    static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}
