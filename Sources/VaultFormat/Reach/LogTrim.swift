// SPDX-License-Identifier: Apache-2.0

/// The start of a log whose first records were removed.
package struct LogTrim: Hashable, Sendable {
    static let encodedLength = 56

    package var log: LogID
    /// The number of the first remaining record, 1 or more.
    package var base: UInt64
    /// The hash of the previous record; zeros if there is none.
    package var hash: Bytes32

    package init(log: LogID, base: UInt64, hash: Bytes32) { (self.log, self.base, self.hash) = (log, base, hash) }

    init(parsing reader: inout SpanReader, of body: Span<UInt8>) throws(FormatError) {
        log = try reader.sixteen(of: body, .trims)
        base = try reader.integer(UInt64.self, of: body, .trims)
        hash = try reader.thirtyTwo(of: body, .trims)
    }

    func append(to output: inout [UInt8]) {
        output.append(log.bytes)
        output.append(integer: base)
        output.append(hash.bytes)
    }

    /// Checks that the logs differ and are in order.
    static func check(_ trims: [LogTrim]) throws(FormatError) {
        guard zip(trims, trims.dropFirst()).allSatisfy({ $0.log < $1.log }),
            trims.allSatisfy({ RecordAddress.sequences.contains($0.base) && ($0.base > 1 || $0.hash == .zero) })
        else { throw .invalid(.trims) }
    }
}
