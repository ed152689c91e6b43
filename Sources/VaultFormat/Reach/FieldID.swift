// SPDX-License-Identifier: Apache-2.0

/// A part of an item that is merged by itself. In order by the number, then the name's bytes.
///
/// Names are the same when their bytes are: unlike text, which Swift also finds equal when only the code points differ,
/// so that every device counts the same fields.
public struct FieldID: Sendable {
    /// An attribute's tag, or F000 and more.
    public let id: UInt16
    /// Of a user attribute or a named secret; otherwise empty.
    public let name: String

    private init(_ id: UInt16, _ name: String = "") { (self.id, self.name) = (id, name) }

    /// The protection class, and the access control if the item has one.
    public static var protection: FieldID { FieldID(0xF000) }
    public static var created: FieldID { FieldID(0xF001) }
    /// All attributes of the primary key: merged one by one, server and port of two edits would mix.
    public static var primaryKey: FieldID { FieldID(0xF010) }
    /// The main part of the value.
    public static var secret: FieldID { FieldID(0xF011) }
    /// Whether the item is alive.
    public static var life: FieldID { FieldID(0xF012) }

    /// A named field of the value.
    public static func namedSecret(_ name: String) -> FieldID { FieldID(0xF013, name) }

    public static func attribute(_ tag: AttributeTag) -> FieldID { FieldID(tag.rawValue) }

    public static func userAttribute(_ name: String) -> FieldID { FieldID(AttributeTag.user.rawValue, name) }

    /// Whether its value may lie apart from the entry.
    public var canBeBlob: Bool { FieldContent.canBeBlob(self) }

    public var isSecret: Bool { id == FieldID.secret.id || id == FieldID.namedSecret("").id }

    public var isUserAttribute: Bool { id == AttributeTag.user.rawValue }

    /// The attribute that the field is; nil for the fields that are none, and for the user's.
    public var attribute: AttributeTag? {
        id >= FieldID.protection.id || isUserAttribute ? nil : AttributeTag(rawValue: id)
    }
}

extension FieldID: Hashable, Comparable {
    public static func == (a: FieldID, b: FieldID) -> Bool {
        a.id == b.id && (a.name.isEmpty && b.name.isEmpty || a.name.utf8.elementsEqual(b.name.utf8))
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        for byte in name.utf8 { hasher.combine(byte) }
    }

    public static func < (a: FieldID, b: FieldID) -> Bool {
        a.id != b.id ? a.id < b.id : a.name.utf8.lexicographicallyPrecedes(b.name.utf8)
    }
}

extension FieldID {
    /// `id u16, u8 nameLength, name` on the wire, in bytes.
    @inlinable var encodedLength: Int { 3 + name.utf8.count }

    /// - Throws: `.unsupported(.attributeTag)` for a critical one that this version does not know, and
    ///   `.invalid(.fieldID)` for one that is never published or has another name than it can have.
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

    /// What another field says, or each device has for itself.
    private static let unpublished: [AttributeTag] = [
        .fields, .clock, .shadow, .conflict, .held, .deleted, Attribute.tombstone.tag, Attribute.accessControl.tag,
    ]
}
