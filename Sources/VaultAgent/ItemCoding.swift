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

extension AttributeValue: FormedCases {
    // The engine refuses numbers that are not finite, like in a process of its own.
    package static let cases: [CaseForm<UInt8, Self>] = [
        .init(1, Self.string) { if case .string(let text) = $0 { text } else { nil } },
        .init(2, Self.data) { if case .data(let bytes) = $0 { bytes } else { nil } },
        .init(3, { .number(Int64(bitPattern: $0)) }) {
            if case .number(let number) = $0 { UInt64(bitPattern: number) } else { nil }
        },
        .init(4, { .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: $0))) }) {
            if case .date(let date) = $0 { date.timeIntervalSinceReferenceDate.bitPattern } else { nil }
        },
        .init(5, { .real(Double(bitPattern: $0)) }) { if case .real(let real) = $0 { real.bitPattern } else { nil } },
        .init(6, Self.bool) { if case .bool(let flag) = $0 { flag } else { nil } },
    ]
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

// The witnesses of a generic conformance are not specialized by themselves, and sorting and hashing take ten times as
// long in generic code: a vault has these dictionaries in each item.
extension Dictionary: MessageValue where Key: MessageKey, Value: MessageValue {
    @_specialize(where Key == Attribute, Value == AttributeValue)
    @_specialize(where Key == String, Value == String)
    @_specialize(where Key == String, Value == Secret)
    package func write(to writer: inout MessageWriter) {
        writer.put(UInt32(count))
        // A process that asks for one secret has none, and the first use of generic sorting costs 800,000 instructions.
        guard !isEmpty else { return }
        for (key, value) in sorted(by: { Key.precedes($0.key, $1.key) }) {
            writer.put(key)
            writer.put(value)
        }
    }

    @_specialize(where Key == Attribute, Value == AttributeValue)
    @_specialize(where Key == String, Value == String)
    @_specialize(where Key == String, Value == Secret)
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

extension Query.Limit: FormedCases {
    package static let cases: [CaseForm<UInt8, Self>] = [
        .init(0, .all), .init(1, .one),
        .init(2, { .count(Int(Int64(bitPattern: $0))) }) {
            if case .count(let count) = $0 { UInt64(bitPattern: Int64(count)) } else { nil }
        },
    ]
}

extension Query.FaceCondition: FormedCases {
    package static let cases: [CaseForm<UInt8, Self>] = [
        .init(1, Self.title) { if case .title(let title) = $0 { title } else { nil } },
        .init(2, Self.hosts) { if case .hosts(let hosts) = $0 { hosts } else { nil } },
        .init(3, Self.program) { if case .program(let wanted) = $0 { wanted } else { nil } },
    ]
}

extension ItemName: MessageValue, Formed {
    package static let form = MessageForm({ ItemName($0, account: $1, Rules(rawValue: $2), id: $3) }) {
        ($0.text, $0.account, $0.rules.rawValue, $0.id)
    }
}

extension Query: MessageValue, Formed {
    package static let form = MessageForm<Self>(checking: {
        var query = Query($0)
        (query.attributes, query.userAttributes, query.persistentReference, query.limit) = ($1, $2, $3, $4)
        (query.synchronizableAny, query.hostOrSubdomain, query.conditions, query.text) = ($5, $6, Set($7), $8)
        (query.returnsSecrets, query.leavesOutLocked, query.leavesTombstones, query.findsIdentities) = (
            $9, $10, $11, $12
        )
        // The client decides how to ask a person: an agent accepts a ticket or refuses.
        query.presence = $13 ? .leftOut : .refused
        (query.leavesKeysClosed, query.face, query.name) = ($14, $15, $16)
        return zip($7, $7.dropFirst()).allSatisfy { $0.rawValue < $1.rawValue } ? query : nil
    }) {
        (
            $0.itemClass, $0.attributes, $0.userAttributes, $0.persistentReference, $0.limit, $0.synchronizableAny,
            $0.hostOrSubdomain, $0.conditions.sorted { $0.rawValue < $1.rawValue }, $0.text, $0.returnsSecrets,
            $0.leavesOutLocked, $0.leavesTombstones, $0.findsIdentities, $0.presence == .leftOut, $0.leavesKeysClosed,
            $0.face, $0.name
        )
    }
}

extension ItemChanges: MessageValue, Formed {
    package static let form = MessageForm<Self>({ attributes, userAttributes, secret, version, fields, ifUnchanged in
        var changes = ItemChanges(attributes: attributes, userAttributes: userAttributes, secret: secret)
        (changes.version, changes.fields, changes.ifUnchanged) = (version, fields.names, ifUnchanged)
        return changes
    }) { ($0.attributes, $0.userAttributes, $0.secret, $0.version, SomeNames($0.fields), $0.ifUnchanged) }
}
