// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultSync

/// A connection's knowledge of the streams' completeness. To count records a server reads each of them, so this happens
/// when a connection begins, and once an hour; in between only the ends of rosters and logs are read.
struct PostgresHeads {
    private var heads: [RecordStream: StreamHead] = [:]
    private var counted: ContinuousClock.Instant?

    private static let lifetime = Duration.seconds(3600)
    private static let most = 1 << 20
    /// With more uncounted streams than this, all streams are counted.
    private static let countsAtOnce = 256

    /// Updates the heads that are outdated.
    mutating func look(_ connection: PostgresConnection, _ realm: RealmID) throws(PostgresError) -> [StreamHead] {
        if let counted, counted + Self.lifetime > .now {
            try lookAtEnds(connection, realm)
        } else {
            try count(connection, realm)
        }
        return heads.values.sorted { $0.stream < $1.stream }
    }

    private mutating func count(_ connection: PostgresConnection, _ realm: RealmID) throws(PostgresError) {
        heads = try Self.read(connection, [.statement(.counts, [.bytea(realm)]), .end], counted: true)
        counted = .now
    }

    private mutating func lookAtEnds(_ connection: PostgresConnection, _ realm: RealmID) throws(PostgresError) {
        let ends = try Self.read(connection, [.statement(.heads, [.bytea(realm)]), .end], counted: false)
        var now = heads.filter { $0.key.kind == .blob }
        var uncounted: [PostgresStep] = []
        for (stream, end) in ends {
            // The writer of a log leaves no gap after its last record. The next count reveals another writer's gap.
            if let known = heads[stream], known.isWhole, known.first <= end.first, known.last <= end.last {
                now[stream] = StreamHead(stream, first: end.first, last: end.last, count: end.last - end.first + 1)
            } else {
                uncounted.append(
                    .statement(.count, [.bytea(realm), .smallint(stream.kind.number), .bytea(stream.name)]))
            }
        }
        guard uncounted.count <= Self.countsAtOnce else { return try count(connection, realm) }
        if !uncounted.isEmpty {
            now.merge(try Self.read(connection, uncounted + [.end], counted: true)) { $1 }
        }
        heads = now
    }

    private static func read(
        _ connection: PostgresConnection, _ steps: [PostgresStep], counted: Bool
    ) throws(PostgresError) -> [RecordStream: StreamHead] {
        var heads: [RecordStream: StreamHead] = [:]
        var rows = 0
        try connection.exchangeAll(steps) { _, row throws(PostgresError) in
            rows += 1
            guard rows <= most, let kind = RecordKind(number: try row.smallint(0)), kind != .mailbox else {
                throw .malformed
            }
            let stream = RecordStream(kind, try row.name(1))
            let (first, last) = (try row.sequence(2), try row.sequence(3))
            let count = counted ? try row.sequence(4) : nil
            guard first <= last, count ?? 1 <= last - first + 1 else { throw .malformed }
            heads[stream] = StreamHead(stream, first: first, last: last, count: count)
        }
        return heads
    }

    // MARK: Between counts

    /// Counts a part of a large value that was stored or read here.
    mutating func note(_ address: RecordAddress) {
        guard address.stream.kind == .blob else { return }
        let sequence = address.sequence
        guard let known = heads[address.stream] else {
            // If the parts of a value were only seen from the middle on, the next count includes them.
            if sequence == 1 { heads[address.stream] = StreamHead(address.stream, first: 1, last: 1, count: 1) }
            return
        }
        guard sequence == known.last + 1 else { return }
        heads[address.stream] = StreamHead(
            address.stream, first: known.first, last: sequence, count: known.count.map { $0 + 1 })
    }

    mutating func noteRemoval(of stream: RecordStream) {
        heads[stream] = nil
        // The ends do not tell the rest of a large value.
        if stream.kind == .blob { counted = nil }
    }
}

extension RecordKind {
    var number: Int16 { Int16(rawValue) }

    init?(number: Int16) {
        guard let value = UInt8(exactly: number) else { return nil }
        self.init(rawValue: value)
    }
}
