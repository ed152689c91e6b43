// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
package import VaultFormat

/// Every untrimmed record that a device has seen and checked, verbatim, from which remotes recover lost records. The
/// mirror is a cache: the vault's file has every item, and a device with a lost or altered mirror reads or publishes
/// again.
package final class Mirror {
    private let store: any RecordStore
    /// The same place, for records that a remote has: a power cut may lose them.
    private let cache: any RecordStore
    /// The numbers of the records of each stream.
    private var numbers: [RecordStream: Set<UInt64>] = [:]

    /// - Parameter cache: a store of the same place that does not wait for the disk.
    package init(_ store: any RecordStore, cache: (any RecordStore)? = nil) throws(SyncError) {
        (self.store, self.cache) = (store, cache ?? store)
        for head in try kept({ () throws(RecordStoreError) in try store.heads() }) {
            if let count = head.count, head.first <= head.last, count == head.last - head.first &+ 1 {
                numbers[head.stream] = Set(head.first...head.last)
                continue
            }
            var found: Set<UInt64> = []
            try kept { () throws(RecordStoreError) in
                try store.read([StreamStart(head.stream, from: head.first)]) { found.insert($0.address.sequence) }
            }
            numbers[head.stream] = found
        }
    }

    package var logs: [LogID] { streams(of: .log).map(\.name) }

    func streams(of kind: RecordKind) -> [RecordStream] { numbers.keys.filter { $0.kind == kind }.sorted() }

    func numbers(of stream: RecordStream) -> Set<UInt64> { numbers[stream] ?? [] }

    func numbers(of log: LogID) -> Set<UInt64> { numbers(of: RecordStream(.log, log)) }

    func has(_ address: RecordAddress) -> Bool { numbers[address.stream]?.contains(address.sequence) ?? false }

    /// Whether no record of a stream up to a number is missing.
    func hasAll(of stream: RecordStream, through last: UInt64) -> Bool {
        last > 0 && numbers(of: stream).isSuperset(of: 1...last)
    }

    package func bytes(at address: RecordAddress) throws(SyncError) -> [UInt8]? {
        guard has(address) else { return nil }
        return try kept { () throws(RecordStoreError) in try store.record(at: address) }
    }

    /// Lends the records of a stream, in order.
    ///
    /// - Parameter take: returns whether to continue.
    func read(_ stream: RecordStream, _ take: (StoredRecord) throws(SyncError) -> Bool) throws(SyncError) {
        guard numbers[stream] != nil else { return }
        do throws(SyncError) { try store.read(stream, from: 1, take) } catch {
            if case .store(let failure) = error { throw Self.kept(failure) }
            throw error
        }
    }

    /// Adds records that are missing.
    ///
    /// - Parameter isFetched: whether a remote has them.
    func add(_ records: [StoredRecord], isFetched: Bool = false) throws(SyncError) {
        let store = isFetched ? cache : store
        let appended = try kept { () throws(RecordStoreError) in try store.append(records) }
        for (record, result) in zip(records, appended) where result != .differs {
            numbers[record.address.stream, default: []].insert(record.address.sequence)
        }
        guard appended.count == records.count, appended.last != .differs else {
            // Another program has put a different record there meanwhile; the next run examines it.
            throw .busy
        }
    }

    func remove(_ stream: RecordStream, below sequence: UInt64) throws(SyncError) {
        try kept { () throws(RecordStoreError) in try store.remove(stream, below: sequence) }
        numbers[stream] = numbers[stream]?.filter { $0 >= sequence }
    }

    /// Removes one record, so that it is fetched again.
    func drop(_ address: RecordAddress) throws(SyncError) {
        guard has(address) else { return }
        try kept { () throws(RecordStoreError) in try store.remove(address) }
        numbers[address.stream]?.remove(address.sequence)
    }

    /// Replaces the records of a stream with these. New records are added before old ones are removed.
    func settle(_ stream: RecordStream, _ records: [UInt64: [UInt8]]) throws(SyncError) {
        for (number, bytes) in records.sorted(by: { $0.key < $1.key }) {
            let address = RecordAddress(stream, number)
            let here = try self.bytes(at: address)
            guard here != bytes else { continue }
            if here != nil { try drop(address) }
            try add([StoredRecord(address, bytes)])
        }
        for number in numbers(of: stream) where records[number] == nil { try drop(RecordAddress(stream, number)) }
    }

    /// - Throws: `.busy` if another program removes the mirror at this moment; the next run works without it.
    private func kept<R>(_ body: () throws(RecordStoreError) -> R) throws(SyncError) -> R {
        do throws(RecordStoreError) { return try body() } catch { throw Self.kept(error) }
    }

    private static func kept(_ error: RecordStoreError) -> SyncError {
        if case .inputOutput(.noSuchFileOrDirectory, _) = error { return .busy }
        return .store(error)
    }
}
