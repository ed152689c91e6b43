// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto

// Dictionaries are written in the order of their keys, and read only in that order: a message has one form.

extension MessageWriter {
    mutating func put(_ value: AttributeValue) {
        switch value {
        case .string(let text):
            put(1 as UInt8)
            put(text)
        case .data(let bytes):
            put(2 as UInt8)
            put(bytes)
        case .number(let number):
            put(3 as UInt8)
            put(UInt64(bitPattern: number))
        case .date(let date):
            put(4 as UInt8)
            put(date.timeIntervalSinceReferenceDate.bitPattern)
        case .real(let real):
            put(5 as UInt8)
            put(real.bitPattern)
        case .bool(let flag):
            put(6 as UInt8)
            put(flag)
        }
    }

    mutating func put(_ attributes: [Attribute: AttributeValue]) {
        putAll(attributes.sorted { $0.key.rawValue < $1.key.rawValue }) { writer, attribute in
            writer.put(attribute.key.rawValue)
            writer.put(attribute.value)
        }
    }

    private mutating func put<V>(names: [String: V], _ write: (inout MessageWriter, V) -> Void) {
        putAll(names.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) { writer, pair in
            writer.put(pair.key)
            write(&writer, pair.value)
        }
    }

    private mutating func put(_ flaw: VaultError?) { put(flaw) { $0.put($1) } }

    /// An item that somebody wants to store.
    mutating func put(new item: Item) {
        put(item.itemClass.rawValue)
        put(item.attributes)
        put(names: item.userAttributes) { $0.put($1) }
        put(item.secret) { $0.put($1) }
        put(item.flaw)
    }

    /// An item that is stored.
    mutating func put(_ item: StoredItem) {
        put(item.itemClass.rawValue)
        put(item.accessibility.rawValue)
        put(item.attributes)
        put(item.id)
        put(item.version)
        put(item.valueVersion)
        put(item.created)
        put(item.modified)
        put(item.hasSecret)
        put(item.secret) { $0.put($1) }
    }

    mutating func put(_ query: Query) {
        put(query.itemClass) { $0.put($1.rawValue) }
        put(query.attributes)
        put(names: query.userAttributes) { $0.put($1) }
        put(query.persistentReference) { $0.put($1) }
        put(query.limit) { writer, limit in
            switch limit {
            case .all: writer.put(0 as UInt8)
            case .one: writer.put(1 as UInt8)
            case .count(let count):
                writer.put(2 as UInt8)
                writer.put(UInt64(bitPattern: Int64(count)))
            }
        }
        put(query.synchronizableAny)
        put(query.hostOrSubdomain) { $0.put($1) }
        putAll(query.conditions.map(\.rawValue).sorted()) { $0.put($1) }
        put(query.text) { $0.put($1) }
        put(query.returnsSecrets)
        put(query.leavesOutLocked)
        put(query.leavesTombstones) { $0.put($1) }
        put(query.flaw)
    }

    mutating func put(_ changes: ItemChanges) {
        put(changes.attributes)
        put(names: changes.userAttributes) { writer, value in writer.put(value) { $0.put($1) } }
        put(changes.secret) { $0.put($1) }
        put(changes.version) { $0.put($1) }
        put(changes.flaw)
    }

    /// What of a record another side needs to ask for its secret.
    mutating func put(_ record: StoredItem.Key) {
        put(record.id)
        put(record.valueVersion)
    }
}

