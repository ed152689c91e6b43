// SPDX-License-Identifier: Apache-2.0

@usableFromInline package enum OperationKind: UInt8, Sendable {
    case put = 1, delete
    /// A kept older version, never matched.
    case past
}

/// The location of a value's box.
@usableFromInline package struct ValueLocation: Equatable, Sendable {
    /// The offset of the nonce, from the start of the file.
    @usableFromInline package var offset: UInt64
    /// The length of nonce and box.
    @usableFromInline package var length: UInt32
    /// The box's Poly1305 tag, so that an older box of the same item cannot replace it.
    @usableFromInline package var tag: [16 of UInt8]

    @inlinable package init(offset: UInt64, length: UInt32, tag: [16 of UInt8]) {
        self.offset = offset
        self.length = length
        self.tag = tag
    }

    @inlinable package static func == (a: ValueLocation, b: ValueLocation) -> Bool {
        a.offset == b.offset && a.length == b.length && a.tag.span.elementsEqual(b.tag.span)
    }
}

/// A random version-4 UUID (RFC 9562): the permanent identifier of an item.
public struct ItemID: Hashable, Comparable, Sendable {
    @usableFromInline package let high: UInt64
    @usableFromInline package let low: UInt64

    /// Reads sixteen bytes in the order of the text form.
    @inlinable package init(_ bytes: Span<UInt8>) {
        high = bytes.integer(at: 0, as: UInt64.self).byteSwapped
        low = bytes.integer(at: 8, as: UInt64.self).byteSwapped
    }

    @inlinable package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// Makes a version-4 UUID of sixteen random bytes.
    package init(random bytes: [UInt8]) {
        var bytes = bytes
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        self.init(bytes.span)
    }

    /// The identifier as in the file: 16 bytes, those of the UUID.
    @inlinable public var bytes: [16 of UInt8] {
        .init { UInt8(truncatingIfNeeded: ($0 < 8 ? high : low) >> UInt64(56 - 8 * ($0 % 8))) }
    }

    @inlinable package var isVersion4: Bool { high >> 12 & 0xf == 4 && low >> 62 == 2 }

    @inlinable public static func < (a: ItemID, b: ItemID) -> Bool { (a.high, a.low) < (b.high, b.low) }
}

