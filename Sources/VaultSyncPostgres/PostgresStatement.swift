// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// A type of PostgreSQL by its number (`pg_type.oid`).
enum PostgresType: UInt32 {
    case bytea = 17
    case bigint = 20
    case smallint = 21
    case text = 25
}

/// The value of a parameter such as `$1`, in the binary form of its type.
struct PostgresValue {
    let type: PostgresType
    let bytes: [UInt8]

    static func bytea(_ bytes: [UInt8]) -> PostgresValue { PostgresValue(type: .bytea, bytes: bytes) }

    static func bytea(_ value: Bytes16) -> PostgresValue {
        let bytes = value.bytes
        return PostgresValue(type: .bytea, bytes: bytes.indices.map { bytes[$0] })
    }

    static func smallint(_ value: Int16) -> PostgresValue {
        PostgresValue(type: .smallint, bytes: bigEndian(UInt64(UInt16(bitPattern: value)), count: 2))
    }

    static func bigint(_ value: Int64) -> PostgresValue {
        PostgresValue(type: .bigint, bytes: bigEndian(UInt64(bitPattern: value), count: 8))
    }

    static func text(_ value: String) -> PostgresValue { PostgresValue(type: .text, bytes: Array(value.utf8)) }

    private static func bigEndian(_ value: UInt64, count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - 1 - $0))) }
    }
}

/// A statement, with the types of its rows' columns.
struct PostgresStatement {
    let text: String
    let columns: [PostgresType]
    /// The name under which each connection prepares the statement; `nil` if the server parses each use.
    let name: String?

    init(_ text: String, _ columns: [PostgresType] = [], preparedAs name: String? = nil) {
        (self.text, self.columns, self.name) = (text, columns, name)
    }

    /// The statement that prepares this one.
    var preparation: PostgresStatement? { name.map { PostgresStatement("PREPARE \($0) AS \(text)") } }
}

/// A step of an exchange with a server.
enum PostgresStep {
    case statement(PostgresStatement, [PostgresValue])
    /// The end of a transaction: all steps before it are done, or none.
    case end

    /// The size of its values in bytes.
    var length: Int {
        guard case .statement(_, let values) = self else { return 0 }
        return values.reduce(0) { $0 + $1.bytes.count }
    }
}

/// The outcome of a step.
enum PostgresOutcome: Equatable {
    /// No answer yet.
    case open
    case done
    case refused(PostgresRefusal)
    /// An earlier step in its transaction was refused.
    case skipped
}

extension PostgresStatement {
    private static let place = "realm = $1 AND kind = $2 AND stream = $3"

    /// The first statement of a connection: no setting of a role or database changes the meaning of names, and
    /// acknowledged records are on the server's disk.
    static let settings = PostgresStatement(
        """
        SELECT set_config('search_path', 'pg_catalog', false),
          set_config('default_transaction_isolation', 'read committed', false),
          set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
            ELSE current_setting('synchronous_commit') END, false)
        """, [.text, .text, .text])

    /// The statements of a change. To parse one takes the server a quarter as long as to execute it.
    static let prepared = [insert, insertNew, notify]

    static let insert = PostgresStatement(
        "INSERT INTO vault.record VALUES ($1, $2, $3, $4, $5)", preparedAs: "vault_insert")
    static let insertNew = PostgresStatement(
        "INSERT INTO vault.record VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING seq", [.bigint],
        preparedAs: "vault_insert_new")
    /// Returns a row if the user may insert.
    static let mayInsert = PostgresStatement(
        "SELECT 1::bigint WHERE has_table_privilege('vault.record', 'INSERT')", [.bigint])
    static let notify = PostgresStatement("SELECT FROM pg_notify($1, $2)", preparedAs: "vault_notify")
    static let body = PostgresStatement("SELECT body FROM vault.record WHERE \(place) AND seq = $4", [.bytea])

    /// The most records of a page.
    static let pageCount = 4096
    /// Returns the records from a number ($4) on, up to a number of bytes ($5), but at least one.
    static let page = PostgresStatement(
        """
        SELECT seq, body FROM (SELECT seq, body, sum(octet_length(body)) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING)
            - octet_length(body) AS before
          FROM (SELECT seq, body FROM vault.record WHERE \(place) AND seq >= $4
            ORDER BY seq LIMIT \(pageCount)) AS following)
          AS sized WHERE before < $5 ORDER BY seq
        """, [.bigint, .bytea])

    static let removeBelow = PostgresStatement("DELETE FROM vault.record WHERE \(place) AND seq <= $4")
    static let remove = PostgresStatement("DELETE FROM vault.record WHERE \(place) AND seq = $4")

    /// Counts every stream of rosters, logs and large values, by reading each of its rows.
    static let counts = PostgresStatement(
        """
        SELECT kind, stream, min(seq), max(seq), count(*) FROM vault.record WHERE realm = $1 AND kind < 3
        GROUP BY kind, stream
        """, [.smallint, .bytea, .bigint, .bigint, .bigint])
    static let count = PostgresStatement(
        "SELECT kind, stream, min(seq), max(seq), count(*) FROM vault.record WHERE \(place) GROUP BY kind, stream",
        [.smallint, .bytea, .bigint, .bigint, .bigint])

    /// Finds the rosters and logs, each by a search after the one before.
    static let heads = PostgresStatement(
        """
        WITH RECURSIVE s AS ((SELECT kind, stream, seq FROM vault.record WHERE realm = $1 AND kind < 2
            ORDER BY kind, stream, seq LIMIT 1)
          UNION ALL SELECT n.* FROM s, LATERAL (SELECT kind, stream, seq FROM vault.record WHERE realm = $1 AND kind < 2
            AND (kind, stream) > (s.kind, s.stream) ORDER BY kind, stream, seq LIMIT 1) AS n)
        SELECT kind, stream, seq,
          (SELECT max(seq) FROM vault.record AS r WHERE r.realm = $1 AND (r.kind, r.stream) = (s.kind, s.stream)) FROM s
        """, [.smallint, .bytea, .bigint, .bigint])

    static let realms = PostgresStatement(
        """
        WITH RECURSIVE r AS ((SELECT realm FROM vault.record ORDER BY realm LIMIT 1)
          UNION ALL SELECT n.realm FROM r, LATERAL (SELECT realm FROM vault.record WHERE realm > r.realm
            ORDER BY realm LIMIT 1) AS n)
        SELECT realm FROM r
        """, [.bytea])

    /// - Parameter channel: letters, digits and `_`.
    static func listen(_ channel: String) -> PostgresStatement { PostgresStatement("LISTEN \(channel)") }
}

extension RealmID {
    /// The channel on which the server announces new records.
    var channel: String { "vault_" + text.prefix(16) }
}
