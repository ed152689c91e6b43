// SPDX-License-Identifier: Apache-2.0

/// The kinds of records at a remote.
package enum RecordKind: UInt8, CaseIterable, Sendable {
    /// The members of the realm: a single chain.
    case roster = 0
    /// The writes of one device.
    case log
    /// A part of a large value.
    case blob
    /// A request to join, and its answer.
    case mailbox

    /// The longest record, in bytes.
    package var limit: Int { self == .roster ? 1 << 20 : 256 << 10 }
}

/// A sequence of records, numbered from 1.
package struct RecordStream: Hashable, Comparable, Sendable {
    package let kind: RecordKind
    package let name: Bytes16

    package init(_ kind: RecordKind, _ name: Bytes16) { (self.kind, self.name) = (kind, name) }

    package static func < (a: RecordStream, b: RecordStream) -> Bool {
        (a.kind.rawValue, a.name) < (b.kind.rawValue, b.name)
    }
}

/// The address of a record at every remote of its realm.
package struct RecordAddress: Hashable, Comparable, Sendable {
    /// The valid record numbers, which fit PostgreSQL's bigint, such that there is always a next one.
    package static let sequences: ClosedRange<UInt64> = 1...UInt64(Int64.max)

    package let stream: RecordStream
    /// A number in ``sequences``.
    package let sequence: UInt64

    package init(_ stream: RecordStream, _ sequence: UInt64) { (self.stream, self.sequence) = (stream, sequence) }

    package static func < (a: RecordAddress, b: RecordAddress) -> Bool {
        (a.stream, a.sequence) < (b.stream, b.sequence)
    }
}
