// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
internal import VaultFormat

/// KeePass databases, read through KeePassXC's command, which handles ciphers, key derivations and key files.
package struct KeePass {
    /// Runs the command; an input is a passphrase.
    static func run(
        _ arguments: [String], _ input: Secret, _ world: ImportWorld, _ output: (Span<UInt8>) throws -> Void = { _ in }
    ) throws -> ImportWorld.Ended {
        let ended = try world.run(["env", "LC_ALL=C.UTF-8", "keepassxc-cli"] + arguments, input, output)
        guard let status = ended.status, status != 127 else {
            throw ImportError.missing("the program 'keepassxc-cli'", package: "keepassxc")
        }
        return ended
    }

    private let world: ImportWorld
    private let file: String
    private let passphrase: Secret
    private let keyFile: String?

    /// - Parameter passphrase: the passphrase of the database; empty if a key file alone opens it.
    package init(_ file: String, passphrase: Secret, keyFile: String?, _ world: ImportWorld) {
        (self.file, self.passphrase, self.keyFile, self.world) = (file, passphrase, keyFile, world)
    }

    private var keyOptions: [String] {
        (keyFile.map { ["--key-file", KeePass.path($0)] } ?? []) + (passphrase.isEmpty ? ["--no-password"] : [])
    }

    private static func path(_ name: String) -> String { name.hasPrefix("-") ? "./" + name : name }

    private func line() throws(ImportError) -> Secret {
        try Secret.assembled(capacity: passphrase.count + 1) { buffer throws(CryptoError) in
            try buffer.append(passphrase)
            try buffer.append(0x0a)
        }
    }

    package func logins() throws(ImportError) -> ImportedLogins {
        let reader = try KeePassXML()
        let input = try line()
        var ended: ImportWorld.Ended?
        /// The program has written the whole document.
        struct Complete: Error {}
        do throws(ImportError) {
            try reader.parse { take in
                do {
                    let arguments = ["export"] + keyOptions + ["--format", "xml", KeePass.path(file)]
                    ended = try KeePass.run(arguments, input, world) { part in
                        try take(part)
                        // The program is terminated: an orderly end takes it a tenth of its time, for nothing.
                        if reader.isComplete { throw Complete() }
                    }
                } catch is Complete {}
            }
        } catch {
            // A failed program writes no output, which is not valid XML: report the program's failure instead.
            if let ended, ended.status != 0 { throw KeePass.failure(ended) }
            throw error
        }
        var imported = try reader.unpack { packed throws(ImportError) in try unpacked(packed) }
        try addMissing(reader.missing, to: &imported)
        return imported
    }

    private static func failure(_ ended: ImportWorld.Ended) -> ImportError {
        if ended.message.contains("nvalid credentials") { return .wrongPassphrase }
        if ended.message.contains("Not a KeePass") { return .otherFormat("this is no KeePass database", hint: nil) }
        return .program("keepassxc-cli", nil, hint: "see what 'keepassxc-cli ls' says of the file")
    }

    /// Decompresses up to 16 MiB: more may be a decompression bomb.
    private func unpacked(_ packed: Secret) throws(ImportError) -> (content: Secret?, flaw: String) {
        do throws(ImportError) {
            let (content, ended) = try world.output(
                of: ["gzip", "-dc"], packed, limit: Layout.valueLimit, package: "gzip")
            return (ended.status == 0 ? content : nil, "cannot be unpacked")
        } catch {
            guard case .tooLarge = error else { throw error }
            return (nil, "has more than 16 MiB")
        }
    }

    /// Adds the attachments of KDBX 4, which KeePassXC exports one by one by the names of groups and entry.
    private func addMissing(
        _ missing: [KeePassXML.MissingAttachment], to imported: inout ImportedLogins
    ) throws(ImportError) {
        guard !missing.isEmpty else { return }
        let input = try line()
        let logins = imported.logins
        try outside {
            try world.withScratch { directory in
                for (number, attachment) in missing.enumerated() {
                    let login = logins[attachment.login]
                    let what = "the attachment '\(attachment.name)'"
                    let names = attachment.groups + [login.title]
                    let isUnique = logins.count { $0.title == login.title && $0.folder == login.folder } == 1
                    guard isUnique, !names.contains(where: { $0.isEmpty || $0.contains("/") }) else {
                        imported.skip(login.place, "\(what): give its entry a title of its own first")
                        continue
                    }
                    let target = "\(directory)/\(number)"
                    let arguments =
                        ["attachment-export"] + keyOptions
                        + [KeePass.path(file), "/" + names.joined(separator: "/"), attachment.name, target]
                    guard try KeePass.run(arguments, input, world).status == 0 else {
                        imported.skip(login.place, "\(what), which keepassxc-cli does not give")
                        continue
                    }
                    do {
                        let content = Login.Attachment(name: attachment.name, content: try world.read(target))
                        imported.logins[attachment.login].attachments.append(content)
                    } catch ImportError.tooLarge {
                        imported.skip(login.place, "\(what) has more than 16 MiB")
                    }
                    world.progress(Double(number) / Double(missing.count))
                }
            }
        }
    }
}
