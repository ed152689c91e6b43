// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
package import VaultSync

/// A record's key is created once: the transaction checks that the key is missing.
extension EtcdRecordStore {
    private static let recordsAtOnce = 4
    /// The most bytes of records in a transaction: etcd accepts requests of 1.5 MiB.
    private static let bytesAtOnce = 1_400_000

    package func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended] {
        for record in records { try record.checkBounds() }
        var results: [Appended] = []
        while results.count < records.count, results.last != .differs {
            results += try store(Self.batch(records[results.count...]))
        }
        return results
    }

    /// Sends a write under a condition that never holds: etcd checks the rights in any case.
    package func mayAppend() throws(RecordStoreError) -> Bool? {
        let key = keys.never
        do throws(RecordStoreError) {
            _ = try connection.call(
                .transaction, EtcdRequest.transaction([EtcdRequest.isThere(key)], success: [EtcdRequest.put(key, [])]))
            return true
        } catch {
            guard case .denied = error else { throw error }
            return false
        }
    }

    /// Returns the first records that fit into one transaction, each with its own address.
    private static func batch(_ records: ArraySlice<StoredRecord>) -> ArraySlice<StoredRecord> {
        var (count, length, addresses) = (0, 0, Set<RecordAddress>())
        for record in records.prefix(recordsAtOnce) {
            length += record.bytes.count
            guard count == 0 || length <= bytesAtOnce, addresses.insert(record.address).inserted else { break }
            count += 1
        }
        return records.prefix(count)
    }

    private func store(_ records: ArraySlice<StoredRecord>) throws(RecordStoreError) -> [Appended] {
        var (rest, results) = (records, [Appended]())
        // The records that are already there; records never change.
        var there: [RecordAddress: [UInt8]] = [:]
        while let record = rest.first {
            if let bytes = there[record.address] {
                results.append(bytes == record.bytes ? .same : .differs)
                guard bytes == record.bytes else { break }
                // Another device may have stored the part since the last count.
                if record.address.stream.kind == .blob { forgetBlobs() }
                rest.removeFirst()
                continue
            }
            let run = rest.prefix { there[$0.address] == nil }
            if let found = try create(run) {
                there.merge(found) { known, _ in known }
            } else {
                results += run.map { _ in .created }
                rest.removeFirst(run.count)
                for record in run where record.address.stream.kind == .blob { noteBlob(record.address) }
            }
        }
        return results
    }

    /// Stores records if none of them is there.
    ///
    /// - Returns: `nil` if they were stored; otherwise the records that are there, at least one.
    private func create(_ records: ArraySlice<StoredRecord>) throws(RecordStoreError) -> [RecordAddress: [UInt8]]? {
        let lasts = Self.lasts(of: records)
        var (missing, puts, gets): ([String], [String], [String]) = ([], [], [])
        for record in records {
            let key = keys.record(record.address)
            missing.append(EtcdRequest.isMissing(key))
            puts.append(EtcdRequest.put(key, record.bytes))
            gets.append(EtcdRequest.get(EtcdRequest.range(key)))
        }
        // A lost head is restored together with a record that is there.
        let mends = lasts.map { address in
            EtcdRequest.nested(
                EtcdRequest.transaction(
                    [EtcdRequest.isThere(keys.record(address))], success: raisingHead(to: address)))
        }
        let request = EtcdRequest.transaction(
            missing, success: puts + lasts.flatMap(raisingHead), failure: gets + mends)
        let answer = try connection.call(.transaction, request)
        return try connection.checked { () throws(EtcdError) in
            if try answer.flag(answer.root, "succeeded") { return nil }
            var found: [RecordAddress: [UInt8]] = [:]
            for (record, node) in zip(records, try answer.ranges(records.count)) {
                found[record.address] = try answer.value(node, of: keys.record(record.address))
            }
            guard !found.isEmpty else { throw .malformed("a record is there, and is not") }
            return found
        }
    }

    /// Returns the last address of each stream.
    private static func lasts(of records: ArraySlice<StoredRecord>) -> [RecordAddress] {
        Dictionary(grouping: records.map(\.address), by: \.stream).values.compactMap { $0.max() }.sorted()
    }

    /// Raises a lower or missing head to a record's number, within the transaction: other writers may raise it too, and
    /// records may arrive out of order.
    private func raisingHead(to address: RecordAddress) -> [String] {
        guard let head = keys.head(of: address.stream) else { return [] }
        let (value, lower) = (EtcdKeys.headValue(address.sequence), EtcdKeys.headValue(address.sequence - 1))
        return [
            EtcdRequest.nested(
                EtcdRequest.transaction(
                    [EtcdRequest.isValue(of: head, .greater, lower)], success: [],
                    failure: [EtcdRequest.put(head, value)]))
        ]
    }
}
