// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import VaultFormat

/// The records of a ``RecordServer``, at the other end of two pipes.
///
/// A question whose connection breaks is repeated once by a new connection, if the old one was open before the question
/// and the question removes no records.
final class ServedRecordStore: RecordStore {
    private static let headsLimit = 64 << 20

    private let link: ServedLink
    private let realm: RealmID
    /// The number of appends by this value. A page that was read ahead of an append may miss records.
    private let writes = Atomic<Int>(0)

    init(_ link: ServedLink, realm: RealmID) { (self.link, self.realm) = (link, realm) }

    private var content: [UInt8] { (0..<Bytes16.length).map { realm.bytes[$0] } }

    func heads() throws(RecordStoreError) -> [StreamHead] {
        var heads: [StreamHead] = []
        try link.answer(.heads, content, parts: .heads, limit: Self.headsLimit) { parts, end throws(FormatError) in
            guard end.isEmpty else { throw .invalid(.body) }
            heads = []
            for part in parts {
                var reader = ByteReader(part.content)
                while !reader.isAtEnd { heads.append(try reader.head()) }
            }
        }
        return heads
    }

    // MARK: Reading

    /// A question for records, possibly sent ahead of need.
    private struct Page {
        let start: StreamStart
        /// The value of ``writes`` when the question was sent.
        let writes: Int
        let question: ServedLink.Question
    }

    func read(
        _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
    ) throws(RecordStoreError) {
        var ahead: Page?
        defer { ahead?.question.forget() }
        for (index, first) in starts.enumerated() {
            var start = first
            while true {
                let page: Page
                if let read = ahead, read.start == start { page = read } else { page = try askPage(start) }
                ahead = nil
                var records: [StoredRecord] = []
                var hasMore = false
                try link.answer(to: page.question) { parts, end throws(FormatError) in
                    records = try Self.records(of: start, parts)
                    guard end == [0] || end == [1] && !records.isEmpty else { throw .invalid(.body) }
                    hasMore = end == [1]
                }
                let next = records.last.map { StreamStart(start.stream, from: $0.address.sequence + 1) }
                // The next page is in transit while these records are lent.
                if hasMore, let next {
                    ahead = try askPage(next)
                } else if index + 1 < starts.count {
                    ahead = try askPage(starts[index + 1])
                }
                for record in records { try take(record) }
                guard let next, hasMore || writes.load(ordering: .acquiring) != page.writes else { break }
                if !hasMore {
                    ahead?.question.forget()
                    ahead = nil
                }
                start = next
            }
            // The borrower of a record may have stored one in the next stream, which was empty before.
            if let read = ahead, read.writes != writes.load(ordering: .acquiring) {
                read.question.forget()
                ahead = nil
            }
        }
    }

    private func askPage(_ start: StreamStart) throws(RecordStoreError) -> Page {
        let writes = writes.load(ordering: .acquiring)
        var content = content
        content.append(RecordAddress(start.stream, start.sequence))
        return Page(
            start: start, writes: writes,
            question: try link.ask(
                .read, content, parts: .record, limit: ServedPage.limit(of: start.stream.kind)))
    }

    /// - Throws: for records of another stream or out of order.
    private static func records(of start: StreamStart, _ parts: [ServedFrame]) throws(FormatError) -> [StoredRecord] {
        var last = start.sequence
        var records: [StoredRecord] = []
        for part in parts {
            var reader = ByteReader(part.content)
            let sequence = try reader.integer(UInt64.self, .body)
            guard sequence >= last, RecordAddress.sequences.contains(sequence) else { throw .invalid(.body) }
            last = sequence
            let bytes = try bytes(in: &reader, of: start.stream.kind)
            records.append(StoredRecord(RecordAddress(start.stream, sequence), bytes))
        }
        return records
    }

    private static func bytes(in reader: inout ByteReader, of kind: RecordKind) throws(FormatError) -> [UInt8] {
        guard kind.lengths.contains(reader.remaining) else { throw .invalid(.body) }
        return try reader.array(reader.remaining)
    }

    func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? {
        var content = content
        content.append(address)
        var found: [UInt8]?
        let limit = address.stream.kind.limit + 64
        try link.answer(.record, content, parts: .record, limit: limit) { parts, end throws(FormatError) in
            guard end.isEmpty, parts.count <= 1 else { throw .invalid(.body) }
            found = try parts.first.map { part throws(FormatError) in
                var reader = ByteReader(part.content)
                guard try reader.integer(UInt64.self, .body) == address.sequence else { throw .invalid(.body) }
                return try Self.bytes(in: &reader, of: address.stream.kind)
            }
        }
        return found
    }

    // MARK: Writing

    /// Sends as many records in one question as fit in a frame. Nothing is stored after a record that differs.
    func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended] {
        for record in records { try record.checkBounds() }
        var results: [Appended] = []
        while results.count < records.count, results.last != .differs {
            var content = content
            var count = 0
            for record in records[results.count...] {
                guard content.count + record.bytes.count + 29 <= ServedFrame.limit else { break }
                content.append(record.address)
                content.append(integer: UInt32(record.bytes.count))
                content += record.bytes
                count += 1
            }
            writes.add(1, ordering: .acquiringAndReleasing)
            try link.answer(.append, content) { _, end throws(FormatError) in
                let said = end.compactMap { Appended(served: $0) }
                let isWhole = said.count == count || said.last == .differs && said.count < count
                guard said.count == end.count, isWhole, !said.dropLast().contains(.differs) else {
                    throw .invalid(.body)
                }
                results += said
            }
        }
        return results
    }

    func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError) {
        try remove(.removeBelow, RecordAddress(stream, sequence))
    }

    func remove(_ address: RecordAddress) throws(RecordStoreError) { try remove(.removeOne, address) }

    private func remove(_ question: ServedFrame.Question, _ address: RecordAddress) throws(RecordStoreError) {
        var content = content
        content.append(address)
        try link.answer(question, content) { _, end throws(FormatError) in
            guard end.isEmpty else { throw .invalid(.body) }
        }
    }

    // MARK: Watching

    func watch(_ hint: @escaping @Sendable (RecordHint) -> Void) throws(RecordStoreError) -> (any RecordWatch)? {
        let gate = HintGate(hint)
        let (connection, id) = try link.watch(content, gate)
        return ServedRecordWatch(connection, id, gate)
    }
}

private final class ServedRecordWatch: RecordWatch {
    private let connection: ServedConnection
    private let id: UInt32
    private let gate: HintGate

    init(_ connection: ServedConnection, _ id: UInt32, _ gate: HintGate) {
        (self.connection, self.id, self.gate) = (connection, id, gate)
    }

    deinit { end() }

    func end() {
        gate.close()
        connection.unwatch(id)
    }
}

extension Appended {
    init?(served: UInt8) {
        switch served {
        case 1: self = .created
        case 2: self = .same
        case 3: self = .differs
        default: return nil
        }
    }

    var served: UInt8 {
        switch self {
        case .created: 1
        case .same: 2
        case .differs: 3
        }
    }
}
