// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultFormat
internal import VaultSync

/// Records as rows of the table `vault.record`, whose primary key permits one record at an address.
final class PostgresRecordStore: RecordStore {
    private let remote: RemoteAccess
    private let realm: RealmID
    private let line: PostgresLine
    private let patience: PostgresPatience

    /// The number of records that one transaction stores.
    private static let recordsAtOnce = 16
    /// The most bytes of a page, unless its first record is longer.
    private static let pageBytes: Int64 = 4 << 20

    init(_ remote: RemoteAccess, realm: RealmID, _ line: PostgresLine, _ patience: PostgresPatience) {
        (self.remote, self.realm, self.line, self.patience) = (remote, realm, line, patience)
    }

    func heads() throws(RecordStoreError) -> [StreamHead] {
        try use { connection, known throws(PostgresError) in try known.look(connection, realm) }
    }

    // MARK: Reading

    func read(
        _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
    ) throws(RecordStoreError) {
        for start in starts {
            var next = start.sequence
            while next <= RecordAddress.sequences.upperBound {
                // Lent after the answer is complete: the borrower may read or write other records.
                let page = try page(of: start.stream, from: max(next, 1))
                // Records may be stored while a page is lent, so only an empty page is the end.
                guard let last = page.last?.address.sequence else { break }
                for record in page { try take(record) }
                next = last + 1
            }
        }
    }

    private func page(of stream: RecordStream, from sequence: UInt64) throws(RecordStoreError) -> [StoredRecord] {
        try use { connection, known throws(PostgresError) in
            var (page, length, last): ([StoredRecord], Int, UInt64) = ([], 0, sequence - 1)
            let step = PostgresStep.statement(
                .page, place(of: stream) + [.bigint(Int64(clamping: sequence)), .bigint(Self.pageBytes)])
            try connection.exchangeAll([step, .end]) { _, row throws(PostgresError) in
                let (number, bytes) = (try row.sequence(0), try row.bytes(1, stream.kind.lengths))
                guard number > last, length < Self.pageBytes else { throw .malformed }
                (last, length) = (number, length + bytes.count)
                page.append(StoredRecord(RecordAddress(stream, number), bytes))
            }
            for record in page { known.note(record.address) }
            return page
        }
    }

    func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? {
        guard RecordAddress.sequences.contains(address.sequence) else { return nil }
        return try use { connection, known throws(PostgresError) in
            let found = try body(at: address, connection)
            if found != nil { known.note(address) }
            return found
        }
    }

    private func body(at address: RecordAddress, _ connection: PostgresConnection) throws(PostgresError) -> [UInt8]? {
        var found: [UInt8]?
        try connection.exchangeAll([.statement(.body, place(of: address)), .end]) { _, row throws(PostgresError) in
            guard found == nil else { throw .malformed }
            found = try row.bytes(0, address.stream.kind.lengths)
        }
        return found
    }

    // MARK: Writing

