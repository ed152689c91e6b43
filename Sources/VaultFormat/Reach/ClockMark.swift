// SPDX-License-Identifier: Apache-2.0

/// A live value of a field in the vault file: the write that made it, and the location of the value.
package struct ClockMark: Hashable, Sendable {
    package enum Mark: UInt8, CaseIterable, Sendable {
        /// No value: the write removed the field.
        case none
        /// In the item's record.
        case here
        /// In a kept older version, which has a ``ConflictMark``.
        case conflict
        /// Erased, since every device knows that the item is deleted.
        case erased
        /// Used only for ``FieldID/life``, which has no other marks.
        case alive, dead
    }

    package var dot: LocalDot
    package var mark: Mark

    package init(dot: LocalDot, mark: Mark) { (self.dot, self.mark) = (dot, mark) }

    func isPossible(of field: FieldID) -> Bool {
        dot.stamp >= 1 && (field == .life) == (mark == .alive || mark == .dead)
    }
}

/// The field and write of a losing value, in the kept version that contains it: ``AttributeTag/conflict``.
///
/// `id u16, u8 nameLength, name, number u16, stamp u64`
package struct ConflictMark: Hashable, Sendable {
    package var field: FieldID
    package var dot: LocalDot

    package init(field: FieldID, dot: LocalDot) { (self.field, self.dot) = (field, dot) }

    /// - Throws: for anything that ``encoded`` does not produce.
    package init(parsing bytes: Span<UInt8>) throws(FormatError) {
        var reader = SpanReader(bytes)
        field = try FieldID(parsing: &reader, of: bytes)
        dot = try LocalDot(parsing: &reader, of: bytes)
        guard dot.stamp >= 1 else { throw .invalid(.replication) }
        try reader.expectEnd(.replication)
    }

    package var encoded: [UInt8] {
        var output: [UInt8] = []
        field.append(to: &output)
        dot.append(to: &output)
        return output
    }
}
