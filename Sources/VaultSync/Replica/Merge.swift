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
        for field in Set(a.fields.keys).union(b.fields.keys) {
            let (mine, others) = (a.fields[field] ?? [:], b.fields[field] ?? [:])
            var values: [Dot: FieldValue<S>] = [:]
            for (dot, value) in mine {
                if let other = others[dot] {
                    values[dot] = value.isErased ? other : value
                    if value.isErased, !other.isErased { isNew = true }
                } else if !b.hasSeen(dot) {
                    values[dot] = value
                } else {
                    isNew = true
                }
            }
            for (dot, value) in others where mine[dot] == nil && !a.hasSeen(dot) {
                values[dot] = value
                isNew = true
            }
            if !values.isEmpty { joined.fields[field] = values }
        }
        return isNew ? joined : nil
    }
}

extension FieldValue {
    package var isErased: Bool { if case .erased = self { true } else { false } }

    package var plainBytes: [UInt8]? { if case .plain(let bytes) = self { bytes } else { nil } }
}

extension ItemState {
    /// One live 1 keeps the item.
    package var isAlive: Bool { fields[.life]?.values.contains { $0.plainBytes == [1] } ?? false }

    /// Of items with one primary key the greatest is seen by the verbs.
    package var rank: Dot { fields[.life]?.keys.max() ?? Dot(log: .zero, stamp: 0) }

    /// The value that counts: of the greatest stamp.
    package func winner(of field: FieldID) -> (dot: Dot, value: FieldValue<Secret>)? {
        let live = (fields[field] ?? [:]).filter { !$0.value.isErased }
        return live.max { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
