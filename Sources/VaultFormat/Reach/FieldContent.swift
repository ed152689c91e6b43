// SPDX-License-Identifier: Apache-2.0

/// The format of a field's bytes.
///
/// - an attribute: its kind in one byte, then its payload as in the vault file
/// - a user attribute: the text
/// - ``FieldID/protection``: the class in one byte, then the payload of the access control, if there is one
/// - ``FieldID/created``: the 8 bytes of a date
/// - ``FieldID/primaryKey``: encoded attributes
/// - ``FieldID/life``: 1 or 0 in one byte
enum FieldContent {
    /// - Throws: for bytes that no writer publishes.
    static func check(_ bytes: Span<UInt8>, of field: FieldID) throws(FormatError) {
        switch field {
        case .protection:
            // Items of this device only are never published.
            guard bytes.count >= 1, let protection = Accessibility(number: bytes[0]), !protection.isThisDeviceOnly
            else { throw .invalid(.protection) }
        case .created: do { try EncodedAttributes.checkPayload(4, bytes) } catch { throw .invalid(.date) }
        case .primaryKey: try checkPrimaryKey(bytes.array(bytes.indices))
        case .life: guard bytes.count == 1, bytes[0] <= 1 else { throw .invalid(.fieldValue) }
        default:
            guard let attribute = field.attribute else {
                guard bytes.isUTF8 else { throw .invalid(.attributeValue) }
                return
            }
            guard let kind = bytes.isEmpty ? nil : bytes[0] else { throw .truncated(.attributeKind) }
            // An attribute of a later version may have a later kind as well.
            guard attribute.isKnown || (1...5).contains(kind) else { return }
            try EncodedAttributes.checkPayload(kind, bytes.extracting(1..<bytes.count))
        }
    }

    /// Whether a write can remove the field.
    static func canBeNone(_ field: FieldID) -> Bool { !isRequired(field) && field != .created }

    /// Whether the field can be too long for an entry.
    static func canBeBlob(_ field: FieldID) -> Bool {
        switch field {
        case .life, .created, .protection: false
        default: true
        }
    }

    /// Whether every item has the field.
    static func isRequired(_ field: FieldID) -> Bool { required.contains(field) }

    static let required: [FieldID] = [.protection, .primaryKey, .life]

    private static func checkPrimaryKey(_ bytes: [UInt8]) throws(FormatError) {
        let attributes = try EncodedAttributes(parsing: bytes, bytes.indices)
        var isGood = true
        attributes.forEach { tag, _, _ in
            isGood = isGood && tag.isKnown && tag != .user && (try? FieldID.attribute(tag).check()) != nil
        }
        guard isGood else { throw .invalid(.attributeTag) }
    }
}
