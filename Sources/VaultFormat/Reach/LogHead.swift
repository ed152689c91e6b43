// SPDX-License-Identifier: Apache-2.0

/// A position in a log: an entry's number and the hash of its record.
package struct LogHead: Hashable, Sendable {
    package static let encodedLength = 56

    package var log: LogID
    /// From 1, as a record's number.
    package var sequence: UInt64
    package var hash: Bytes32

    package init(log: LogID, sequence: UInt64, hash: Bytes32) {
        (self.log, self.sequence, self.hash) = (log, sequence, hash)
    }

    func append(to output: inout [UInt8]) {
        output.append(log.bytes)
        output.append(integer: sequence)
        output.append(hash.bytes)
    }

    /// Whether this can be the last valid entry of a log; number 0 with a hash of zeros means that no entry is valid.
    private func isEnd(orNone: Bool) -> Bool {
        RecordAddress.sequences.contains(sequence) || orNone && sequence == 0 && hash == .zero
    }

    /// Reads positions of different logs, in the order of the logs.
    ///
    /// - Parameter orNone: whether a log may have no valid entry.
    static func parse(
        _ count: Int, _ reader: inout SpanReader, of body: Span<UInt8>, _ field: FormatField, orNone: Bool = false
    ) throws(FormatError) -> [LogHead] {
        try reader.expect(count, of: encodedLength, field)
        var heads: [LogHead] = []
        heads.reserveCapacity(count)
        for _ in 0..<count {
            let log = try reader.sixteen(of: body, field)
            if let last = heads.last, last.log >= log { throw .invalid(field) }
            let sequence = try reader.integer(UInt64.self, of: body, field)
            let head = LogHead(log: log, sequence: sequence, hash: try reader.thirtyTwo(of: body, field))
            guard head.isEnd(orNone: orNone) else { throw .invalid(field) }
            heads.append(head)
        }
        return heads
    }

    /// Sorts positions of different logs by log.
    static func sorted(
        _ heads: [LogHead], _ field: FormatField, orNone: Bool = false
    ) throws(FormatError) -> [LogHead] {
        let heads = heads.sorted { $0.log < $1.log }
        guard zip(heads, heads.dropFirst()).allSatisfy({ $0.log < $1.log }),
            heads.allSatisfy({ $0.isEnd(orNone: orNone) })
        else { throw .invalid(field) }
        return heads
    }
}
