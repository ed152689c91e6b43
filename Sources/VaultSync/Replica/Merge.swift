// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// Joins what two devices know of one item. Commutative, associative and idempotent: no order is needed.
package enum Merge {
    /// - Returns: nil: the second told nothing that the first does not know.
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
    /// One live 1 keeps the item.
    package var isAlive: Bool { fields[.life]?.contains { $0.value.isLife } ?? false }

    /// Of items with one primary key the greatest is seen by the verbs.
    package var rank: Dot { fields[.life]?.last?.key ?? Dot(log: .zero, stamp: 0) }

    /// The value that counts: of the greatest stamp.
    package func winner(of field: FieldID) -> (dot: Dot, value: FieldValue<Secret>)? {
        fields[field]?.last { !$0.value.isErased }.map { ($0.key, $0.value) }
    }
}
