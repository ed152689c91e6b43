// SPDX-License-Identifier: Apache-2.0

/// The number of an attribute in the file. Bit 15 means critical: a reader that does not know it must stop.
@usableFromInline package struct AttributeTag: RawRepresentable, Hashable, Comparable, Sendable {
    @usableFromInline package let rawValue: UInt16

    @inlinable package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Tag 4000: a custom name and value, any number of times.
    @inlinable package static var user: AttributeTag { AttributeTag(rawValue: 0x4000) }

    /// Tag 8060: the division of the value, ``ValueFields``. Belongs to the value's box and accompanies it.
    @inlinable package static var fields: AttributeTag { AttributeTag(rawValue: 0x8060) }

    /// Tag 7000: the writes from which a replicated item's values come, ``ItemClock``. Programs without replication
    /// keep it like any unknown tag, and so do all verbs of this one, since ``isKnown`` is false for it.
    @inlinable package static var clock: AttributeTag { AttributeTag(rawValue: 0x7000) }

    /// Tag 7001, an integer: hides the item from the verbs; 1 if another item has the primary key.
    @inlinable package static var shadow: AttributeTag { AttributeTag(rawValue: 0x7001) }

    /// Tag 7002: this kept version has a losing value, ``ConflictMark``.
    @inlinable package static var conflict: AttributeTag { AttributeTag(rawValue: 0x7002) }

    /// Tag 7003, an integer: this kept version has the values of a deleted item.
    @inlinable package static var held: AttributeTag { AttributeTag(rawValue: 0x7003) }

    /// Tag 7010, a date: when the item was deleted, of which this is the last version.
    @inlinable package static var deleted: AttributeTag { AttributeTag(rawValue: 0x7010) }

    /// Whether this version defines the tag.
    package var isKnown: Bool {
        rawValue < AttributeTag.known.count
            ? AttributeTag.known[Int(rawValue)] : self == .user || self == .fields
    }

    /// A table, since this is looked up for each attribute of every record read.
    private static let known: [Bool] = {
        let tags = Set(Attribute.allCases.filter(\.isEncoded).map(\.rawValue))
        return (0...(tags.max() ?? 0)).map(tags.contains)
    }()

    @inlinable package var isCritical: Bool { rawValue & 0x8000 != 0 }

    @inlinable package static func == (a: AttributeTag, b: AttributeTag) -> Bool { a.rawValue == b.rawValue }

    @inlinable package static func < (a: AttributeTag, b: AttributeTag) -> Bool { a.rawValue < b.rawValue }
}

/// An attribute's value, by the kinds of the file.
@usableFromInline package enum EncodedValue: Equatable, Sendable {
    case string(String)
    case data([UInt8])
    case integer(Int64)
    /// Seconds since 2001-01-01T00:00:00Z, finite.
    case date(Double)
    /// A non-integer number.
    case real(Double)

    /// The kind's number in the file.
    @inlinable package var kind: UInt8 {
        switch self {
        case .string: 1
        case .data: 2
        case .integer: 3
        case .date: 4
        case .real: 5
        }
    }

    /// The length of the encoded value in bytes.
    @inlinable package var payloadLength: Int {
        switch self {
        case .string(let string): string.utf8.count
        case .data(let data): data.count
        case .integer, .date, .real: 8
        }
    }

    /// Appends the encoded value.
    package func appendPayload(to output: inout [UInt8]) {
        switch self {
        case .string(let string): output += string.utf8
        case .data(let data): output += data
        case .integer(let integer): output.append(integer: UInt64(bitPattern: integer))
        case .date(let date), .real(let date): output.append(integer: (date == 0 ? 0 : date).bitPattern)
        }
    }
}

