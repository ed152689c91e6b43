// SPDX-License-Identifier: Apache-2.0

/// A part of an item that is merged independently. Ordered by the number, then the name's bytes.
///
/// Names are equal if their bytes are, unlike Swift strings, which also compare equal if canonically equivalent, so
/// that every device distinguishes the same fields.
@usableFromInline package struct FieldID: Sendable {
    /// An attribute's tag, or a number from F000.
    @usableFromInline package let id: UInt16
    /// The name of a user attribute or a named secret; otherwise empty.
    @usableFromInline package let name: String

    private init(_ id: UInt16, _ name: String = "") { (self.id, self.name) = (id, name) }

    /// The protection class, and the access control if the item has one.
    package static var protection: FieldID { FieldID(0xF000) }
    package static var created: FieldID { FieldID(0xF001) }
    /// All attributes of the primary key together: merged separately, two edits could mix server and port.
    package static var primaryKey: FieldID { FieldID(0xF010) }
    /// The main part of the value.
    package static var secret: FieldID { FieldID(0xF011) }
    /// Whether the item is alive.
    package static var life: FieldID { FieldID(0xF012) }

    /// A named field of the value.
    package static func namedSecret(_ name: String) -> FieldID { FieldID(0xF013, name) }

    package static func attribute(_ tag: AttributeTag) -> FieldID { FieldID(tag.rawValue) }

    package static func userAttribute(_ name: String) -> FieldID { FieldID(AttributeTag.user.rawValue, name) }

    /// Whether its value may be stored apart from the entry.
    package var canBeBlob: Bool { FieldContent.canBeBlob(self) }

    package var isSecret: Bool { id == FieldID.secret.id || id == FieldID.namedSecret("").id }

    package var isUserAttribute: Bool { id == AttributeTag.user.rawValue }

    /// The attribute that the field is; `nil` for fields that are not attributes, and for user attributes.
    package var attribute: AttributeTag? {
        id >= FieldID.protection.id || isUserAttribute ? nil : AttributeTag(rawValue: id)
    }
}

extension FieldID: Hashable, Comparable {
    @usableFromInline package static func == (a: FieldID, b: FieldID) -> Bool {
        a.id == b.id && (a.name.isEmpty && b.name.isEmpty || a.name.utf8.elementsEqual(b.name.utf8))
    }

    @usableFromInline package func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        for byte in name.utf8 { hasher.combine(byte) }
    }

    @usableFromInline package static func < (a: FieldID, b: FieldID) -> Bool {
        a.id != b.id ? a.id < b.id : a.name.utf8.lexicographicallyPrecedes(b.name.utf8)
    }
}

extension FieldID {
    /// The encoded length of `id u16, u8 nameLength, name`, in bytes.
    @inlinable var encodedLength: Int { 3 + name.utf8.count }

    /// - Throws: `.unsupported(.attributeTag)` for an unknown critical tag, and `.invalid(.fieldID)` for a tag that is
    ///   never published or has an invalid name.
    init(parsing reader: inout SpanReader, of bytes: Span<UInt8>) throws(FormatError) {
        let id = try reader.integer(UInt16.self, of: bytes, .fieldID)
        self.init(id, try reader.name(of: bytes, .fieldID))
        try check()
    }

    func check() throws(FormatError) {
        let isNameGood =
            switch id {
            case AttributeTag.user.rawValue: (1...255).contains(name.utf8.count)
            case FieldID.namedSecret("").id: ValueFields.isName(name)
            default: name.isEmpty
            }
        guard isNameGood else { throw .invalid(.fieldID) }
        switch self {
        case .protection, .created, .primaryKey, .secret, .life: return
        default: break
        }
        guard let attribute else {
            if id != AttributeTag.user.rawValue, !isSecret { throw .unsupported(.attributeTag) }
            return
        }
        guard !FieldID.unpublished.contains(attribute) else { throw .invalid(.fieldID) }
        guard attribute.isKnown || !attribute.isCritical else { throw .unsupported(.attributeTag) }
    }

    func append(to output: inout [UInt8]) {
        output.append(integer: id)
        output.append(UInt8(clamping: name.utf8.count))
        output += name.utf8
    }

    /// Tags that other fields express, or that are local to each device.
    private static let unpublished: [AttributeTag] = [
        .fields, .clock, .shadow, .conflict, .held, .deleted, Attribute.tombstone.tag, Attribute.accessControl.tag,
    ]
}
