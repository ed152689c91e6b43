// SPDX-License-Identifier: Apache-2.0
internal import CPostgres
internal import VaultFormat

/// A row of a result, valid while the result is lent. A value has the requested length, whatever the server sends, or
/// an error is thrown.
@safe struct PostgresRow {
    private let result: OpaquePointer
    private let row: CInt

    /// - Parameter result: a result with this row, and with the columns of the statement.
    init(_ result: OpaquePointer, _ row: CInt) {
        unsafe self.result = result
        self.row = row
    }

    /// Whether the result has binary columns of these types.
    static func hasColumns(_ columns: [PostgresType], _ result: OpaquePointer) -> Bool {
        guard unsafe Int(cpostgres_column_count(result)) == columns.count else { return false }
        return columns.indices.allSatisfy { index in
            let column = CInt(index)
            return unsafe cpostgres_type(result, column) == columns[index].rawValue
                && cpostgres_is_binary(result, column) != 0
        }
    }

    /// - Throws: `.malformed` for a null or a value of another length.
    func bytes(_ column: Int, _ lengths: ClosedRange<Int>) throws(PostgresError) -> [UInt8] {
        let column = CInt(column)
        let length = unsafe Int(cpostgres_length(result, row, column))
        guard unsafe cpostgres_is_null(result, row, column) == 0, lengths.contains(length),
            let start = unsafe cpostgres_value(result, row, column)
        else { throw .malformed }
        // libpq has read this number of bytes.
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: length))
    }

    func name(_ column: Int) throws(PostgresError) -> Bytes16 {
        Bytes16(try bytes(column, Bytes16.length...Bytes16.length))
    }

    func smallint(_ column: Int) throws(PostgresError) -> Int16 { Int16(truncatingIfNeeded: try number(column, 2)) }

    /// - Throws: `.malformed`, also for a number that no record has.
    func sequence(_ column: Int) throws(PostgresError) -> UInt64 {
        let value = try number(column, 8)
        guard RecordAddress.sequences.contains(value) else { throw .malformed }
        return value
    }

    private func number(_ column: Int, _ length: Int) throws(PostgresError) -> UInt64 {
        try bytes(column, length...length).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
