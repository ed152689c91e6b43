// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import CLinux
internal import Vault
internal import VaultCrypto
internal import VaultImport
internal import VaultSystem

/// A command that other programs start under a name of its own, with their own protocol.
protocol HelperCommand: ParsableCommand {
    /// The name of the link by which it is started.
    static var link: String { get }

    /// Whether it takes options; otherwise all arguments are operands.
    static var hasOptions: Bool { get }
}

extension HelperCommand {
    static var hasOptions: Bool { true }

    fileprivate static func arguments(_ said: [String]) -> [String] {
        [configuration.commandName ?? ""] + (hasOptions ? [] : ["--"]) + said
    }
}

/// Shared code of the commands that answer another program, whose protocol has no prompt.
enum HelperAccess {
    /// Returns the command that a link starts. A list of all types would cost each start a witness table for each of
    /// them, which the runtime makes at the first use.
    private static func command(_ link: String?) -> (any HelperCommand.Type)? {
        switch link {
        case GitCredential.link: GitCredential.self
        case DockerCredential.link: DockerCredential.self
        case CargoCredential.link: CargoCredential.self
        case BrowserHost.link: BrowserHost.self
        default: nil
        }
    }

    /// Returns the command's arguments, preceded by the name of the helper if another program has started it by its
    /// link, or in the way cargo starts every provider.
    ///
    /// - Parameter all: the arguments of the process, including its name.
    static func arguments(_ all: [String]) -> [String] {
        let (name, said) = (all.first?.split(separator: "/").last, Array(all.dropFirst()))
        if let command = command(name.map(String.init)) {
            // For ps(1), and for an agent that cannot see the executable.
            ProcessName.set("vault-\(command.configuration.commandName ?? "")")
            return command.arguments(said)
        }
        return said.first == CargoCredential.option ? CargoCredential.arguments(said) : said
    }

    /// Runs a body, once, with the access groups of the user's own programs. While the vault is locked the user is
    /// asked: at the terminal if there is one, else by pinentry.
    ///
    /// - Throws: code 4 if the user cannot be asked.
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

extension JSONWriter {
    /// Returns a line with an object.
    static func line(_ members: (inout JSONWriter) throws -> Void) throws -> Secret {
        var json = try JSONWriter()
        try json.object(members)
        return try json.line()
    }

    /// Writes an object, as the value of a name if there is one.
    mutating func object(named name: String? = nil, _ members: (inout JSONWriter) throws -> Void) throws {
        if let name { try self.name(name) }
        try begin("{")
        try members(&self)
        try end("}")
    }
}

extension JSONValue {
    /// Returns whether a text is safe in a protocol: without control characters, which might end a line or a string.
    static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}
