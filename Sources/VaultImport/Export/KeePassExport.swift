// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
package import VaultCrypto
internal import VaultFormat

/// The XML of KeePass 2, which KeePassXC's command converts to a database.
package enum KeePassExport {
    /// Returns an encrypted database; throws `.missing` without `keepassxc-cli`.
    package static func database(
        _ entries: inout ExportedEntries, passphrase: Secret, _ world: ImportWorld
    ) throws(ImportError) -> Secret {
        let xml = try text(&entries)
        let input = try Secret.assembled(capacity: 2 * passphrase.count + 2) { buffer throws(CryptoError) in
            for _ in 0..<2 {
                try buffer.append(passphrase)
                try buffer.append(0x0a)
            }
        }
        var database: Secret?
        try outside {
            try world.withScratch { directory in
                // The command reads only files.
                let (source, target) = (directory + "/export.xml", directory + "/export.kdbx")
                try world.write(xml, source)
                let ended = try KeePass.run(["import", "-q", "-p", source, target], input, world)
                guard ended.status == 0 else { throw ImportError.program("keepassxc-cli", nil, hint: nil) }
                database = try world.read(target)
            }
        }
        guard let database else { throw .program("keepassxc-cli", nil, hint: nil) }
        return database
    }

    package static func text(_ entries: inout ExportedEntries) throws(ImportError) -> Secret {
        entries.settle(for: "kdbx")
        let root = ExportFolder<XML>()
        var binaries: [Secret] = []
        for entry in KeePassPasskey.divided(entries.entries) {
            root.add(try element(ready(entry), &binaries), to: entry.folder.split(separator: "/")[...])
        }
        let files = binaries.enumerated().map { number, content in
            XML.element("Binary", [.base64(content)], " ID=\"\(number)\" Compressed=\"False\"")
        }
        let meta = XML.element("Meta", [.element("Generator", "vault"), .element("Binaries", files)])
        let document = XML.element("KeePassFile", [meta, .element("Root", [group("Passwords", root)])])
        var unsayable = 0
        let text = try Secret.assembled(capacity: 65_536) { buffer throws(CryptoError) in
            try buffer.append("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n")
            try document.write(to: &buffer, &unsayable)
            try buffer.append("\n")
        }
        entries.leaveOut("characters that no XML can say", unsayable)
        KeePassPasskey.count(&entries)
        return text
    }

    private static func group(_ name: String, _ folder: ExportFolder<XML>) -> XML {
        let id = Data(KeyedHash.shortDigest(folder.path)).base64EncodedString()
        return .element("Group", [.element("UUID", id), .element("Name", name)] + folder.entries + folder.map(group))
    }

    private static func ready(_ given: ExportEntry) -> ExportEntry {
        var entry = given
        var names: [String] = []
        func taking(_ part: String, as name: String, _ secret: Secret?) -> Secret? {
            guard let secret, !secret.isPlainText else { return secret }
            let taken = Set(entry.attachments.map(\.name))
            var unique = name + ".bin"
            while taken.contains(unique) { unique = "_" + unique }
            entry.attachments.append((unique, secret))
            names += [unique, part]
            return nil
        }
        entry.password = taking(Statement.password, as: "secret", given.password)
        entry.otp = taking(ItemNames.otp, as: ItemNames.otp, given.otp)
        entry.notes = taking(ItemNames.notes, as: ItemNames.notes, given.notes)
        entry.fields = given.fields.compactMap { name, secret in
            taking(name, as: name, secret).map { (name, $0) }
        }
        if !names.isEmpty { entry.attributes.append((Statement.attached, Statement.text(names))) }
        entry.stateKind()
        return entry
    }

    /// - Parameter binaries: receives the attachments, which are elsewhere in the document.
    private static func element(_ given: ExportEntry, _ binaries: inout [Secret]) throws(ImportError) -> XML {
        var entry = given
        let source = entry.id(in: "kdbx")
        let kept = source.flatMap { Data(base64Encoded: $0) }.flatMap { $0.count == 16 ? $0 : nil }
        // Earlier imports kept the tags as KeePass has them.
        let tags =
            entry.takeTags(separatedBy: ";,")?.joined(separator: ";")
            ?? (source == nil ? nil : entry.takeAttribute(ItemNames.tags))
        let expires = entry.takeAttribute(KeePassTime.expiry, where: KeePassTime.isTime)
        let times: [XML?] = [
            .element("CreationTime", entry.created.formatted(.iso8601)),
            .element("LastModificationTime", entry.modified.formatted(.iso8601)),
            expires.map { .element("ExpiryTime", $0) }, .element("Expires", expires == nil ? "False" : "True"),
        ]
        var elements: [XML?] = [
            .element("UUID", (kept ?? Data(entry.id.bytes)).base64EncodedString()),
            tags.map { .element("Tags", $0) }, .element("Times", times.compactMap { $0 }),
            string("Title", entry.title), string("UserName", entry.user), string("URL", entry.urls.first ?? ""),
            string("Password", entry.password), string("Notes", entry.notes, isProtected: false),
        ]
        let urlKeys = (0..<max(entry.urls.count, 1)).map { $0 == 0 ? "KP2A_URL" : "KP2A_URL_\($0)" }
        elements += zip(urlKeys, entry.urls.dropFirst()).map { string($0, $1) }
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
        elements += entry.attributes.map { string(taking($0.name), $0.value) }
        if let passkey = entry.passkeys.first {
            elements += KeePassPasskey.attributes(of: passkey).map { string(taking($0.name), $0.value) }
            elements += try KeePassPasskey.secrets(of: passkey).map { string(taking($0.name), $0.value) }
        }
        elements.append(string("otp", entry.otp))
        elements += entry.fields.map { string(taking($0.name), $0.secret) }
        for (name, content) in entry.attachments {
            let value = XML.element("Value", [], " Ref=\"\(binaries.count)\"")
            elements.append(.element("Binary", [.element("Key", name), value]))
            binaries.append(content)
        }
        return .element("Entry", elements.compactMap { $0 })
    }

    private static func string(_ key: String, _ value: String) -> XML {
        .element("String", [.element("Key", key), .element("Value", value)])
    }

    private static func string(_ key: String, _ value: Secret?, isProtected: Bool = true) -> XML? {
        value.map { value in
            let protection = isProtected ? " ProtectInMemory=\"True\"" : ""
            return .element("String", [.element("Key", key), .element("Value", [.secret(value)], protection)])
        }
    }
}

