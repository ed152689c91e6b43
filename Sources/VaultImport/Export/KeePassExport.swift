// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
package import VaultCrypto
internal import VaultFormat

/// The XML of KeePass 2, which KeePassXC's command converts to a database.
package enum KeePassExport {
    /// Returns a database, encrypted with a passphrase.
    ///
    /// - Throws: `.missing` without `keepassxc-cli`.
    package static func database(
        _ entries: inout ExportedEntries, passphrase: Secret, _ world: ImportWorld
    ) throws(ImportError) -> Secret {
        let xml = try text(&entries)
        let input = try Secret.assembled(capacity: 2 * passphrase.count + 2) { buffer throws(CryptoError) in
            for _ in 0..<2 {
                try passphrase.withBytes { bytes throws(CryptoError) in try buffer.append(bytes) }
                try buffer.append(0x0a)
            }
        }
        var database: Secret?
        try outside {
            try world.withScratch { directory in
                // The command reads only files.
                let (source, target) = (directory + "/export.xml", directory + "/export.kdbx")
                try world.write(xml, source)
                let ended = try world.run(
                    ["env", "LC_ALL=C.UTF-8", "keepassxc-cli", "import", "-q", "-p", source, target], input
                ) { _ in }
                guard let status = ended.status, status != 127 else {
                    throw ImportError.missing("the program 'keepassxc-cli'", package: "keepassxc")
                }
                guard status == 0 else { throw ImportError.program("keepassxc-cli", nil, hint: nil) }
                database = try world.read(target)
            }
        }
        guard let database else { throw .program("keepassxc-cli", nil, hint: nil) }
        return database
    }

    package static func text(_ entries: inout ExportedEntries) throws(ImportError) -> Secret {
        do throws(CryptoError) {
            entries.settle(for: "kdbx")
            var writer = try Writer()
            let text = try writer.document(KeePassPasskey.divided(entries.entries))
            entries.leaveOut("characters that no XML can say", writer.unsayable)
            KeePassPasskey.count(&entries)
            return text
        } catch { throw .cryptography(error) }
    }

    /// A group, and the groups below it.
    fileprivate final class Group {
        let name: String
        let path: String
        var groups: [Group] = []
        var entries: [ExportEntry] = []

        init(_ name: String, path: String) { (self.name, self.path) = (name, path) }

        func below(_ name: String) -> Group {
            if let group = groups.first(where: { $0.name == name }) { return group }
            let group = Group(name, path: path + "/" + name)
            groups.append(group)
            return group
        }
    }

    private struct Writer: ~Copyable {
        private var buffer: SecretBuffer
        private var binaries: [Secret] = []
        /// The number of characters in names and attributes that were replaced by a question mark.
        private(set) var unsayable = 0

        init() throws(CryptoError) { buffer = try SecretBuffer(capacity: 65_536) }

        mutating func document(_ entries: [ExportEntry]) throws(CryptoError) -> Secret {
            let root = Group("Passwords", path: "")
            for entry in entries {
                let group = entry.folder.split(separator: "/").reduce(root) { $0.below(String($1)) }
                group.entries.append(ready(entry))
            }
            try buffer.append("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<KeePassFile><Meta>")
            try element("Generator", "vault")
            try buffer.append("<Binaries>")
            for (index, binary) in binaries.enumerated() {
                try buffer.append("<Binary ID=\"\(index)\" Compressed=\"False\">")
                try binary.withBytes { bytes throws(CryptoError) in try buffer.append(base64: bytes) }
                try buffer.append("</Binary>")
            }
            try buffer.append("</Binaries></Meta><Root>")
            try write(root)
            try buffer.append("</Root></KeePassFile>\n")
            return Secret(try buffer.take())
        }

        /// Returns the entry with values that XML cannot represent as attachments, which the writer retains.
        private mutating func ready(_ entry: ExportEntry) -> ExportEntry {
            var entry = entry
            var attachments = entry.attachments
            var names: [String] = []
            func taking(_ part: String, as name: String, _ secret: Secret?) -> Secret? {
                guard let secret, !secret.isPlainText else { return secret }
                let taken = Set(attachments.map(\.name))
                var unique = name + ".bin"
                while taken.contains(unique) { unique = "_" + unique }
                attachments.append((unique, secret))
                names += [unique, part]
                return nil
            }
            entry.password = taking(Statement.password, as: "secret", entry.password)
            entry.otp = taking(ItemNames.otp, as: ItemNames.otp, entry.otp)
            entry.notes = taking(ItemNames.notes, as: ItemNames.notes, entry.notes)
            entry.fields = entry.fields.compactMap { name, secret in
                taking(name, as: name, secret).map { (name, $0) }
            }
            entry.attachments = attachments
            if !names.isEmpty { entry.attributes.append((Statement.attached, Statement.text(names))) }
            entry.stateKind()
            binaries += attachments.map { $0.content }
            return entry
        }

        private mutating func write(_ group: Group) throws(CryptoError) {
            try buffer.append("<Group>")
            try element("UUID", Data(KeyedHash.shortDigest(group.path)).base64EncodedString())
            try element("Name", group.name)
            for entry in group.entries { try write(entry) }
            for group in group.groups { try write(group) }
            try buffer.append("</Group>")
        }

        private mutating func write(_ entry: ExportEntry) throws(CryptoError) {
            try buffer.append("<Entry>")
            let own = Data(entry.id.bytes)
            let kept = entry.id(in: "kdbx").flatMap { Data(base64Encoded: $0) }
            try element("UUID", (kept?.count == 16 ? kept ?? own : own).base64EncodedString())
            var entry = entry
            // Earlier imports kept the tags as KeePass has them.
            let earlier =
                entry.id(in: "kdbx") == nil ? nil : entry.attributes.first { $0.name == ItemNames.tags }?.value
            let tags = entry.takeTags(separatedBy: ";,")?.joined(separator: ";") ?? earlier
            if let tags { try element("Tags", tags) }
            let expires = entry.attributes.first { $0.name == KeePassTime.expiry && KeePassTime.isTime($0.value) }?
                .value
            try buffer.append("<Times>")
            try element("CreationTime", entry.created.formatted(.iso8601))
            try element("LastModificationTime", entry.modified.formatted(.iso8601))
            if let expires { try element("ExpiryTime", expires) }
            try element("Expires", expires == nil ? "False" : "True")
            try buffer.append("</Times>")
            try string("Title", entry.title)
            try string("UserName", entry.user)
            try string("URL", entry.urls.first ?? "")
            try string("Password", entry.password, isProtected: true)
            try string("Notes", entry.notes, isProtected: false)
            let urlKeys = (0..<max(entry.urls.count, 1)).map { $0 == 0 ? "KP2A_URL" : "KP2A_URL_\($0)" }
            for (key, url) in zip(urlKeys, entry.urls.dropFirst()) { try string(key, url) }
            var names = Set(["Title", "UserName", "URL", "Password", "Notes", "otp"] + urlKeys)
            // Keys must be unique within an entry, and these have a meaning.
            func taking(_ name: String) -> String {
                var (taken, number) = (name, 2)
                while taken.isEmpty || !names.insert(taken).inserted || taken.hasPrefix("KP2A_URL") {
                    taken = "\(name) \(number)"
                    number += 1
                    if name.hasPrefix("KP2A_URL") { taken = "_" + taken }
                }
                return taken
            }
            for (name, value) in entry.attributes {
                guard name != ItemNames.tags || tags == nil, name != KeePassTime.expiry || expires == nil else {
                    continue
                }
                try string(taking(name), value)
            }
            if let passkey = entry.passkeys.first {
                for (name, value) in KeePassPasskey.attributes(of: passkey) { try string(taking(name), value) }
                for (name, value) in try KeePassPasskey.secrets(of: passkey) {
                    try string(taking(name), value, isProtected: true)
                }
            }
            if let otp = entry.otp { try string("otp", otp, isProtected: true) }
            for (name, secret) in entry.fields { try string(taking(name), secret, isProtected: true) }
            for (name, content) in entry.attachments {
                guard let reference = binaries.firstIndex(where: { $0 === content }) else { continue }
                try buffer.append("<Binary>")
                try element("Key", name)
                try buffer.append("<Value Ref=\"\(reference)\"/></Binary>")
            }
            try buffer.append("</Entry>\n")
        }

        private mutating func string(_ key: String, _ value: String) throws(CryptoError) {
            try buffer.append("<String>")
            try element("Key", key)
            try element("Value", value)
            try buffer.append("</String>")
        }

        private mutating func string(_ key: String, _ value: Secret?, isProtected: Bool) throws(CryptoError) {
            guard let value else { return }
            try buffer.append("<String>")
            try element("Key", key)
            try buffer.append(isProtected ? "<Value ProtectInMemory=\"True\">" : "<Value>")
            try value.withBytes { bytes throws(CryptoError) in try escape(bytes) }
            try buffer.append("</Value></String>")
        }

        private mutating func element(_ name: String, _ text: String) throws(CryptoError) {
            try buffer.append("<\(name)>")
            try escape(Array(text.utf8).span)
            try buffer.append("</\(name)>")
        }

        /// Escapes XML's markup characters, and carriage returns, which an XML parser would turn into newlines;
        /// replaces other control characters, which XML cannot represent, by a question mark.
        private mutating func escape(_ bytes: Span<UInt8>) throws(CryptoError) {
            for index in bytes.indices {
                switch bytes[index] {
                case UInt8(ascii: "&"): try buffer.append("&amp;")
                case UInt8(ascii: "<"): try buffer.append("&lt;")
                case UInt8(ascii: ">"): try buffer.append("&gt;")
                case UInt8(ascii: "\""): try buffer.append("&quot;")
                case 0x0d: try buffer.append("&#13;")
                case let byte where byte < 0x20 && byte != 0x09 && byte != 0x0a:
                    unsayable += 1
                    try buffer.append("?")
                case let byte: try buffer.append(byte)
                }
            }
        }
    }
}
