// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

// What of a record other devices hear: its attributes, its times, its secrets, each a field of its own.

extension Record {
    /// What the writes of its fields are named; nil: other devices know nothing of the item.
    var clock: ItemClock? {
        guard let (_, range) = attributes.payload(of: .clock) else { return nil }
        return try? ItemClock(parsing: attributes.bytes.span.extracting(range))
    }

    var hasClock: Bool { attributes.payload(of: .clock) != nil }

    /// Whether the verbs see nothing of it: see ``Shadow``.
    var isHidden: Bool { attributes.payload(of: .shadow) != nil }

    mutating func setClock(_ clock: ItemClock) throws(VaultError) {
        attributes = attributes.setting(.clock, .data(try clock.bytes(of: id)))
    }

    /// - Parameter shadow: nil: the verbs see it.
    mutating func setShadow(_ shadow: Shadow?) {
        attributes =
            shadow.map { attributes.setting(.shadow, .integer($0.rawValue)) } ?? attributes.removing([.shadow])
    }

    /// As it is kept for the history, or goes on without the fleet.
    mutating func removeClock() { attributes = attributes.removing([.clock, .shadow]) }

    /// Visits the fields that it has, but its life, and where a value of the record's attributes is one, its bytes as
    /// other devices read them. The secrets come without.
    ///
    /// - Parameter withBytes: false: all come without.
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

    /// The fields that it has, and their bytes; the secrets' are empty.
    var replicatedFields: SortedMap<FieldID, [UInt8]> {
        var fields: SortedMap<FieldID, [UInt8]> = [:]
        forEachField { fields[$0] = $1 }
        return fields
    }
}

/// Why the verbs see nothing of a record that is there (tag 7001).
enum Shadow: Int64 {
    /// Another live item of the fleet has its primary key, which was written later.
    case byTwin = 1
    /// It was deleted, and Apple's verbs would know nothing of it; or an item of this device alone has its key.
    case hereOnly = 2
}

extension OwnLog {
    /// Whether other devices hear of the item.
    func publishes(_ record: Record) -> Bool {
        record.itemClass != nil && !record.protection.isThisDeviceOnly
            && (!onlySynchronizable || record.isSynchronizable)
    }
}

extension ItemClock {
    /// - Parameter id: of the item, for an error.
    func bytes(of id: ItemID?) throws(VaultError) -> [UInt8] {
        do throws(FormatError) { return try encoded() } catch {
            throw .storage(id.map { .damaged(.value($0)) } ?? .attributesTooLarge)
        }
    }
}
