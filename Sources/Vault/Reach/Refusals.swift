// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

/// A store that remembers which secrets servers have refused. Only this device does: to another one, in another
/// network, the same host may be another server.
package protocol RefusalStore: ItemStore {
    /// Returns whether a server has refused an item's secret, and the item is as it was then.
    func isRefused(_ record: ItemRecord) throws(VaultError) -> Bool

    /// Remembers that a server has refused the secret of an item, as it was found.
    ///
    /// - Throws: `.itemChanged`, `.itemNotFound`.
    func noteRefusal(of record: ItemRecord) throws(VaultError)
}

/// The refused items and their versions, the oldest refusal first: the content of ``OwnRecord/refused``.
private struct Refusals {
    /// The maximum number, which a server that refuses everything reaches.
    static let most = 256
    private static let attribute = "items"

    private var versions: [(item: String, version: UInt64)] = []

    init(_ table: ReplicaTable) throws(VaultError) {
        for line in (try table.ownRecords(.refused).first?.says[Refusals.attribute] ?? "").split(separator: "\n") {
            let parts = line.split(separator: " ")
            guard parts.count == 2, let version = UInt64(parts[1]) else { continue }
            versions.append((String(parts[0]), version))
        }
    }

    var says: [String: String] {
        [Refusals.attribute: versions.map { "\($0.item) \($0.version)" }.joined(separator: "\n")]
    }

    func contains(_ record: Record) -> Bool {
        let item = Refusals.text(of: record)
        return versions.contains { $0.item == item && $0.version == record.version }
    }

    mutating func add(_ record: Record) {
        let item = Refusals.text(of: record)
        versions.removeAll { $0.item == item }
        versions.append((item, record.version))
        versions.removeFirst(max(0, versions.count - Refusals.most))
    }

    private static func text(of record: Record) -> String { Bytes16(record.id.bytes.span.array(0..<16)).text }
}

extension Vault: RefusalStore {
    package func isRefused(_ record: ItemRecord) throws(VaultError) -> Bool { try isRefused(StoredItem.Key(record)) }

    package func noteRefusal(of record: ItemRecord) throws(VaultError) { try noteRefusal(of: StoredItem.Key(record)) }

    package func isRefused(_ key: StoredItem.Key) throws(VaultError) -> Bool {
        try readReplica { table throws(VaultError) in
            try Refusals(table).contains(table.engine.record(of: key, self.viewer))
        }
    }

    package func noteRefusal(of key: StoredItem.Key) throws(VaultError) {
        try changeReplica { changes throws(VaultError) in
            let record = try changes.table.engine.record(of: key, self.viewer)
            var refusals = try Refusals(changes.table)
            guard !refusals.contains(record) else { return }
            refusals.add(record)
            try changes.putOwn(.refused, refusals.says, protection: .afterFirstUnlockThisDeviceOnly)
        }
    }
}

extension ItemEngine {
    /// Returns the record of an item that was found.
    ///
    /// - Throws: `.itemNotFound` also if the viewer does not see it; `.itemChanged` if its secret was replaced since.
    fileprivate func record(of key: StoredItem.Key, _ viewer: Viewer) throws(VaultError) -> Record {
        guard let place = records.place(of: ItemID(key.id.span)), let record = records.record(at: place),
            isVisible(record, to: viewer.groups), try !records.isAbsentHere(record)
        else { throw .itemNotFound }
        guard record.valueVersion == key.valueVersion else { throw .itemChanged }
        return record
    }
}