extension MessageReader {
    private mutating func attributeValue() throws(MessageError) -> AttributeValue {
        switch try integer(UInt8.self) {
        case 1: .string(try text())
        case 2: .data(try bytes())
        case 3: .number(Int64(bitPattern: try integer()))
        // What is not finite is the engine's to refuse, as it does in a process of its own.
        case 4: .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: try integer())))
        case 5: .real(Double(bitPattern: try integer()))
        case 6: .bool(try flag())
        default: throw .invalid
        }
    }

    mutating func attributes() throws(MessageError) -> [Attribute: AttributeValue] {
        var attributes: [Attribute: AttributeValue] = [:]
        var last: UInt16?
        for (attribute, value) in try all({ reader throws(MessageError) in
            guard let attribute = Attribute(rawValue: try reader.integer()) else { throw .invalid }
            return (attribute, try reader.attributeValue())
        }) {
            guard last.map({ $0 < attribute.rawValue }) ?? true else { throw .invalid }
            last = attribute.rawValue
            attributes[attribute] = value
        }
        return attributes
    }

    private mutating func names<V>(_ read: (inout MessageReader) throws(MessageError) -> V) throws(MessageError)
        -> [String: V]
    {
        var names: [String: V] = [:]
        var last: String?
        for (name, value) in try all({ reader throws(MessageError) in (try reader.text(), try read(&reader)) }) {
            guard last.map({ $0.utf8.lexicographicallyPrecedes(name.utf8) }) ?? true,
                names.updateValue(value, forKey: name) == nil
            else {
                throw .invalid
            }
            last = name
        }
        return names
    }

    private mutating func itemClass() throws(MessageError) -> ItemClass {
        guard let itemClass = ItemClass(rawValue: try text()) else { throw .invalid }
        return itemClass
    }

    /// What a door can find wrong with a request. What a store says of itself is no client's to say.
    private mutating func flaw() throws(MessageError) -> VaultError? {
        guard let flaw = try optional({ reader throws(MessageError) in try reader.error() }) else { return nil }
        switch flaw {
        case .parameter, .noSuchAttribute, .noSuchClass, .unimplemented, .accessGroupDenied: return flaw
        default: throw .invalid
        }
    }

    mutating func newItem() throws(MessageError) -> Item {
        var item = Item(
            ItemKey(try itemClass(), try attributes()),
            userAttributes: try names { reader throws(MessageError) in try reader.text() })
        item.secret = try optional { reader throws(MessageError) in try reader.secret() }
        item.flaw = try flaw()
        return item
    }

    mutating func storedItem() throws(MessageError) -> StoredItem {
        let itemClass = try itemClass()
        guard let accessibility = Accessibility(rawValue: try text()) else { throw .invalid }
        let item = StoredItem(
            itemClass: itemClass, accessibility: accessibility, attributes: try bytes(), id: try itemID(),
            version: try integer(),
            valueVersion: try integer(), created: try date(), modified: try date(), hasSecret: try flag(),
            secret: try optional { reader throws(MessageError) in try reader.secret() })
        guard item.isWellFormed else { throw .invalid }
        return item
    }

    private mutating func itemID() throws(MessageError) -> [UInt8] {
        let id = try bytes()
        guard id.count == 16 else { throw .invalid }
        return id
    }

    mutating func query() throws(MessageError) -> Query {
        var query = Query(try optional { reader throws(MessageError) in try reader.itemClass() })
        query.attributes = try attributes()
        query.userAttributes = try names { reader throws(MessageError) in try reader.text() }
        query.persistentReference = try optional { reader throws(MessageError) in try reader.bytes() }
        query.limit = try optional { reader throws(MessageError) in
            switch try reader.integer(UInt8.self) {
            case 0: return .all
            case 1: return .one
            case 2: return .count(Int(Int64(bitPattern: try reader.integer())))
            default: throw .invalid
            }
        }
        query.synchronizableAny = try flag()
        query.hostOrSubdomain = try optional { reader throws(MessageError) in try reader.text() }
        var last: UInt8?
        for number in try all({ reader throws(MessageError) in try reader.integer(UInt8.self) }) {
            guard let condition = Query.MatchCondition(rawValue: number), last.map({ $0 < number }) ?? true else {
                throw .invalid
            }
            last = number
            query.conditions.insert(condition)
        }
        query.text = try optional { reader throws(MessageError) in try reader.text() }
        query.returnsSecrets = try flag()
        query.leavesOutLocked = try flag()
        query.leavesTombstones = try optional { reader throws(MessageError) in try reader.flag() }
        query.flaw = try flaw()
        return query
    }

    mutating func changes() throws(MessageError) -> ItemChanges {
        var changes = ItemChanges(attributes: try attributes())
        changes.userAttributes = try names { reader throws(MessageError) in
            try reader.optional { reader throws(MessageError) in try reader.text() }
        }
        changes.secret = try optional { reader throws(MessageError) in try reader.secret() }
        changes.version = try optional { reader throws(MessageError) in try reader.integer() }
        changes.flaw = try flaw()
        return changes
    }

    mutating func recordKey() throws(MessageError) -> StoredItem.Key {
        StoredItem.Key(id: try itemID(), valueVersion: try integer())
    }
}
