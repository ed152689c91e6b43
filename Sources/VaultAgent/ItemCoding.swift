// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
package import Vault
internal import VaultCrypto

// Dictionaries are written in the order of their keys, and accepted only in that order: a message has one form.

extension ItemClass: MessageValue {}
extension Accessibility: MessageValue {}
extension AgentClient.Purpose: MessageValue {}
extension Query.MatchCondition: MessageValue {}
extension ItemChanges.Unchanged: MessageValue {}

extension AttributeValue: MessageValue {
    package func write(to writer: inout MessageWriter) {
        switch self {
        case .string(let text):
            writer.put(1 as UInt8)
            writer.put(text)
        case .data(let bytes):
            writer.put(2 as UInt8)
            writer.put(bytes: bytes)
        case .number(let number):
            writer.put(3 as UInt8)
            writer.put(UInt64(bitPattern: number))
        case .date(let date):
            writer.put(4 as UInt8)
            writer.put(date)
        case .real(let real):
            writer.put(5 as UInt8)
            writer.put(real.bitPattern)
        case .bool(let flag):
            writer.put(6 as UInt8)
            writer.put(flag)
        }
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> AttributeValue {
        switch try reader.read(UInt8.self) {
        case 1: .string(try reader.read())
        case 2: .data(try reader.bytes())
        case 3: .number(Int64(bitPattern: try reader.read()))
        // The engine refuses values that are not finite, like in a process of its own.
        case 4: .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: try reader.read())))
        case 5: .real(Double(bitPattern: try reader.read()))
        case 6: .bool(try reader.read())
        default: throw .invalid
        }
    }
}

extension MessageWriter {
    fileprivate mutating func put(_ attributes: [Attribute: AttributeValue]) {
        put(UInt32(attributes.count))
        for (attribute, value) in attributes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            put(attribute.rawValue)
            put(value)
        }
    }

    mutating func put(names: [String: some MessageValue]) {
        put(UInt32(names.count))
        for (name, value) in names.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            put(name)
            put(value)
        }
    }

    fileprivate mutating func put(someNames names: [String: some MessageValue]) {
        put(!names.isEmpty)
        if !names.isEmpty { put(names: names) }
    }
}

extension MessageReader {
    fileprivate mutating func attributes() throws(MessageError) -> [Attribute: AttributeValue] {
        var attributes: [Attribute: AttributeValue] = [:]
        var last: UInt16?
        for _ in 0..<(try count()) {
            guard let attribute = Attribute(rawValue: try read()), last.map({ $0 < attribute.rawValue }) ?? true else {
                throw .invalid
            }
            last = attribute.rawValue
            attributes[attribute] = try read(AttributeValue.self)
        }
        return attributes
    }

    mutating func names<Value: MessageValue>() throws(MessageError) -> [String: Value] {
        var names: [String: Value] = [:]
        var last: String?
        for _ in 0..<(try count()) {
            let name: String = try read()
            guard last.map({ $0.utf8.lexicographicallyPrecedes(name.utf8) }) ?? true,
                names.updateValue(try read(), forKey: name) == nil
            else { throw .invalid }
            last = name
        }
        return names
    }

    fileprivate mutating func itemID() throws(MessageError) -> [UInt8] {
        let id = try bytes()
        guard id.count == 16 else { throw .invalid }
        return id
    }

    /// Reads names after a byte that tells whether there are any.
    fileprivate mutating func someNames<Value: MessageValue>() throws(MessageError) -> [String: Value] {
        guard try read(Bool.self) else { return [:] }
        let names: [String: Value] = try names()
        guard !names.isEmpty else { throw .invalid }
        return names
    }
}

/// An item that a client stores.
extension Item: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(itemClass)
        writer.put(attributes)
        writer.put(names: userAttributes)
        writer.put(secret)
        writer.put(someNames: fields)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Item {
        let key = ItemKey(try reader.read(), try reader.attributes())
        var item = Item(key, userAttributes: try reader.names())
        item.secret = try reader.read()
        item.fields = try reader.someNames()
        return item
    }
}

