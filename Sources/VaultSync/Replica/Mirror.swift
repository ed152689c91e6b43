// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// Every untrimmed record that a device has seen, verbatim: remotes that lost some get them again from here. Losing it
/// is harmless.
package final class Mirror {
    private let store: any RecordStore
    /// The numbers that are there of each roster and log.
    private var numbers: [RecordStream: Set<UInt64>] = [:]

    package init(_ store: any RecordStore) throws(SyncError) {
        self.store = store
        for head in try stored({ () throws(RecordStoreError) in try store.heads() }) {
            if let count = head.count, head.first <= head.last, count == head.last - head.first &+ 1 {
                numbers[head.stream] = Set(head.first...head.last)
                continue
            }
            var found: Set<UInt64> = []
            try stored { () throws(RecordStoreError) in
                try store.read([StreamStart(head.stream, from: head.first)]) { found.insert($0.address.sequence) }
            }
            numbers[head.stream] = found
        }
    }

    package var logs: [LogID] { numbers.keys.filter { $0.kind == .log }.map(\.name).sorted() }

    func numbers(of stream: RecordStream) -> Set<UInt64> { numbers[stream] ?? [] }

    func numbers(of log: LogID) -> Set<UInt64> { numbers(of: RecordStream(.log, log)) }

    func has(_ address: RecordAddress) -> Bool { numbers[address.stream]?.contains(address.sequence) ?? false }

    package func bytes(at address: RecordAddress) throws(SyncError) -> [UInt8]? {
        guard has(address) || address.stream.kind == .blob else { return nil }
        return try stored { () throws(RecordStoreError) in try store.record(at: address) }
    }

    /// Keeps records that are not there.
    func add(_ records: [StoredRecord]) throws(SyncError) {
        let appended = try stored { () throws(RecordStoreError) in try store.append(records) }
        for (record, result) in zip(records, appended) where result != .differs {
            if record.address.stream.kind == .blob { continue }
            numbers[record.address.stream, default: []].insert(record.address.sequence)
        }
        guard appended.count == records.count, appended.last != .differs else {
            // Another process has mirrored something else: nothing of it can be built on.
            throw .alarm(records[appended.count - 1].address.alarm(.forked, "the mirror has another record"))
        }
    }

    func remove(_ stream: RecordStream, below sequence: UInt64) throws(SyncError) {
        try stored { () throws(RecordStoreError) in try store.remove(stream, below: sequence) }
        numbers[stream] = numbers[stream]?.filter { $0 >= sequence }
    }

    /// Forgets one record, so that it is asked for again.
    func drop(_ address: RecordAddress) throws(SyncError) {
        guard has(address) else { return }
        try stored { () throws(RecordStoreError) in try store.remove(address) }
        numbers[address.stream]?.remove(address.sequence)
    }

    /// Forgets a stream: what another program's records are put in the place of.
    func replace(_ stream: RecordStream, with records: [StoredRecord]) throws(SyncError) {
        try remove(stream, below: .max)
        try add(records)
    }
}
