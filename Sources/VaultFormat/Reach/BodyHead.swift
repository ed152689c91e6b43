// SPDX-License-Identifier: Apache-2.0

/// The first four bytes of every body: `version u16 = 1, kind u8, u8`.
enum BodyHead {
    static let length = 4

    /// - Parameter last: zero, except for a message of the mailbox, where it is the message's number.
    static func append(_ kind: RecordKind, _ last: UInt8 = 0, to output: inout [UInt8]) {
        output.append(integer: UInt16(1))
        output += [kind.rawValue, last]
    }

    static func parse(
        _ kind: RecordKind, _ last: UInt8 = 0, _ reader: inout SpanReader, of body: Span<UInt8>
    ) throws(FormatError) {
        guard try reader.integer(UInt16.self, of: body, .body) == 1 else { throw .unsupported(.body) }
        guard try reader.integer(UInt8.self, of: body, .body) == kind.rawValue else { throw .invalid(.body) }
        guard try reader.integer(UInt8.self, of: body, .reserved) == last else { throw .invalid(.reserved) }
    }

    /// Checks that an entry's number and the hash of the previous one are consistent.
    static func check(_ sequence: UInt64, _ previous: Bytes32) throws(FormatError) {
        guard RecordAddress.sequences.contains(sequence), sequence > 1 || previous == .zero else {
            throw .invalid(.sequence)
        }
    }
}
