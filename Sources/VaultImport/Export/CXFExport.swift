// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import VaultCrypto
internal import VaultFormat

/// FIDO's Credential Exchange Format (CXF) 1.0, in clear text: one account with all entries.
package enum CXFExport {
    /// The parts of an ssh key.
    package struct SSHKey: Sendable {
        let type: String
        let comment: String
        let key: Secret

        /// - Parameters:
        ///   - type: the name of the algorithm, such as `ssh-ed25519`.
        ///   - key: PKCS#8 in DER.
        package init(type: String, comment: String, key: Secret) {
            (self.type, self.comment, self.key) = (type, comment, key)
        }
    }

    private static let exporter = "vault"
    private static let format = "cxf:"

    /// - Parameters:
    ///   - now: the time of the export.
    ///   - sshKey: returns the parts of a key file of ssh-keygen(1); `nil` if it cannot be converted.
    package static func text(
        _ entries: inout ExportedEntries, at now: Date = Date(), sshKey: @escaping (Secret) -> SSHKey? = { _ in nil }
    ) throws(ImportError) -> Secret {
        try entries.separateAttachments()
        do throws(CryptoError) { return try write(&entries, now, sshKey) } catch { throw .cryptography(error) }
    }

    private static func write(
        _ entries: inout ExportedEntries, _ now: Date, _ sshKey: @escaping (Secret) -> SSHKey?
    ) throws(CryptoError) -> Secret {
        var json = try JSONWriter()
        try json.begin("{")
        try json.member("version", .object([("major", .json(String(CXF.version))), ("minor", .json("0"))]))
        try json.member("exporterRpId", exporter)
        try json.member("exporterDisplayName", exporter)
        try json.member("timestamp", .json(String(now.secondsSince1970 ?? 0)))
        try json.name("accounts")
        try json.begin("[")
        try json.begin("{")
        try json.member("id", Base64URL.encoded(UUID().bytes))
        try json.member("username", "")
        try json.member("email", "")
        entries.settle(for: "cxf")
        var folders = CXFFolders()
        var ids: Set<String> = []
        try json.name("items")
        try json.begin("[")
        for entry in entries.entries {
            guard let entry = try writable(entry, &entries) else { continue }
            let id = id(of: entry, &ids)
            var writer = CXFItemWriter(entry, sshKey)
            try json.element(writer.item(id))
            for folder in writer.folders { folders.add(id, to: folder) }
        }
        try json.end("]")
        try json.member("collections", folders.value())
        try json.end("}")
        try json.end("]")
        try json.end("}")
        return try json.line()
    }

    /// Counts the parts of an entry that the format has no room for.
    ///
    /// - Returns: the entry without them; `nil` if nothing is left.
    private static func writable(
        _ entry: ExportEntry, _ entries: inout ExportedEntries
    ) throws(CryptoError) -> ExportEntry? {
        var entry = entry
        try entry.encodeBinaries()
        let counting = entry.passkeys.count { !CXFPasskey.canWrite($0) }
        entry.passkeys.removeAll { !CXFPasskey.canWrite($0) }
        guard entry.isPasskeyAlone, entry.passkeys.isEmpty else {
            entries.leaveOut("passkeys that count their signatures", counting)
            return entry
        }
        entries.leaveOutWhole("passkeys that count their signatures")
        return nil
    }

    /// Returns the identifier of an entry, which is that of its source if it was imported from this format.
    private static func id(of entry: ExportEntry, _ ids: inout Set<String>) -> String {
        let own = Base64URL.encoded(entry.id.bytes)
        // A passkey alone was an item alone.
        let parent =
            entry.isPasskeyAlone ? entry.passkeys.first.flatMap { ExportedEntries.parent(of: $0.passkey) } : nil
        let source = parent.flatMap { $0.hasPrefix(format) ? String($0.dropFirst(format.count)) : nil }
        if let id = source ?? entry.id(in: "cxf"), let bytes = Base64URL.decoded(id), (1...64).contains(bytes.count),
            ids.insert(id).inserted
        {
            return id
        }
        guard ids.insert(own).inserted else {
            let other = Base64URL.encoded(UUID().bytes)
            ids.insert(other)
            return other
        }
        return own
    }

    /// Returns an identifier that is derived from a name, the same each time.
    fileprivate static func id(ofName name: String) -> String { Base64URL.encoded(KeyedHash.shortDigest(name)) }
}

extension UUID {
    var bytes: [UInt8] {
        VaultFormat.bytes(hexadecimal: uuidString.lowercased().filter { $0 != "-" }) ?? []
    }
}

extension Date {
    /// The whole seconds since 1970; `nil` for an earlier time, and for one too far away.
    var secondsSince1970: Int? {
        Int(exactly: timeIntervalSince1970.rounded(.down)).flatMap { $0 < 0 ? nil : $0 }
    }
}

/// The collections of an export: folders, whose names have slashes between their levels.
private struct CXFFolders {
    /// The deepest level, since readers limit the nesting of JSON; the names of deeper levels are joined.
    private static let depthLimit = 16

    private var items: [String] = []
    private var children: [String: CXFFolders] = [:]

    mutating func add(_ item: String, to folder: String) {
        let names = folder.split(
            separator: "/", maxSplits: CXFFolders.depthLimit - 1, omittingEmptySubsequences: false)
        add(item, to: names[...])
    }

    private mutating func add(_ item: String, to names: ArraySlice<Substring>) {
        guard let name = names.first else { return items.append(item) }
        children[String(name), default: CXFFolders()].add(item, to: names.dropFirst())
    }

    func value(below parent: String = "") -> JSONOutput {
        .array(
            children.sorted { $0.key < $1.key }.map { name, child in
                let path = "\(parent)/\(name)"
                let deeper = child.children.isEmpty ? [] : [("subCollections", child.value(below: path))]
                return .object(
                    [
                        ("id", .text(CXFExport.id(ofName: path))), ("title", .text(name)),
                        ("items", .array(child.items.map { .object([("item", .text($0))]) })),
                    ] + deeper)
            })
    }
}
