// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// The join of two states of one item. Commutative, associative and idempotent: the order does not matter.
package enum Merge {
    /// - Returns: `nil` if the second state adds nothing to the first.
    package static func join<S>(_ a: ItemState<S>, _ b: ItemState<S>) -> ItemState<S>? {
        var joined = ItemState<S>(id: a.id, itemClass: a.itemClass, context: a.context)
        var isNew = false
        for (log, stamp) in b.context where stamp > joined.context[log] ?? 0 {
            joined.context[log] = stamp
            isNew = true
        }
        let (none, others): (SortedMap<Dot, FieldValue<S>>, _) = ([:], b.fields)
        for (field, mine) in a.fields {
            let values = join(mine, of: a, others[field] ?? none, of: b, &isNew)
            if !values.isEmpty { joined.fields[field] = values }
        }
        for (field, theirs) in others where a.fields[field] == nil {
            let values = join(none, of: a, theirs, of: b, &isNew)
            if !values.isEmpty { joined.fields[field] = values }
        }
        return isNew ? joined : nil
    }

    private static func join<S>(
        _ mine: SortedMap<Dot, FieldValue<S>>, of a: ItemState<S>, _ theirs: SortedMap<Dot, FieldValue<S>>,
        of b: ItemState<S>, _ isNew: inout Bool
    ) -> SortedMap<Dot, FieldValue<S>> {
        var values: SortedMap<Dot, FieldValue<S>> = [:]
        for (dot, value) in mine {
            if let other = theirs[dot] {
                values[dot] = value.isErased ? other : value
                if value.isErased, !other.isErased { isNew = true }
            } else if b.hasSeen(dot) {
                isNew = true
            } else {
                values[dot] = value
            }
        }
        for (dot, value) in theirs where mine[dot] == nil && !a.hasSeen(dot) {
            values[dot] = value
            isNew = true
        }
        return values
    }
}

extension ItemState {
    /// Whether the item has a live value 1 of the field `life`.
    package var isAlive: Bool { fields[.life]?.contains { $0.value.isLife } ?? false }

    /// The rank among items with one primary key: the verbs see the item of the greatest rank.
    package var rank: Dot { fields[.life]?.last?.key ?? Dot(log: .zero, stamp: 0) }

    /// The value that counts: that of the greatest stamp.
    package func winner(of field: FieldID) -> (dot: Dot, value: FieldValue<Secret>)? {
        fields[field]?.last { !$0.value.isErased }.map { ($0.key, $0.value) }
    }
}
