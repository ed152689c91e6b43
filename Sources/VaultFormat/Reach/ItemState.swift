// SPDX-License-Identifier: Apache-2.0

/// All that a device knows of an item: the live values of every field, and what it has seen.
///
/// - Parameter Secret: a secret's bytes, or where they lie in a body.
public struct ItemState<Secret> {
    /// The greatest number of values that a field can have at once.
    public static var valueLimit: Int { 255 }

    /// A version-4 UUID.
    public var id: ItemID
    public var itemClass: ItemClass
    /// The greatest stamp seen of each log; it covers the dots of all values.
    public var context: SortedMap<LogID, UInt64>
    /// By field, one value or more, each with the name of its write.
    public var fields: SortedMap<FieldID, SortedMap<Dot, FieldValue<Secret>>>

    @inlinable public init(
        id: ItemID, itemClass: ItemClass, context: SortedMap<LogID, UInt64> = [:],
        fields: SortedMap<FieldID, SortedMap<Dot, FieldValue<Secret>>> = [:]
    ) {
        (self.id, self.itemClass, self.context, self.fields) = (id, itemClass, context, fields)
    }

    /// Whether the context covers a write: it was seen, and what has no value any more was replaced.
    @inlinable public func hasSeen(_ dot: Dot) -> Bool { dot.stamp <= context[dot.log] ?? 0 }

    /// Whether it has the fields without which there is no item.
    public var hasRequiredFields: Bool { FieldContent.required.allSatisfy { fields[$0] != nil } }

    /// The same state with other secrets.
    @inlinable public func map<T, E: Error>(_ body: (Secret) throws(E) -> T) throws(E) -> ItemState<T> {
        var mapped = ItemState<T>(id: id, itemClass: itemClass, context: context)
        mapped.fields = try fields.mapValues { values throws(E) in
            try values.mapValues { value throws(E) in try value.map(body) }
        }
        return mapped
    }
}

extension ItemState: Equatable where Secret: Equatable {}
extension ItemState: Sendable where Secret: Sendable {}
