// SPDX-License-Identifier: Apache-2.0
import Synchronization
import VaultFormat
import VaultSync

/// An engine that counts the traffic with a remote.
final class CountingEngine: RemoteEngine {
    struct Tally {
        /// The size of the sent records, in bytes.
        var sent = 0
        var received = 0
        var calls = 0
    }

    private let engine: any RemoteEngine
    private let tally = Mutex(Tally())

    init(_ engine: any RemoteEngine) { self.engine = engine }

    /// Returns the counts since the previous call.
    func take() -> Tally {
        tally.withLock { tally in
            defer { tally = Tally() }
            return tally
        }
    }

    fileprivate func note(sent: Int = 0, received: Int = 0, calls: Int = 0) {
        tally.withLock { tally in
            tally.sent += sent
            tally.received += received
            tally.calls += calls
        }
    }

    func store(at remote: RemoteAccess, realm: RealmID) throws(RecordStoreError) -> any RecordStore {
        CountingStore(engine: self, store: try engine.store(at: remote, realm: realm))
    }

    func realms(at remote: RemoteAccess) throws(RecordStoreError) -> [RealmID] { try engine.realms(at: remote) }
}

private struct CountingStore: RecordStore {
    let engine: CountingEngine
    let store: any RecordStore

    func heads() throws(RecordStoreError) -> [StreamHead] {
        engine.note(calls: 1)
        return try store.heads()
    }

    func read(
        _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
    ) throws(RecordStoreError) {
        engine.note(calls: 1)
        try store.read(starts) { record throws(RecordStoreError) in
            engine.note(received: record.bytes.count)
            try take(record)
        }
    }

    func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? {
        let found = try store.record(at: address)
        engine.note(received: found?.count ?? 0, calls: 1)
        return found
    }

    func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended] {
        engine.note(sent: records.reduce(0) { $0 + $1.bytes.count }, calls: 1)
        return try store.append(records)
    }

    func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError) {
        engine.note(calls: 1)
        try store.remove(stream, below: sequence)
    }

    func remove(_ address: RecordAddress) throws(RecordStoreError) {
        engine.note(calls: 1)
        try store.remove(address)
    }

    func watch(_ hint: @escaping @Sendable (RecordHint) -> Void) throws(RecordStoreError) -> (any RecordWatch)? {
        try store.watch(hint)
    }
}
