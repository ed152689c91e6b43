// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

// The parts of a record that other devices receive: its attributes, times and secrets, each as a field.

extension Record {
    /// The names of the writes of its fields; `nil` if other devices do not know the item.
    var clock: ItemClock? {
        guard let (_, range) = attributes.payload(of: .clock) else { return nil }
        return try? ItemClock(parsing: attributes.bytes.span.extracting(range))
    }

    var hasClock: Bool { attributes.payload(of: .clock) != nil }

    /// Whether the verbs do not see it: see ``Shadow``.
    var isHidden: Bool { attributes.payload(of: .shadow) != nil }

    mutating func setClock(_ clock: ItemClock) throws(VaultError) {
        attributes = attributes.setting(.clock, .data(try clock.bytes(of: id)))
    }

    /// - Parameter shadow: `nil` if the verbs see it.
    mutating func setShadow(_ shadow: Shadow?) {
        attributes =
            shadow.map { attributes.setting(.shadow, .integer($0.rawValue)) } ?? attributes.removing([.shadow])
    }

    /// Removes the clock, for the history or for continuing without the fleet.
    mutating func removeClock() { attributes = attributes.removing([.clock, .shadow]) }

    /// Visits the fields of the record except its life, with their bytes as other devices read them if they come from
    /// the record's attributes. Secrets come without bytes.
    ///
    /// - Parameter withBytes: `false` to visit all fields without bytes.
    func forEachField(withBytes: Bool = true, _ body: (FieldID, [UInt8]) -> Void) {
        guard let itemClass else { return }
        let key = Attribute.primaryKeyTags(of: itemClass)
        var keyBytes: [UInt8] = []
        var protectionBytes = withBytes ? [protection.number] : []
        let bytes = attributes.bytes.span
        attributes.forEach { tag, kind, payload in
            switch tag {
            case .user, .fields, .clock, .shadow, .conflict, .held, .deleted, Attribute.tombstone.tag: break
            case Attribute.accessControl.tag: if withBytes { protectionBytes.append(bytes.extracting(payload)) }
            case _ where key.contains(tag):
                if withBytes { keyBytes.append(bytes.extracting(payload.lowerBound - 7..<payload.upperBound)) }
            default:
                var value: [UInt8] = []
                if withBytes {
                    value.reserveCapacity(1 + payload.count)
                    value.append(kind)
                    value.append(bytes.extracting(payload))
                }
                body(.attribute(tag), value)
            }
        }
        EncodedAttributes.visitUser(bytes) { name, value in
            body(.userAttribute(name), withBytes ? bytes.array(value) : [])
        }
        body(.protection, protectionBytes)
        var createdBytes: [UInt8] = []
        if withBytes { createdBytes.append(integer: (created == 0 ? 0 : created).bitPattern) }
        body(.created, createdBytes)
        body(.primaryKey, keyBytes)
        guard hasValue else { return }
        body(.secret, [])
        for field in attributes.fields?.fields ?? [] { body(.namedSecret(field.name), []) }
    }

    /// The fields of the record and their bytes; empty for secrets.
    var replicatedFields: SortedMap<FieldID, [UInt8]> {
        var fields: SortedMap<FieldID, [UInt8]> = [:]
        forEachField { fields[$0] = $1 }
        return fields
    }
}

/// The reason for hiding an existing record from the verbs (tag 7001).
enum Shadow: Int64 {
    /// Another live item of the fleet, written later, has its primary key.
    case byTwin = 1
    /// The item was deleted in a way that leaves no tombstone for Apple's verbs; or an item of this device only has its
    /// key.
    case hereOnly = 2
}

extension Record {
    /// Whether the other devices of a fleet receive the item.
    var isPublished: Bool { itemClass != nil && !protection.isThisDeviceOnly }
}

extension ItemClock {
    /// - Parameter id: identifies the item in an error.
    func bytes(of id: ItemID?) throws(VaultError) -> [UInt8] {
        do throws(FormatError) { return try encoded() } catch {
            throw .storage(id.map { .damaged(.value($0)) } ?? .attributesTooLarge)
        }
    }
}
