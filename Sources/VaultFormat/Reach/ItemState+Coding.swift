// SPDX-License-Identifier: Apache-2.0

/// `length u32 (of the whole state), itemID 16, class u8, zero u8, contexts u16, fields u16, { log u16, stamp u64 }*`,
/// then the fields in order: `id u16, u8 nameLength, name, values u8, { log u16, stamp u64, form u8, length u32, bytes
/// }*`, the lowest value first. Logs are indexes in the entry's table.
extension ItemState {
    @usableFromInline static var headLength: Int { 26 }
    @usableFromInline static var contextLength: Int { 10 }
    @usableFromInline static var valueHeadLength: Int { 15 }

    /// The encoded length in bytes, without the table's entries for the logs of the context: 16 each, once per entry.
    ///
    /// - Parameter length: of a secret, in bytes.
    @inlinable package func encodedLength(_ length: (Secret) -> Int) -> Int {
        var total = ItemState.headLength + ItemState.contextLength * context.count
        for (field, values) in fields {
            total += field.encodedLength + 1
            for (_, value) in values { total += ItemState.valueHeadLength + value.payloadLength(length) }
        }
        return total
    }

    /// - Throws: for a state that no parser accepts.
    func append(to writer: inout BodyWriter<Secret>, _ logs: [LogID: UInt16], _ length: (Secret) -> Int)
        throws(FormatError)
    {
        try writer.append(count: encodedLength(length), UInt32.self, .items)
        writer.bytes.append(id.bytes)
        writer.bytes += [itemClass.number, 0]
        try writer.append(count: context.count, UInt16.self, .context)
        try writer.append(count: fields.count, UInt16.self, .fieldID)
        for (log, stamp) in context {
            guard let index = logs[log], Dot.stamps.contains(stamp) else { throw .invalid(.context) }
            writer.bytes.append(integer: index)
            writer.bytes.append(integer: stamp)
        }
        guard hasRequiredFields else { throw .invalid(.fieldID) }
        for (field, values) in fields {
            try field.check()
            field.append(to: &writer.bytes)
            guard !values.isEmpty else { throw .invalid(.fieldValue) }
            try writer.append(count: values.count, UInt8.self, .fieldValue)
            for (dot, value) in values {
                guard let index = logs[dot.log], dot.stamp >= 1, hasSeen(dot) else { throw .invalid(.dot) }
                writer.bytes.append(integer: index)
                writer.bytes.append(integer: dot.stamp)
                writer.bytes.append(value.form)
                try ItemState.append(value, to: &writer, length)
            }
        }
    }

    private static func append(
        _ value: FieldValue<Secret>, to writer: inout BodyWriter<Secret>, _ length: (Secret) -> Int
    ) throws(FormatError) {
        let count = value.payloadLength(length)
        guard count <= FieldValue<Secret>.inlineLimit else { throw .outOfBounds(.fieldValue) }
        try writer.append(count: count, UInt32.self, .fieldValue)
        switch value {
        case .none, .erased: break
        case .plain(let bytes): writer.bytes += bytes
        case .secret(let secret): writer.append(secret)
        case .blob(let reference): reference.append(to: &writer.bytes)
        }
    }
}

extension ItemState where Secret == Range<Int> {
    /// Reads a state without copying its secrets from the body.
    ///
    /// - Throws: for anything that no writer produces.
    init(parsing reader: inout SpanReader, of body: Span<UInt8>, _ logs: inout LogTable) throws(FormatError) {
        let length = Int(try reader.integer(UInt32.self, of: body, .items))
        var own = SpanReader(try reader.take(length - 4, .items))
        id = ItemID(body.extracting(try own.take(16, .itemID)))
        guard id.isVersion4 else { throw .invalid(.itemID) }
        guard let itemClass = ItemClass(number: try own.integer(UInt8.self, of: body, .itemClass)) else {
            throw .invalid(.itemClass)
        }
        guard try own.integer(UInt8.self, of: body, .reserved) == 0 else { throw .invalid(.reserved) }
        self.itemClass = itemClass
        let contextCount = Int(try own.integer(UInt16.self, of: body, .context))
        let fieldCount = Int(try own.integer(UInt16.self, of: body, .fieldID))
        context = try ItemState.parseContext(contextCount, &own, of: body, &logs)
        fields = [:]
        try own.expect(fieldCount, of: 4 + ItemState.valueHeadLength, .fieldID)
        fields.reserveCapacity(fieldCount)
        var last: FieldID?
        for _ in 0..<fieldCount {
            let field = try FieldID(parsing: &own, of: body)
            if let last, last >= field { throw .invalid(.fieldID) }
            last = field
            fields[field] = try parseValues(of: field, &own, of: body, &logs)
        }
        guard hasRequiredFields else { throw .invalid(.fieldID) }
        try own.expectEnd(.items)
    }

    private static func parseContext(
        _ count: Int, _ reader: inout SpanReader, of body: Span<UInt8>, _ logs: inout LogTable
    ) throws(FormatError) -> SortedMap<LogID, UInt64> {
        try reader.expect(count, of: contextLength, .context)
        var context: SortedMap<LogID, UInt64> = [:]
        context.reserveCapacity(count)
        var last: UInt16?
        for _ in 0..<count {
            let index = try reader.integer(UInt16.self, of: body, .context)
            let stamp = try reader.integer(UInt64.self, of: body, .context)
            if let last, last >= index { throw .invalid(.context) }
            guard Dot.stamps.contains(stamp) else { throw .invalid(.context) }
            last = index
            context[try logs.log(at: index)] = stamp
        }
        return context
    }

    private func parseValues(
        of field: FieldID, _ reader: inout SpanReader, of body: Span<UInt8>, _ logs: inout LogTable
    ) throws(FormatError) -> SortedMap<Dot, FieldValue<Secret>> {
        let count = Int(try reader.integer(UInt8.self, of: body, .fieldValue))
        guard count >= 1 else { throw .invalid(.fieldValue) }
        try reader.expect(count, of: ItemState.valueHeadLength, .fieldValue)
        var values: SortedMap<Dot, FieldValue<Secret>> = [:]
        values.reserveCapacity(count)
        var last: Dot?
        for _ in 0..<count {
            let log = try logs.log(at: try reader.integer(UInt16.self, of: body, .dot))
            let dot = Dot(log: log, stamp: try reader.integer(UInt64.self, of: body, .dot))
            if let last, last >= dot { throw .invalid(.dot) }
            guard dot.stamp >= 1, hasSeen(dot) else { throw .invalid(.dot) }
            last = dot
            let form = try reader.integer(UInt8.self, of: body, .fieldValue)
            let length = Int(try reader.integer(UInt32.self, of: body, .fieldValue))
            let range = try reader.take(length, .fieldValue)
            values[dot] = try FieldValue(parsing: form, range, of: body, in: field)
        }
        return values
    }
}
