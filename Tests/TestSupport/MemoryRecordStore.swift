// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
package import VaultFormat
package import VaultSync

/// A store in memory, whose records live as long as the value.
package final class MemoryRecordStore: RecordStore {
    private let streams = Mutex<[RecordStream: [UInt64: [UInt8]]]>([:])

    package init() {}

    package func heads() throws(RecordStoreError) -> [StreamHead] {
        streams.withLock { streams in
            streams.compactMap { stream, records in
                guard stream.kind.isHeaded, let first = records.keys.min(), let last = records.keys.max() else {
                    return nil
                }
                return StreamHead(stream, first: first, last: last, count: UInt64(records.count))
            }.sorted { $0.stream < $1.stream }
        }
    }

    package func read(
        _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
    ) throws(RecordStoreError) {
        for start in starts {
            var next: UInt64? = start.sequence
            while let from = next {
                // Lent outside the lock: the borrower may read or write other records.
                let seen = streams.withLock { $0[start.stream, default: [:]].filter { $0.key >= from } }
                for (sequence, bytes) in seen.sorted(by: { $0.key < $1.key }) {
                    try take(StoredRecord(RecordAddress(start.stream, sequence), bytes))
                }
                next = seen.keys.max().flatMap { $0 < .max ? $0 + 1 : nil }
            }
        }
    }

    package func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended] {
        for record in records { try record.checkBounds() }
        var results: [Appended] = []
        for record in records where results.last != .differs { results.append(store(record)) }
        return results
    }

    package func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? {
        streams.withLock { $0[address.stream]?[address.sequence] }
    }

    package func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError) {
        streams.withLock { $0[stream] = $0[stream]?.filter { $0.key >= sequence } }
    }

    package func remove(_ address: RecordAddress) throws(RecordStoreError) {
        streams.withLock { $0[address.stream]?[address.sequence] = nil }
    }

    private func store(_ record: StoredRecord) -> Appended {
        let address = record.address
        return streams.withLock { streams in
            if let known = streams[address.stream]?[address.sequence] {
                return known == record.bytes ? .same : .differs
            }
            streams[address.stream, default: [:]][address.sequence] = record.bytes
            return .created
        }
    }
}
