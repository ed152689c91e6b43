// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
package import VaultFormat
package import VaultSync

/// Records in etcd, through its JSON gateway.
///
/// Each record is a key that is created once. The last number of a roster or log is a key of its own, which the same
/// transaction raises. Every operation ends and takes bounded memory, whatever the server answers.
package final class EtcdRecordStore: RecordStore {
    /// The most records of a stream, since a hostile server could continue for ever.
    private static let mostRecords = 1 << 22
    /// The most keys of a page.
    static let longestPage = 1024
    /// The preferred length of a page in bytes: a longer page makes the next one shorter.
    private static let comfortable = 4 << 20

    let remote: RemoteAccess
    let connection: EtcdConnection
    let keys: EtcdKeys
    /// The last count of large values.
    let blobs = Mutex<BlobHeads?>(nil)

    /// - Throws: `.refused` without libcurl.
    package init(_ remote: RemoteAccess, realm: RealmID) throws(RecordStoreError) {
        (self.remote, keys) = (remote, EtcdKeys(realm))
        connection = try EtcdConnection(remote)
    }

    // MARK: Reading

    package func read(
        _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
    ) throws(RecordStoreError) {
        for start in starts where start.sequence <= RecordAddress.sequences.upperBound {
            var range = keys.records(of: start.stream, from: max(start.sequence, 1))
            var (limit, seen) = (start.stream.kind == .roster ? 8 : 32, 0)
            while true {
                let page = try page(range, &limit)
                for pair in page.pairs {
                    // Another program has made a key that is not a record's.
                    guard let sequence = keys.sequence(of: pair.key, in: start.stream) else { continue }
                    try take(StoredRecord(RecordAddress(start.stream, sequence), pair.value))
                }
                seen += page.pairs.count
                // Records that are stored after the last one during the read are read too.
                guard let last = page.pairs.last else { break }
                guard seen < Self.mostRecords else { throw connection.endless }
                range.begin(after: last.key)
            }
        }
    }

    /// Reads some records in their current state.
    ///
    /// - Parameter limit: the most records; adjusted for the next page.
    private func page(_ range: EtcdKeyRange, _ limit: inout Int) throws(RecordStoreError) -> EtcdAnswer.Range {
        while true {
            do throws(EtcdError) {
                let answer = try connection.answer(.range, EtcdRequest.range(range, limit: limit))
                let page = try answer.range(answer.root, of: range, limit: limit)
                if answer.text.count > 2 * Self.comfortable {
                    limit = max(limit / 2, 1)
                } else if answer.text.count < Self.comfortable / 2, page.pairs.count == limit {
                    limit = min(limit * 2, Self.longestPage)
                }
                return page
            } catch {
                guard error == .answerTooLong, limit > 1 else { throw error.error(at: connection.name) }
                limit = max(limit / 8, 1)
            }
        }
    }

    package func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? {
        guard RecordAddress.sequences.contains(address.sequence) else { return nil }
        let key = keys.record(address)
        let answer = try connection.call(.range, EtcdRequest.range(key))
        return try connection.checked { () throws(EtcdError) in try answer.value(answer.root, of: key) }
    }

    // MARK: Removing

    package func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError) {
        let isAll = sequence > RecordAddress.sequences.upperBound
        let range = isAll ? keys.records(of: stream) : keys.records(of: stream, below: sequence)
        let removal = EtcdRequest.remove(EtcdRequest.delete(range))
        if let head = keys.head(of: stream) {
            // A stream that loses its last record loses its head too.
            _ = try connection.call(
                .transaction,
                EtcdRequest.transaction(
                    [EtcdRequest.isValue(of: head, .less, EtcdKeys.headValue(sequence))],
                    success: [removal, EtcdRequest.remove(EtcdRequest.delete(head))], failure: [removal]))
        } else {
            _ = try connection.call(.delete, EtcdRequest.delete(range))
        }
        if stream.kind == .blob { forgetBlobs() }
    }

    package func remove(_ address: RecordAddress) throws(RecordStoreError) {
        guard RecordAddress.sequences.contains(address.sequence) else { return }
        _ = try connection.call(.delete, EtcdRequest.delete(keys.record(address)))
        if address.stream.kind == .blob { forgetBlobs() }
    }

    // MARK: Watching

    package func watch(
        _ hint: @escaping @Sendable (RecordHint) -> Void
    ) throws(RecordStoreError) -> (any RecordWatch)? {
        try EtcdWatch(EtcdConnection(remote), keys, hint)
    }

    // MARK: Realms

    /// Returns the fleets of a cluster by skipping from one to the next, whatever their size.
    static func realms(_ connection: EtcdConnection) throws(RecordStoreError) -> [RealmID] {
        var realms: [RealmID] = []
        var range = EtcdKeyRange(below: EtcdKeys.version)
        for _ in 0..<longestPage {
            let answer = try connection.call(.range, EtcdRequest.range(range, limit: 1, keysOnly: true))
            let page = try connection.checked { () throws(EtcdError) in
                try answer.range(answer.root, of: range, limit: 1)
            }
            guard let key = page.pairs.first?.key else { return realms }
            if let (realm, next) = EtcdKeys.realm(of: key) {
                if realm != .zero { realms.append(realm) }
                range.start = next
            } else {
                range.begin(after: key)
            }
        }
        throw connection.endless
    }
}

extension EtcdConnection {
    /// The error for a server that returns more than any fleet has.
    var endless: RecordStoreError { EtcdError.answerTooLong.error(at: name) }

    /// Parses an answer, and converts the error.
    func checked<R>(_ body: () throws(EtcdError) -> R) throws(RecordStoreError) -> R {
        do throws(EtcdError) { return try body() } catch { throw error.error(at: name) }
    }
}