/// A change of an item: 108 bytes, then its attributes.
@usableFromInline package struct Operation: Equatable, Sendable {
    package var kind: OperationKind
    /// `nil` for the vault's own records, which are not items.
    @usableFromInline package var itemClass: ItemClass?
    package var protection: Accessibility
    @usableFromInline package var id: ItemID
    /// 1 at creation, incremented by each change.
    package var version: UInt64
    /// The version at which the value's box was sealed; 0 without a value.
    package var valueVersion: UInt64
    /// The creating sequence number * 65,536 + index: the creation order, which never changes.
    package var ordinal: UInt64
    /// Seconds since 2001-01-01T00:00:00Z, finite.
    package var created: Double
    package var modified: Double
    @usableFromInline package var value: ValueLocation?
    @inlinable package var hasValue: Bool { value != nil }
    /// The first 16 bytes of the device secret's hash; zeros for items not bound to a device.
    package var deviceID: [16 of UInt8]
    package var attributes: EncodedAttributes

    package init(
        kind: OperationKind, itemClass: ItemClass?, protection: Accessibility, id: ItemID, version: UInt64,
        valueVersion: UInt64,
        ordinal: UInt64, created: Double, modified: Double, value: ValueLocation?, deviceID: [16 of UInt8],
        attributes: EncodedAttributes
    ) {
        self.kind = kind
        self.itemClass = itemClass
        self.protection = protection
        self.id = id
        self.version = version
        self.valueVersion = valueVersion
        self.ordinal = ordinal
        self.created = created
        self.modified = modified
        self.value = value
        self.deviceID = deviceID
        self.attributes = attributes
    }

    @usableFromInline package static func == (a: Operation, b: Operation) -> Bool { a.encoded() == b.encoded() }

    /// Refers to the value of another version of the same item.
    package mutating func take(valueOf other: Operation) { (value, valueVersion) = (other.value, other.valueVersion) }

    package func encoded() -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(Layout.operationLength + attributes.bytes.count)
        append(to: &output)
        return output
    }

    package func append(to output: inout [UInt8]) {
        var head = [108 of UInt8](repeating: 0)
        head[0] = kind.rawValue
        head[1] = itemClass?.number ?? 0
        head[2] = protection.number
        head.store(UInt32(attributes.bytes.count), at: 4)
        head.store(id.high.byteSwapped, at: 8)
        head.store(id.low.byteSwapped, at: 16)
        head.store(version, at: 24)
        head.store(valueVersion, at: 32)
        head.store(ordinal, at: 40)
        // Zero is always encoded as positive.
        head.store((created == 0 ? 0 : created).bitPattern, at: 48)
        head.store((modified == 0 ? 0 : modified).bitPattern, at: 56)
        if let value {
            head[3] = 1
            head.store(value.offset, at: 64)
            head.store(value.length, at: 72)
            head.store(value.tag, at: 76)
        }
        head.store(deviceID, at: 92)
        output.append(head)
        output.append(attributes.bytes.span)
    }

    /// Reads an operation at the reader's position.
    package init(parsing reader: inout ByteReader) throws(FormatError) {
        let source = reader.bytes
        let range = try Operation.check(&reader)
        self.init(checked: source.span.extracting(range))
    }

    /// Checks an operation at the reader's position and skips it, which suffices for opening a vault.
    ///
    /// - Returns: its range, for ``init(checked:)``.
    package static func check(_ reader: inout ByteReader) throws(FormatError) -> Range<Int> {
        let start = try reader.take(Layout.operationLength, .metadata).lowerBound
        let source = reader.bytes
        let bytes = source.span
        guard let kind = OperationKind(rawValue: bytes[start]) else { throw .unsupported(.operationKind) }
        guard bytes[start + 1] == 0 || ItemClass(number: bytes[start + 1]) != nil else { throw .invalid(.itemClass) }
        guard let protection = Accessibility(number: bytes[start + 2]) else { throw .invalid(.protection) }
        let hasValue = bytes[start + 3]
        guard hasValue <= 1 else { throw .invalid(.operationFlags) }
        let attributesLength = Int(bytes.integer(at: start + 4, as: UInt32.self))
        guard attributesLength <= Layout.attributesLimit else { throw .outOfBounds(.attributes) }
        guard ItemID(bytes.extracting(start + 8..<start + 24)).isVersion4 else { throw .invalid(.itemID) }
        let version: UInt64 = bytes.integer(at: start + 24)
        let valueVersion: UInt64 = bytes.integer(at: start + 32)
        try checkDate(bytes.integer(at: start + 48))
        try checkDate(bytes.integer(at: start + 56))
        let offset: UInt64 = bytes.integer(at: start + 64)
        let length: UInt32 = bytes.integer(at: start + 72)
        if hasValue == 1 {
            guard boxLengths.contains(Int(length)), offset >= UInt64(Layout.firstFrame), offset <= UInt64(Int64.max),
                valueVersion >= 1,
                valueVersion <= version
            else { throw .outOfBounds(.value) }
        } else {
            guard offset == 0, length == 0, bytes.isZero(start + 76..<start + 92), valueVersion == 0 else {
                throw .invalid(.value)
            }
        }
        // Each change adds one, so the version cannot overflow.
        guard version >= 1, version <= UInt64(Int64.max) else { throw .invalid(.version) }
        guard protection.isThisDeviceOnly || bytes.isZero(start + 92..<start + 108) else { throw .invalid(.protection) }
        let attributes = try reader.take(attributesLength, .attributes)
        try EncodedAttributes.check(source, attributes)
        guard hasValue == 1 || EncodedAttributes.payload(of: .fields, in: bytes.extracting(attributes)) == nil else {
            throw .invalid(.fields)
        }
        guard kind != .delete || (hasValue == 0 && attributesLength == 0) else { throw .invalid(.operationKind) }
        return start..<attributes.upperBound
    }

    private static let boxLengths =
        Layout.boxOverhead + Layout.valueMinimum...Layout.boxOverhead
        + Padding.length(for: Layout.valueLimit, minimum: Layout.valueMinimum)

    /// Decodes an operation that ``check(_:)`` accepted.
    package init(checked bytes: Span<UInt8>) {
        // A checked operation has one of the cases.
        kind = OperationKind(rawValue: bytes[0]) ?? .put
        itemClass = Operation.itemClass(of: bytes)
        protection = Operation.protection(of: bytes)
        id = Operation.id(of: bytes)
        version = Operation.version(of: bytes)
        valueVersion = bytes.integer(at: 32)
        ordinal = bytes.integer(at: 40)
        created = Double(bitPattern: bytes.integer(at: 48))
        modified = Double(bitPattern: bytes.integer(at: 56))
        value = Operation.value(of: bytes)
        deviceID = bytes.sixteen(at: 92)
        attributes = EncodedAttributes(checked: bytes.extracting(Layout.operationLength..<bytes.count))
    }

    // Single fields of a checked operation. Inlined in other modules, which read them for each record.

    @inlinable package static func kind(of bytes: Span<UInt8>) -> OperationKind {
        OperationKind(rawValue: bytes[0]) ?? .put
    }

    @inlinable package static func itemClass(of bytes: Span<UInt8>) -> ItemClass? { ItemClass(number: bytes[1]) }

    @inlinable package static func protection(of bytes: Span<UInt8>) -> Accessibility {
        Accessibility(number: bytes[2]) ?? .whenUnlocked
    }

    @inlinable package static func id(of bytes: Span<UInt8>) -> ItemID { ItemID(bytes.extracting(8..<24)) }

    @inlinable package static func version(of bytes: Span<UInt8>) -> UInt64 { bytes.integer(at: 24) }

    @inlinable package static func valueVersion(of bytes: Span<UInt8>) -> UInt64 { bytes.integer(at: 32) }

    @inlinable package static func ordinal(of bytes: Span<UInt8>) -> UInt64 { bytes.integer(at: 40) }

    @inlinable package static func created(of bytes: Span<UInt8>) -> Double {
        Double(bitPattern: bytes.integer(at: 48))
    }

    @inlinable package static func modified(of bytes: Span<UInt8>) -> Double {
        Double(bitPattern: bytes.integer(at: 56))
    }

    /// The range of the attributes.
    @inlinable package static func attributes(of bytes: Span<UInt8>) -> Range<Int> {
        Layout.operationLength..<bytes.count
    }

    /// The offset of the operation's value; 0 without one.
    @inlinable package static func offset(of bytes: Span<UInt8>) -> UInt64 { bytes.integer(at: 64) }

    @inlinable package static func hasValue(_ bytes: Span<UInt8>) -> Bool { bytes[3] == 1 }

    /// Sets the value's offset in the operation that begins at `start`.
    @inlinable package static func setOffset(_ offset: UInt64, in bytes: inout [UInt8], at start: Int) {
        for index in 0..<8 { bytes[start + 64 + index] = UInt8(truncatingIfNeeded: offset >> UInt64(8 * index)) }
    }

    /// Whether two operations differ at most in the offset of the value.
    @inlinable package static func isEqualButOffset(_ a: Span<UInt8>, _ b: Span<UInt8>) -> Bool {
        guard a.count == b.count, a.extracting(0..<64).elementsEqual(b.extracting(0..<64)) else { return false }
        return a.extracting(72..<a.count).elementsEqual(b.extracting(72..<b.count))
    }

    @inlinable package static func value(of bytes: Span<UInt8>) -> ValueLocation? {
        guard hasValue(bytes) else { return nil }
        return ValueLocation(offset: offset(of: bytes), length: bytes.integer(at: 72), tag: bytes.sixteen(at: 76))
    }

    /// The length of nonce and box of the operation's value, in bytes; 0 without one.
    @inlinable package static func boxLength(of bytes: Span<UInt8>) -> Int {
        hasValue(bytes) ? Int(bytes.integer(at: 72, as: UInt32.self)) : 0
    }

    /// The length of the operation that begins with these bytes.
    @inlinable package static func length(of bytes: Span<UInt8>) -> Int {
        Layout.operationLength + Int(bytes.integer(at: 4, as: UInt32.self))
    }

    private static func checkDate(_ bits: UInt64) throws(FormatError) {
        guard Double(bitPattern: bits).isFinite, bits != (-0.0 as Double).bitPattern else { throw .invalid(.date) }
    }
}

/// The content of a frame's metadata box: the head, then operations.
package struct FrameMetadata: Sendable {
    package var generation: UInt64
    package var sequence: UInt64
    package var operationCount: Int

    /// Reads the head and advances the reader to the first operation.
    package init(parsing reader: inout ByteReader) throws(FormatError) {
        generation = try reader.integer(UInt64.self, .metadata)
        sequence = try reader.integer(UInt64.self, .metadata)
        operationCount = Int(try reader.integer(UInt16.self, .operationCount))
        guard operationCount >= 1 else { throw .invalid(.operationCount) }
        guard try reader.integer(UInt16.self, .reserved) == 0 else { throw .invalid(.reserved) }
    }

    package static func appendHead(generation: UInt64, sequence: UInt64, operationCount: Int, to output: inout [UInt8])
    {
        var head = [20 of UInt8](repeating: 0)
        head.store(generation, at: 0)
        head.store(sequence, at: 8)
        head.store(UInt16(operationCount), at: 16)
        output.append(head)
    }
}
