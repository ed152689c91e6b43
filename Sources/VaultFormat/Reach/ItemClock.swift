// SPDX-License-Identifier: Apache-2.0

/// The replication data of an item in the vault file: the writes from which its values come, and the writes that were
/// seen. The payload of ``AttributeTag/clock``.
///
/// `own u64, told u64, erased u64, base number u16, base stamp u64, u16 n, { number u16, stamp u64 }*, u16 n`, then n
/// fields: `id u16, u8 nameLength, name, u8 count, { number u16, stamp u64, mark u8 }*`. Numbers and fields ascend;
/// within a field, the lowest write comes first.
package struct ItemClock: Hashable, Sendable {
    /// The greatest stamp that this device has given the item.
    package var own: UInt64
    /// The greatest stamp of an entry that mentioned the item.
    package var told: UInt64
    /// The greatest stamp of a head when the deleted item's values were erased; 0 if they are present.
    package var erased: UInt64
    /// The write that most fields come from.
    package var base: LocalDot
    package var context: LocalContext
    /// The fields that do not have exactly one value, here, by ``base``; each with one or more marks.
    package var fields: SortedMap<FieldID, [ClockMark]>

    package init(
        own: UInt64 = 0, told: UInt64 = 0, erased: UInt64 = 0, base: LocalDot, context: LocalContext,
        fields: SortedMap<FieldID, [ClockMark]> = [:]
    ) {
        (self.own, self.told, self.erased) = (own, told, erased)
        (self.base, self.context, self.fields) = (base, context, fields)
    }

    /// - Throws: for anything that ``encoded()`` does not produce.
    package init(parsing bytes: Span<UInt8>) throws(FormatError) {
        var context = LocalContext()
        var fields: SortedMap<FieldID, [ClockMark]> = [:]
        let head = try ItemClock.visit(bytes) { part in
            switch part {
            case .context(let entry): context.append(entry)
            case .mark(let mark, let field): fields[field, default: []].append(mark)
            }
        }
        (own, told, erased, base) = (head.own, head.told, head.erased, head.base)
        (self.context, self.fields) = (context, fields)
    }

    /// - Throws: for a clock that no parser accepts.
    package func encoded() throws(FormatError) -> [UInt8] {
        var writer = BodyWriter<Never>()
        for stamp in [own, told, erased] { writer.bytes.append(integer: stamp) }
        base.append(to: &writer.bytes)
        try writer.append(count: context.entries.count, UInt16.self, .replication)
        for entry in context.entries { entry.append(to: &writer.bytes) }
        try writer.append(count: fields.count, UInt16.self, .replication)
        for (field, marks) in fields {
            try field.check()
            field.append(to: &writer.bytes)
            let marks = marks.sorted { $0.dot < $1.dot }
            guard !marks.isEmpty, marks.allSatisfy({ $0.isPossible(of: field) }),
                zip(marks, marks.dropFirst()).allSatisfy({ $0.dot < $1.dot })
            else { throw .invalid(.replication) }
            try writer.append(count: marks.count, UInt8.self, .replication)
            for mark in marks {
                mark.dot.append(to: &writer.bytes)
                writer.bytes.append(mark.mark.rawValue)
            }
        }
        return writer.bytes
    }

    /// ``own`` of a checked clock, without parsing the rest.
    package static func own(of bytes: Span<UInt8>) -> UInt64 { bytes.count >= 8 ? bytes.integer(at: 0) : 0 }

    /// - Throws: as ``init(parsing:)``.
    static func check(_ bytes: Span<UInt8>) throws(FormatError) { _ = try visit(bytes) { _ in } }

    private typealias Head = (own: UInt64, told: UInt64, erased: UInt64, base: LocalDot)

    private enum Part {
        case context(LocalDot)
        case mark(ClockMark, FieldID)
    }

    /// Reads and checks a clock without allocating: every record of a replicated vault has one.
    private static func visit(_ bytes: Span<UInt8>, _ body: (Part) -> Void) throws(FormatError) -> Head {
        var reader = SpanReader(bytes)
        let own = try reader.integer(UInt64.self, of: bytes, .replication)
        let told = try reader.integer(UInt64.self, of: bytes, .replication)
        let erased = try reader.integer(UInt64.self, of: bytes, .replication)
        let base = try LocalDot(parsing: &reader, of: bytes)
        var lastNumber: UInt16?
        for _ in 0..<(try reader.integer(UInt16.self, of: bytes, .replication)) {
            let entry = try LocalDot(parsing: &reader, of: bytes)
            if let lastNumber, lastNumber >= entry.number { throw .invalid(.replication) }
            guard entry.stamp >= 1 else { throw .invalid(.replication) }
            lastNumber = entry.number
            body(.context(entry))
        }
        var lastField: FieldID?
        for _ in 0..<(try reader.integer(UInt16.self, of: bytes, .replication)) {
            let field = try FieldID(parsing: &reader, of: bytes)
            if let lastField, lastField >= field { throw .invalid(.replication) }
            lastField = field
            try visitMarks(of: field, &reader, of: bytes, body)
        }
        try reader.expectEnd(.replication)
        return (own, told, erased, base)
    }

    private static func visitMarks(
        of field: FieldID, _ reader: inout SpanReader, of bytes: Span<UInt8>, _ body: (Part) -> Void
    ) throws(FormatError) {
        let count = try reader.integer(UInt8.self, of: bytes, .replication)
        guard count >= 1 else { throw .invalid(.replication) }
        var last: LocalDot?
        for _ in 0..<count {
            let dot = try LocalDot(parsing: &reader, of: bytes)
            guard let kind = ClockMark.Mark(rawValue: try reader.integer(UInt8.self, of: bytes, .replication)) else {
                throw .invalid(.replication)
            }
            let mark = ClockMark(dot: dot, mark: kind)
            if let last, last >= dot { throw .invalid(.replication) }
            guard mark.isPossible(of: field) else { throw .invalid(.replication) }
            last = dot
            body(.mark(mark, field))
        }
    }
}