/// An item's attributes as encoded in the file: sorted by tag, then name, each at most once.
///
/// `tag u16, kind u8, length u32, bytes`; a user attribute's bytes are `nameLength u8, name, value`.
@usableFromInline package struct EncodedAttributes: Hashable, Sendable {
    @usableFromInline package let bytes: [UInt8]

    @usableFromInline static var headLength: Int { 7 }

    /// No attributes.
    package init() { bytes = [] }

    /// Encodes attributes; user attributes may come in any order.
    package init(_ values: AttributeList, user: [String: String]) {
        var output: [UInt8] = []
        output.reserveCapacity(128)
        let users = values.fields.firstIndex { $0.tag > .user } ?? values.fields.count
        for field in values.fields[..<users] where field.tag != .user { EncodedAttributes.append(field, to: &output) }
        if !user.isEmpty {
            let named = user.map { (Array($0.utf8), Array($1.utf8)) }.sorted { $0.0.lexicographicallyPrecedes($1.0) }
            for (name, value) in named {
                EncodedAttributes.appendHead(.user, 1, 1 + name.count + value.count, to: &output)
                output.append(UInt8(name.count))
                output += name
                output += value
            }
        }
        for field in values.fields[users...] { EncodedAttributes.append(field, to: &output) }
        bytes = output
    }

    /// Encodes attributes that arrive in order, each once.
    package struct Builder: Sendable {
        fileprivate var output: [UInt8] = []

        package init() { output.reserveCapacity(128) }

        /// Appends a field if it is an attribute.
        ///
        /// - Parameter bytes: a kind and a payload, or a user attribute's text.
        package mutating func append(_ bytes: [UInt8], of field: FieldID) {
            if field.isUserAttribute {
                let name = field.name.utf8
                EncodedAttributes.appendHead(.user, 1, 1 + name.count + bytes.count, to: &output)
                output.append(UInt8(clamping: name.count))
                output += name
                output += bytes
            } else if let tag = field.attribute, let kind = bytes.first {
                EncodedAttributes.appendHead(tag, kind, bytes.count - 1, to: &output)
                output += bytes[1...]
            }
        }
    }

    package init(_ builder: Builder) { bytes = builder.output }

    /// Checks and copies bytes from a file.
    package init(parsing source: [UInt8], _ range: Range<Int>) throws(FormatError) {
        try EncodedAttributes.check(source, range)
        self.init(checked: source.span.extracting(range))
    }

    /// Takes bytes that ``check(_:_:)`` accepted.
    package init(checked bytes: Span<UInt8>) { self.bytes = bytes.array(bytes.indices) }

    /// Checks bytes from a file: every attribute well formed, in order, unique, and known if critical.
    static func check(_ source: [UInt8], _ range: Range<Int>) throws(FormatError) {
        let span = source.span
        var cursor = AttributeCursor(source, range)
        var last: (tag: AttributeTag, name: Range<Int>)?
        while let field = try cursor.next() {
            let name = try EncodedAttributes.check(field, in: source)
            if let last {
                let isLater =
                    field.tag > last.tag
                    || field.tag == .user && last.tag == .user && precedes(last.name, name, in: span)
                guard isLater else { throw .invalid(.attributeOrder) }
            }
            last = (field.tag, name)
        }
    }

    /// Visits checked attributes, each with its kind and the range of its payload in `bytes`, until the body returns
    /// `false`.
    @inlinable
    package static func visit(
        _ bytes: Span<UInt8>, _ body: (AttributeTag, _ kind: UInt8, _ payload: Range<Int>) -> Bool
    ) {
        var offset = 0
        while offset + EncodedAttributes.headLength <= bytes.count {
            let start = offset + EncodedAttributes.headLength
            let end = start + Int(bytes.integer(at: offset + 3, as: UInt32.self))
            guard end <= bytes.count,
                body(AttributeTag(rawValue: bytes.integer(at: offset)), bytes[offset + 2], start..<end)
            else {
                return
            }
            offset = end
        }
    }

    /// Visits every attribute with the range of its payload in ``bytes``.
    package func forEach(_ body: (AttributeTag, _ kind: UInt8, _ payload: Range<Int>) -> Void) {
        EncodedAttributes.visit(bytes.span) { tag, kind, payload in
            body(tag, kind, payload)
            return true
        }
    }

    /// The range of an attribute's payload in checked attributes.
    package static func payload(of tag: AttributeTag, in bytes: Span<UInt8>) -> (kind: UInt8, range: Range<Int>)? {
        var found: (kind: UInt8, range: Range<Int>)?
        visit(bytes) { candidate, kind, payload in
            if candidate == tag { found = (kind, payload) }
            return candidate < tag
        }
        return found
    }

    /// The range of an attribute's payload.
    package func payload(of tag: AttributeTag) -> (kind: UInt8, range: Range<Int>)? {
        EncodedAttributes.payload(of: tag, in: bytes.span)
    }

    /// Whether the attribute is the integer 1.
    package func isOne(_ tag: AttributeTag) -> Bool {
        guard let (kind, range) = payload(of: tag) else { return false }
        return EncodedAttributes.isOne(kind, range, in: bytes.span)
    }

    /// Whether a payload of checked attributes is the integer 1.
    @inlinable
    package static func isOne(_ kind: UInt8, _ payload: Range<Int>, in bytes: Span<UInt8>) -> Bool {
        kind == 3 && bytes.integer(at: payload.lowerBound, as: UInt64.self) == 1
    }

    /// The value of an attribute other than a user attribute.
    package subscript(tag: AttributeTag) -> EncodedValue? {
        guard let (kind, range) = payload(of: tag) else { return nil }
        return EncodedAttributes.decode(kind, bytes.span.extracting(range))
    }

    /// Every known attribute, decoded, without user attributes.
    package var values: AttributeList {
        var values = AttributeList()
        forEach { tag, kind, payload in
            guard tag != .user, tag.isKnown else { return }
            values[tag] = EncodedAttributes.decode(kind, bytes.span.extracting(payload))
        }
        return values
    }

    package var user: [String: String] {
        var user: [String: String] = [:]
        EncodedAttributes.visitUser(bytes.span) { name, value in
            user[name] = String(decoding: bytes[value], as: UTF8.self)
        }
        return user
    }

    /// Visits the user attributes among checked attributes: the name, and the range of the value in `bytes`.
    package static func visitUser(_ bytes: Span<UInt8>, _ body: (_ name: String, _ value: Range<Int>) -> Void) {
        visit(bytes) { tag, _, payload in
            guard tag == .user else { return tag < .user }
            let split = payload.lowerBound + 1 + Int(bytes[payload.lowerBound])
            if let name = try? UTF8Span(validating: bytes.extracting(payload.lowerBound + 1..<split)) {
                body(String(copying: name), split..<payload.upperBound)
            }
            return true
        }
    }

    init(sorted bytes: [UInt8]) { self.bytes = bytes }

    static func append(_ field: AttributeList.Field, to output: inout [UInt8]) {
        appendHead(field.tag, field.value.kind, field.value.payloadLength, to: &output)
        field.value.appendPayload(to: &output)
    }

    private static func appendHead(_ tag: AttributeTag, _ kind: UInt8, _ payloadLength: Int, to output: inout [UInt8]) {
        var head = [7 of UInt8](repeating: kind)
        head.store(tag.rawValue, at: 0)
        head.store(UInt32(payloadLength), at: 3)
        output.append(head)
    }

    /// Returns the range of a user attribute's name.
    private static func check(_ field: AttributeCursor.Field, in source: [UInt8]) throws(FormatError) -> Range<Int> {
        let payload = field.payload
        let span = source.span
        guard field.tag.isKnown else {
            guard !field.tag.isCritical else { throw .unsupported(.attributeTag) }
            guard isReplication(field.tag, field.kind, span.extracting(payload)) else { throw .invalid(.replication) }
            return payload.lowerBound..<payload.lowerBound
        }
        try checkPayload(field.kind, span.extracting(payload))
        if field.tag == .fields {
            guard field.kind == 2 else { throw .invalid(.attributeKind) }
            _ = try ValueFields(parsing: source, payload)
        }
        guard field.tag == .user else { return payload.lowerBound..<payload.lowerBound }
        guard field.kind == 1, payload.count >= 1 else { throw .invalid(.attributeKind) }
        let nameLength = Int(span[payload.lowerBound])
        let name = payload.lowerBound + 1..<payload.lowerBound + 1 + nameLength
        guard nameLength >= 1, name.upperBound <= payload.upperBound,
            span.extracting(name).isUTF8, span.extracting(name.upperBound..<payload.upperBound).isUTF8
        else { throw .invalid(.attributeValue) }
        return name
    }

    /// Checks a value's bytes against its kind.
    static func checkPayload(_ kind: UInt8, _ payload: Span<UInt8>) throws(FormatError) {
        switch kind {
        case 1: guard payload.isUTF8 else { throw .invalid(.attributeValue) }
        case 2: break
        case 3, 4, 5:
            guard payload.count == 8 else { throw .invalid(.attributeValue) }
            let number = Double(bitPattern: payload.integer(at: 0))
            guard kind == 3 || number.isFinite && number.bitPattern != (-0.0 as Double).bitPattern else {
                throw .invalid(.attributeValue)
            }
            if kind == 5, Int64(exactly: number) != nil { throw .invalid(.attributeValue) }
        default: throw .invalid(.attributeKind)
        }
    }

    /// Whether the value of an unknown tag is valid, if it is one of replication's tags.
    private static func isReplication(_ tag: AttributeTag, _ kind: UInt8, _ payload: Span<UInt8>) -> Bool {
        switch tag {
        case .clock: kind == 2 && (try? ItemClock.check(payload)) != nil
        case .shadow: kind == 3 && payload.count == 8 && (1...2).contains(payload.integer(at: 0, as: UInt64.self))
        case .conflict: kind == 2 && (try? ConflictMark(parsing: payload)) != nil
        case .held: kind == 3 && payload.count == 8
        default: true
        }
    }

    private static func decode(_ kind: UInt8, _ payload: Span<UInt8>) -> EncodedValue? {
        switch kind {
        case 1: if let text = try? UTF8Span(validating: payload) { .string(String(copying: text)) } else { nil }
        case 2: .data(payload.array(0..<payload.count))
        case 3: .integer(Int64(bitPattern: payload.integer(at: 0)))
        case 4: .date(Double(bitPattern: payload.integer(at: 0)))
        case 5: .real(Double(bitPattern: payload.integer(at: 0)))
        default: nil
        }
    }
}

private func precedes(_ a: Range<Int>, _ b: Range<Int>, in bytes: Span<UInt8>) -> Bool {
    for (i, j) in zip(a, b) where bytes[i] != bytes[j] { return bytes[i] < bytes[j] }
    return a.count < b.count
}

/// Iterates over encoded attributes.
struct AttributeCursor {
    struct Field {
        var tag: AttributeTag
        var kind: UInt8
        var payload: Range<Int>
    }

    private var reader: ByteReader

    init(_ bytes: [UInt8], _ range: Range<Int>) { reader = ByteReader(bytes, range) }

    mutating func next() throws(FormatError) -> Field? {
        guard reader.remaining > 0 else { return nil }
        let tag = AttributeTag(rawValue: try reader.integer(UInt16.self, .attributes))
        let head = try reader.take(5, .attributes).lowerBound
        let length = Int(reader.bytes.span.integer(at: head + 1, as: UInt32.self))
        return Field(tag: tag, kind: reader.bytes[head], payload: try reader.take(length, .attributes))
    }
}
