// SPDX-License-Identifier: Apache-2.0

/// The state of an item as known to a device: the live values of every field, and the writes that were seen.
///
/// - Parameter Secret: a secret's bytes, or their range in a body.
@usableFromInline package struct ItemState<Secret> {
    /// The maximum number of simultaneous values of a field.
    package static var valueLimit: Int { 255 }

    /// A version-4 UUID.
    @usableFromInline package var id: ItemID
    @usableFromInline package var itemClass: ItemClass
    /// The greatest stamp seen of each log; covers the dots of all values.
    @usableFromInline package var context: SortedMap<LogID, UInt64>
    /// At least one value per field, each with the name of its write.
    @usableFromInline package var fields: SortedMap<FieldID, SortedMap<Dot, FieldValue<Secret>>>

    @inlinable package init(
        id: ItemID, itemClass: ItemClass, context: SortedMap<LogID, UInt64> = [:],
        fields: SortedMap<FieldID, SortedMap<Dot, FieldValue<Secret>>> = [:]
    ) {
        (self.id, self.itemClass, self.context, self.fields) = (id, itemClass, context, fields)
    }

    /// Whether the context covers a write: it was seen, and if its value is gone, that was replaced.
    @inlinable package func hasSeen(_ dot: Dot) -> Bool { dot.stamp <= context[dot.log] ?? 0 }

    /// Whether the state has the fields that every item requires.
    package var hasRequiredFields: Bool { FieldContent.required.allSatisfy { fields[$0] != nil } }

    /// The same state with other secrets.
    @inlinable package func map<T, E: Error>(_ body: (Secret) throws(E) -> T) throws(E) -> ItemState<T> {
        var mapped = ItemState<T>(id: id, itemClass: itemClass, context: context)
        mapped.fields = try fields.mapValues { values throws(E) in
            try values.mapValues { value throws(E) in try value.map(body) }
        }
        return mapped
    }
}

extension ItemState: Equatable where Secret: Equatable {}
extension ItemState: Sendable where Secret: Sendable {}
