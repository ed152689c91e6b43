// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
internal import VaultFormat

/// KeePass databases, read through KeePassXC's command, which handles ciphers, key derivations and key files.
package struct KeePass {
    private static let command = ["env", "LC_ALL=C.UTF-8", "keepassxc-cli"]
    private static let package = "keepassxc"

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

    /// Returns the file name in a form that cannot be read as an option.
    private static func path(_ name: String) -> String { name.hasPrefix("-") ? "./" + name : name }

    private func line() throws(ImportError) -> Secret {
        try Secret.assembled(capacity: passphrase.count + 1) { buffer throws(CryptoError) in
            try passphrase.withBytes { bytes throws(CryptoError) in try buffer.append(bytes) }
            try buffer.append(0x0a)
        }
    }

    package func logins() throws(ImportError) -> ImportedLogins {
        let reader = try KeePassXML()
        let input = try line()
        var ended = ImportWorld.Ended(status: nil, message: "")
        /// The program has written the whole document.
        struct Complete: Error {}
        do throws(ImportError) {
            try reader.parse { take in
                do {
                    let command = ["export"] + keyOptions + ["--format", "xml", KeePass.path(file)]
                    ended = try world.run(KeePass.command + command, input) { part in
                        try take(part)
                        // The program is terminated: an orderly end takes it a tenth of its time, for nothing.
                        if reader.isComplete { throw Complete() }
                    }
                } catch is Complete { return }
                try check(ended)
            }
        } catch {
            // A failed program writes no output, which is not valid XML: report the program's failure instead.
            try check(ended)
            throw error
        }
        var imported = try reader.unpack { packed throws(ImportError) in try unpacked(packed) }
        try addMissing(reader.missing, to: &imported)
        return imported
    }

    private func check(_ ended: ImportWorld.Ended) throws(ImportError) {
        guard let status = ended.status, status != 127 else {
            throw .missing("the program 'keepassxc-cli'", package: KeePass.package)
        }
        guard status != 0 else { return }
        if ended.message.contains("nvalid credentials") { throw .wrongPassphrase }
        if ended.message.contains("Not a KeePass") { throw .otherFormat("this is no KeePass database", hint: nil) }
        throw .program("keepassxc-cli", nil, hint: "see what 'keepassxc-cli ls' says of the file")
    }

    /// Decompresses up to 16 MiB: more may be a decompression bomb.
    private func unpacked(_ packed: Secret) throws(ImportError) -> KeePassXML.Unpacked {
        do throws(ImportError) {
            let (content, ended) = try world.output(
                of: ["gzip", "-dc"], packed, limit: Layout.valueLimit, package: "gzip")
            return ended.status == 0 ? .content(content) : .damaged
        } catch {
            guard case .tooLarge = error else { throw error }
            return .tooLarge
        }
    }

    /// Exports missing attachments. KeePassXC exports those of KDBX 4 one by one, each to a file, by the names of
    /// groups and entry.
    private func addMissing(
        _ missing: [KeePassXML.MissingAttachment], to imported: inout ImportedLogins
    ) throws(ImportError) {
        guard !missing.isEmpty else { return }
        let input = try line()
        var found: [(login: Int, attachment: Login.Attachment)] = []
        var skipped = ImportedLogins()
        let logins = imported.logins
        try outside {
            try world.withScratch { directory in
                for (number, attachment) in missing.enumerated() {
                    let login = logins[attachment.login]
                    let names = attachment.groups + [login.title]
                    let isUnique = logins.count { $0.title == login.title && $0.folder == login.folder } == 1
                    guard isUnique, !names.contains(where: { $0.isEmpty || $0.contains("/") }) else {
                        skipped.skip(
                            login.place, "the attachment '\(attachment.name)': give its entry a title of its own first")
                        continue
                    }
                    let file = "\(directory)/\(number)"
                    let arguments =
                        ["attachment-export"] + keyOptions
                        + [KeePass.path(self.file), "/" + names.joined(separator: "/"), attachment.name, file]
                    let ended = try world.run(KeePass.command + arguments, input) { _ in }
                    guard ended.status == 0 else {
                        skipped.skip(
                            login.place, "the attachment '\(attachment.name)', which keepassxc-cli does not give")
                        continue
                    }
                    do throws(ImportError) {
                        let content = try outside { try world.read(file) }
                        found.append((attachment.login, Login.Attachment(name: attachment.name, content: content)))
                    } catch {
                        guard case .tooLarge = error else { throw error }
                        skipped.skip(login.place, "the attachment '\(attachment.name)' has more than 16 MiB")
                    }
                    world.progress(Double(number) / Double(missing.count))
                }
            }
        }
        for (login, attachment) in found { imported.logins[login].attachments.append(attachment) }
        imported.skipped += skipped.skipped
    }
}