/// A stored item.
extension StoredItem: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(itemClass)
        writer.put(accessibility)
        writer.put(bytes: attributes)
        writer.put(bytes: id)
        writer.put(version)
        writer.put(valueVersion)
        writer.put(created)
        writer.put(modified)
        writer.put(hasSecret)
        writer.put(secret)
        writer.put(someNames: fields)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> StoredItem {
        let item = StoredItem(
            itemClass: try reader.read(), accessibility: try reader.read(), attributes: try reader.bytes(),
            id: try reader.itemID(), version: try reader.read(), valueVersion: try reader.read(),
            created: try reader.read(), modified: try reader.read(), hasSecret: try reader.read(),
            secret: try reader.read(), fields: try reader.someNames())
        guard item.isWellFormed else { throw .invalid }
        return item
    }
}

/// The part of a record by which a client requests its secret.
extension StoredItem.Key: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(bytes: id)
        writer.put(valueVersion)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> StoredItem.Key {
        StoredItem.Key(id: try reader.itemID(), valueVersion: try reader.read())
    }
}

extension Query.Limit: MessageValue {
    package func write(to writer: inout MessageWriter) {
        switch self {
        case .all: writer.put(0 as UInt8)
        case .one: writer.put(1 as UInt8)
        case .count(let count):
            writer.put(2 as UInt8)
            writer.put(UInt64(bitPattern: Int64(count)))
        }
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Query.Limit {
        switch try reader.read(UInt8.self) {
        case 0: .all
        case 1: .one
        case 2: .count(Int(Int64(bitPattern: try reader.read())))
        default: throw .invalid
        }
    }
}

extension Query.FaceCondition: MessageValue {
    package func write(to writer: inout MessageWriter) {
        switch self {
        case .title(let title):
            writer.put(1 as UInt8)
            writer.put(title)
        case .hosts(let hosts):
            writer.put(2 as UInt8)
            writer.put(hosts)
        case .program(let wanted):
            writer.put(3 as UInt8)
            writer.put(names: wanted)
        }
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Query.FaceCondition {
        switch try reader.read(UInt8.self) {
        case 1: .title(try reader.read())
        case 2: .hosts(try reader.read())
        case 3: .program(try reader.names())
        default: throw .invalid
        }
    }
}

extension ItemName: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(text)
        writer.put(account)
        writer.put(rules.rawValue)
        writer.put(id)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> ItemName {
        ItemName(
            try reader.read(), account: try reader.read(), Rules(rawValue: try reader.read()), id: try reader.read())
    }
}

extension Query: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(itemClass)
        writer.put(attributes)
        writer.put(names: userAttributes)
        writer.put(persistentReference)
        writer.put(limit)
        writer.put(synchronizableAny)
        writer.put(hostOrSubdomain)
        writer.put(conditions.sorted { $0.rawValue < $1.rawValue })
        writer.put(text)
        writer.put(returnsSecrets)
        writer.put(leavesOutLocked)
        writer.put(leavesTombstones)
        writer.put(findsIdentities)
        writer.put(presence == .leftOut)
        writer.put(leavesKeysClosed)
        writer.put(face)
        writer.put(name)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Query {
        var query = Query(try reader.read(ItemClass?.self))
        query.attributes = try reader.attributes()
        query.userAttributes = try reader.names()
        query.persistentReference = try reader.read()
        query.limit = try reader.read()
        query.synchronizableAny = try reader.read()
        query.hostOrSubdomain = try reader.read()
        let conditions = try reader.read([MatchCondition].self)
        guard zip(conditions, conditions.dropFirst()).allSatisfy({ $0.rawValue < $1.rawValue }) else { throw .invalid }
        query.conditions = Set(conditions)
        query.text = try reader.read()
        query.returnsSecrets = try reader.read()
        query.leavesOutLocked = try reader.read()
        query.leavesTombstones = try reader.read()
        query.findsIdentities = try reader.read()
        // The client decides how to ask a person: an agent accepts a ticket or refuses.
        query.presence = try reader.read() ? .leftOut : .refused
        query.leavesKeysClosed = try reader.read()
        query.face = try reader.read()
        query.name = try reader.read()
        return query
    }
}

extension ItemChanges: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(attributes)
        writer.put(names: userAttributes)
        writer.put(secret)
        writer.put(version)
        writer.put(someNames: fields)
        writer.put(ifUnchanged)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> ItemChanges {
        var changes = ItemChanges(attributes: try reader.attributes())
        changes.userAttributes = try reader.names()
        changes.secret = try reader.read()
        changes.version = try reader.read()
        changes.fields = try reader.someNames()
        changes.ifUnchanged = try reader.read()
        return changes
    }
}
