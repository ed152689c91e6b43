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
        case .string(let text): writer.put(case: 1, text)
        case .data(let bytes): writer.put(case: 2, bytes)
        case .number(let number): writer.put(case: 3, UInt64(bitPattern: number))
        case .date(let date): writer.put(case: 4, date)
        case .real(let real): writer.put(case: 5, real)
        case .bool(let flag): writer.put(case: 6, flag)
        }
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> AttributeValue {
        switch try reader.read(UInt8.self) {
        case 1: .string(try reader.read())
        case 2: .data(try reader.read())
        case 3: .number(Int64(bitPattern: try reader.read()))
        // The engine refuses values that are not finite, like in a process of its own.
        case 4: .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: try reader.read())))
        case 5: .real(Double(bitPattern: try reader.read()))
        case 6: .bool(try reader.read())
        default: throw .invalid
        }
    }
}

/// A key of a dictionary.
package protocol MessageKey: Hashable, MessageValue {
    static func precedes(_ a: Self, _ b: Self) -> Bool
}

extension String: MessageKey {
    package static func precedes(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }
}

extension Attribute: MessageKey {
    package static func precedes(_ a: Attribute, _ b: Attribute) -> Bool { a.rawValue < b.rawValue }
}

extension Dictionary: MessageValue where Key: MessageKey, Value: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(UInt32(count))
        for (key, value) in sorted(by: { Key.precedes($0.key, $1.key) }) {
            writer.put(key)
            writer.put(value)
        }
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> [Key: Value] {
        var values: [Key: Value] = [:]
        var last: Key?
        for _ in 0..<(try reader.count()) {
            let key: Key = try reader.read()
            guard last.map({ Key.precedes($0, key) }) ?? true,
                values.updateValue(try reader.read(), forKey: key) == nil
            else { throw .invalid }
            last = key
        }
        return values
    }
}

/// Names with values, after a byte that tells whether there are any.
private struct SomeNames<Value: MessageValue>: MessageValue {
    let names: [String: Value]

    init(_ names: [String: Value]) { self.names = names }

    func write(to writer: inout MessageWriter) { writer.put(names.isEmpty ? nil : names) }

    static func read(from reader: inout MessageReader) throws(MessageError) -> SomeNames {
        let names: [String: Value]? = try reader.read()
        guard names?.isEmpty != true else { throw .invalid }
        return SomeNames(names ?? [:])
    }
}

/// An item that a client stores.
extension Item: MessageValue, Formed {
    package static let form = MessageForm<Self>({ itemClass, attributes, userAttributes, secret, fields in
        var item = Item(ItemKey(itemClass, attributes), userAttributes: userAttributes)
        (item.secret, item.fields) = (secret, fields.names)
        return item
    }) { ($0.itemClass, $0.attributes, $0.userAttributes, $0.secret, SomeNames($0.fields)) }
}

/// A stored item.
extension StoredItem: MessageValue, Formed {
    package static let form = MessageForm<Self>(checking: {
        let item = StoredItem(
            itemClass: $0, accessibility: $1, attributes: $2, id: $3, version: $4, valueVersion: $5, created: $6,
            modified: $7, hasSecret: $8, secret: $9, fields: $10.names)
        return item.id.count == 16 && item.isWellFormed ? item : nil
    }) {
        (
            $0.itemClass, $0.accessibility, $0.attributes, $0.id, $0.version, $0.valueVersion, $0.created, $0.modified,
            $0.hasSecret, $0.secret, SomeNames($0.fields)
        )
    }
}

/// The part of a record by which a client requests its secret.
extension StoredItem.Key: MessageValue, Formed {
    package static let form = MessageForm<Self>(checking: { $0.count == 16 ? Self(id: $0, valueVersion: $1) : nil }) {
        ($0.id, $0.valueVersion)
    }
}

extension Query.Limit: MessageValue {
    package func write(to writer: inout MessageWriter) {
        switch self {
        case .all: writer.put(case: 0)
        case .one: writer.put(case: 1)
        case .count(let count): writer.put(case: 2, UInt64(bitPattern: Int64(count)))
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
        case .title(let title): writer.put(case: 1, title)
        case .hosts(let hosts): writer.put(case: 2, hosts)
        case .program(let wanted): writer.put(case: 3, wanted)
        }
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Query.FaceCondition {
        switch try reader.read(UInt8.self) {
        case 1: .title(try reader.read())
        case 2: .hosts(try reader.read())
        case 3: .program(try reader.read())
        default: throw .invalid
        }
    }
}

extension ItemName: MessageValue, Formed {
    package static let form = MessageForm({ ItemName($0, account: $1, Rules(rawValue: $2), id: $3) }) {
        ($0.text, $0.account, $0.rules.rawValue, $0.id)
    }
}

extension Query: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(itemClass)
        writer.put(attributes)
        writer.put(userAttributes)
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
        query.attributes = try reader.read()
        query.userAttributes = try reader.read()
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

extension ItemChanges: MessageValue, Formed {
    package static let form = MessageForm<Self>({ attributes, userAttributes, secret, version, fields, ifUnchanged in
        var changes = ItemChanges(attributes: attributes, userAttributes: userAttributes, secret: secret)
        (changes.version, changes.fields, changes.ifUnchanged) = (version, fields.names, ifUnchanged)
        return changes
    }) { ($0.attributes, $0.userAttributes, $0.secret, $0.version, SomeNames($0.fields), $0.ifUnchanged) }
}