    func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended] {
        for record in records { try record.checkBounds() }
        var results: [Appended] = []
        while results.count < records.count, results.last != .differs {
            let group = records[results.count...].prefix(Self.recordsAtOnce)
            results += try use { connection, known throws(PostgresError) in
                let results = try store(Array(group), connection)
                for (record, result) in zip(group, results) where result != .differs { known.note(record.address) }
                return results
            }
        }
        return results
    }

    /// Stores records up to the first that differs.
    private func store(
        _ records: [StoredRecord], _ connection: PostgresConnection
    ) throws(PostgresError) -> [Appended] {
        if records.count > 1, try storeNew(records, connection) {
            return [Appended](repeating: .created, count: records.count)
        }
        var results: [Appended] = []
        for record in records where results.last != .differs { results.append(try store(record, connection)) }
        return results
    }

    /// - Returns: `false` if one of the addresses has a record; then nothing is stored.
    private func storeNew(_ records: [StoredRecord], _ connection: PostgresConnection) throws(PostgresError) -> Bool {
        var last: [RecordStream: UInt64] = [:]
        for record in records { last[record.address.stream] = record.address.sequence }
        var steps = records.map { PostgresStep.statement(.insert, values(of: $0)) }
        steps.append(.end)
        let end = steps.count - 1
        for (stream, sequence) in last { steps += notice(of: RecordAddress(stream, sequence)) }
        let outcomes = try exchange(steps, upTo: end, connection)
        for case .refused(let refusal) in outcomes.prefix(end) {
            guard refusal.isOfKey else { throw .refused(refusal) }
            return false
        }
        return true
    }

    private func store(_ record: StoredRecord, _ connection: PostgresConnection) throws(PostgresError) -> Appended {
        // A record may be removed before it is read here, but not for ever.
        for _ in 0..<8 {
            var isNew = false
            let steps = [.statement(.insertNew, values(of: record)), .end] + notice(of: record.address)
            let outcomes = try exchange(steps, upTo: 1, connection) { index, row throws(PostgresError) in
                guard index == 0, try row.sequence(0) == record.address.sequence, !isNew else { throw .malformed }
                isNew = true
            }
            if case .refused(let refusal) = outcomes[0] { throw .refused(refusal) }
            if isNew { return .created }
            if let found = try body(at: record.address, connection) { return found == record.bytes ? .same : .differs }
        }
        throw .malformed
    }

    /// Executes steps. The steps up to `end` stay done, whatever happens to the notices after them, which are only
    /// hints.
    private func exchange(
        _ steps: [PostgresStep], upTo end: Int, _ connection: PostgresConnection,
        _ take: (Int, PostgresRow) throws(PostgresError) -> Void = { _, _ throws(PostgresError) in throw .malformed }
    ) throws(PostgresError) -> [PostgresOutcome] {
        var outcomes: [PostgresOutcome] = []
        do throws(PostgresError) {
            try connection.exchange(steps, &outcomes) { index, row throws(PostgresError) in
                // A notice is answered by a row without information.
                if index < end { try take(index, row) }
            }
        } catch { guard end < outcomes.count, outcomes[end] == .done else { throw error } }
        return outcomes
    }

    /// The notice of a record, in a transaction of its own: its end locks the whole server.
    private func notice(of address: RecordAddress) -> [PostgresStep] {
        let text = "\(address.stream.kind.rawValue) \(address.stream.name.text) \(address.sequence)"
        return [.statement(.notify, [.text(realm.channel), .text(text)]), .end]
    }

    func mayAppend() throws(RecordStoreError) -> Bool? {
        try use { connection, _ throws(PostgresError) in
            var mayInsert = false
            try connection.exchangeAll([.statement(.mayInsert, []), .end]) { _, _ throws(PostgresError) in
                mayInsert = true
            }
            return mayInsert
        }
    }

    // MARK: Removing

    func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError) {
        guard sequence > 1 else { return }
        let last = Int64(clamping: sequence - 1)
        try remove(.removeBelow, place(of: stream) + [.bigint(last)], of: stream)
    }

    func remove(_ address: RecordAddress) throws(RecordStoreError) {
        guard RecordAddress.sequences.contains(address.sequence) else { return }
        try remove(.remove, place(of: address), of: address.stream)
    }

    private func remove(
        _ statement: PostgresStatement, _ values: [PostgresValue], of stream: RecordStream
    ) throws(RecordStoreError) {
        try use { connection, known throws(PostgresError) in
            known.noteRemoval(of: stream)
            try connection.exchangeAll([.statement(statement, values), .end])
        }
    }

    // MARK: Watching

    func watch(_ hint: @escaping @Sendable (RecordHint) -> Void) throws(RecordStoreError) -> (any RecordWatch)? {
        do throws(PostgresError) {
            return try PostgresWatch(remote, realm, patience, hint)
        } catch { throw RecordStoreError(error, at: remote.url) }
    }

    // MARK: Values

    private func place(of stream: RecordStream) -> [PostgresValue] {
        [.bytea(realm), .smallint(stream.kind.number), .bytea(stream.name)]
    }

    /// - Parameter address: an address with a valid number.
    private func place(of address: RecordAddress) -> [PostgresValue] {
        place(of: address.stream) + [.bigint(Int64(clamping: address.sequence))]
    }

    private func values(of record: StoredRecord) -> [PostgresValue] {
        place(of: record.address) + [.bytea(record.bytes)]
    }

    private func use<R>(
        _ body: (PostgresConnection, inout PostgresHeads) throws(PostgresError) -> R
    ) throws(RecordStoreError) -> R { try line.use(remote, patience, body) }
}