/// XML to be written, whose secrets stay in locked memory.
private enum XML {
    case text(String)
    case secret(Secret)
    case base64(Secret)
    /// - Parameter attributes: each with a space in front.
    indirect case element(String, [XML], String = "")

    static func element(_ name: String, _ text: String) -> XML { .element(name, [.text(text)]) }

    /// - Parameter unsayable: is increased by the number of characters that were replaced by a question mark.
    func write(to buffer: inout SecretBuffer, _ unsayable: inout Int) throws(CryptoError) {
        switch self {
        case .text(let text): try XML.escape(Array(text.utf8).span, to: &buffer, &unsayable)
        case .secret(let secret):
            try secret.withBytes { bytes throws(CryptoError) in try XML.escape(bytes, to: &buffer, &unsayable) }
        case .base64(let secret):
            try secret.withBytes { bytes throws(CryptoError) in try buffer.append(base64: bytes) }
        case .element(let name, let content, let attributes):
            try buffer.append("<\(name)\(attributes)>")
            for part in content { try part.write(to: &buffer, &unsayable) }
            try buffer.append("</\(name)>")
        }
    }

    /// Escapes markup, and carriage returns, which parsers change; XML cannot represent other control characters.
    private static func escape(
        _ bytes: Span<UInt8>, to buffer: inout SecretBuffer, _ unsayable: inout Int
    ) throws(CryptoError) {
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
