// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import VaultCrypto
internal import VaultFormat

/// FIDO's Credential Exchange Format (CXF) 1.0, in clear text: one account with all entries.
package enum CXFExport {
    /// The parts of an ssh key, with the name of its algorithm, such as `ssh-ed25519`, and the key as PKCS#8 in DER.
    package typealias SSHKey = (type: String, comment: String, key: Secret)

    /// - Parameter sshKey: returns the parts of a key file of ssh-keygen(1); `nil` if it cannot be converted.
    package static func text(
        _ entries: inout ExportedEntries, at now: Date = Date(), sshKey: @escaping (Secret) -> SSHKey? = { _ in nil }
    ) throws(ImportError) -> Secret {
        try entries.separateAttachments()
        entries.settle(for: "cxf")
        let root = ExportFolder<String>()
        var ids: Set<String> = []
        var items: [JSONOutput] = []
        for entry in entries.entries {
            guard let entry = try writable(entry, &entries) else { continue }
            let id = id(of: entry, &ids)
            var writer = CXFItemWriter(entry, sshKey)
            items.append(try writer.item(id))
            for folder in writer.folders {
                // Readers limit the nesting of JSON: the names of deeper levels are joined.
                root.add(id, to: folder.split(separator: "/", maxSplits: 15, omittingEmptySubsequences: false)[...])
            }
        }
        let account = JSONOutput.object([
            ("id", .text(Base64URL.encoded(UUID().bytes))), ("username", .text("")), ("email", .text("")),
            ("items", .array(items)), ("collections", collections(below: root)),
        ])
        return try .json(
            .object([
                ("version", .object([("major", .number(CXF.version)), ("minor", .number(0))])),
                ("exporterRpId", .text("vault")), ("exporterDisplayName", .text("vault")),
                ("timestamp", .number(now.secondsSince1970 ?? 0)), ("accounts", .array([account])),
            ]), isLine: true)
    }

    /// Returns the entry without the parts that the format has no room for, and counts them.
    private static func writable(
        _ entry: ExportEntry, _ entries: inout ExportedEntries
    ) throws(ImportError) -> ExportEntry? {
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

    /// Returns the identifier of the entry's source, if it was imported from this format, or one of its own.
    private static func id(of entry: ExportEntry, _ ids: inout Set<String>) -> String {
        let own = Base64URL.encoded(entry.id.bytes)
        // A passkey alone was an item alone.
        let parent =
            entry.isPasskeyAlone ? entry.passkeys.first.flatMap { ExportedEntries.parent(of: $0.passkey) } : nil
        let source = parent.flatMap { $0.hasPrefix("cxf:") ? String($0.dropFirst(4)) : nil } ?? entry.id(in: "cxf")
        if let source, let bytes = Base64URL.decoded(source), (1...64).contains(bytes.count),
            ids.insert(source).inserted
        {
            return source
        }
        if ids.insert(own).inserted { return own }
        let other = Base64URL.encoded(UUID().bytes)
        ids.insert(other)
        return other
    }

    private static func collections(below folder: ExportFolder<String>) -> JSONOutput {
        .array(
            folder.map { name, folder in
                let below = collections(below: folder)
                let isLeaf = if case .array(let all) = below { all.isEmpty } else { true }
                return .object(present: [
                    ("id", .text(Base64URL.encoded(KeyedHash.shortDigest(folder.path)))), ("title", .text(name)),
                    ("items", .array(folder.entries.map { .object([("item", .text($0))]) })),
                    ("subCollections", isLeaf ? nil : below),
                ])
            })
    }
}

extension UUID {
    var bytes: [UInt8] { VaultFormat.bytes(hexadecimal: uuidString.lowercased().filter { $0 != "-" }) ?? [] }
}

extension Date {
    /// The whole seconds since 1970; `nil` for an earlier time, and for one too far away.
    var secondsSince1970: Int? { Int(exactly: timeIntervalSince1970.rounded(.down)).flatMap { $0 < 0 ? nil : $0 } }
}
