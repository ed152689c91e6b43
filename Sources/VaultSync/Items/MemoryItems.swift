// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

/// Items in memory alone: those of a fleet, while a device finds out what it has missed.
package final class MemoryItems: ReplicaItems {
    package struct Entry {
        package var state: ItemState<Secret>
        package var told: UInt64
        package var erased: UInt64

        package init(state: ItemState<Secret>, told: UInt64 = 0, erased: UInt64 = 0) {
            (self.state, self.told, self.erased) = (state, told, erased)
        }
    }

    package var items: [ItemID: Entry] = [:] { didSet { version += 1 } }
    package private(set) var version: UInt64 = 0
    package private(set) var saved: ReplicaState
    package var wallStamp: UInt64
    package var newestStamp: UInt64 = 0
    private let random: any RandomSource

    package init(_ state: ReplicaState, wallStamp: UInt64, random: any RandomSource) {
        (saved, self.wallStamp, self.random) = (state, wallStamp, random)
    }

    package func commit(_ change: ReplicaChange, _ state: ReplicaState) throws(SyncError) {
        for (told, stamp) in change.told {
            if let mine = items[told.id] {
                if let joined = Merge.join(mine.state, told) {
                    items[told.id] = Entry(state: joined, told: max(mine.told, stamp))
                } else {
                    items[told.id]?.told = max(mine.told, stamp)
                }
            } else {
                items[told.id] = Entry(state: told, told: stamp)
            }
        }
        for (id, stamp) in change.published {
            guard let told = items[id]?.told, told < stamp else { continue }
            items[id]?.told = stamp
        }
        for (id, stamp) in change.erased {
            guard var entry = items[id] else { continue }
            for (field, values) in entry.state.fields where field != .life {
                entry.state.fields[field] = values.mapValues { _ in .erased }
            }
            entry.erased = stamp
            items[id] = entry
        }
        for id in change.purged { items[id] = nil }
        saved = state
    }

    private func own(_ state: ItemState<Secret>) -> UInt64 { state.context[saved.log] ?? 0 }

    package func pending(after stamp: UInt64) -> [(id: ItemID, own: UInt64)] { all().filter { $0.own > stamp } }

    package func touching(_ logs: Set<LogID>) -> [(id: ItemID, own: UInt64)] {
        items.values.filter { !logs.isDisjoint(with: $0.state.context.keys) }.map { ($0.state.id, own($0.state)) }
    }

    package func all() -> [(id: ItemID, own: UInt64)] { items.values.map { ($0.state.id, own($0.state)) } }

    package func deleted() -> [DeletedItem] {
        items.values.filter { !$0.state.isAlive }.map {
            DeletedItem(id: $0.state.id, own: own($0.state), told: $0.told, erased: $0.erased)
        }
    }

    package func forEachState(
        of ids: [ItemID], _ body: (ItemState<Secret>) throws(SyncError) -> Void
    ) throws(SyncError) {
        for id in ids { if let state = items[id]?.state { try body(state) } }
    }

    /// The live items, and of those with one primary key the one that is seen.
    package var view: (alive: Set<ItemID>, visible: Set<ItemID>) {
        var holders: [[UInt8]: (Dot, ItemID)] = [:]
        var alive: Set<ItemID> = []
        for (id, entry) in items where entry.state.isAlive {
            alive.insert(id)
            let key = [entry.state.itemClass.number] + (entry.state.winner(of: .primaryKey)?.value.plainBytes ?? [])
            let rank = (entry.state.rank, id)
            if let holder = holders[key], rank < holder { continue }
            holders[key] = rank
        }
        return (alive, Set(holders.values.map(\.1)))
    }

    package func sum() -> UInt64 {
        let (alive, visible) = view
        var sum: UInt64 = 0
        for id in alive {
            guard let state = items[id]?.state else { continue }
            if !visible.contains(id) { sum &+= Sums.word(id) }
            for (field, values) in state.fields {
                for (dot, value) in values { sum &+= Sums.word(id, field, dot, isErased: value.isErased) }
            }
        }
        return sum
    }

    package func rebuild(
        _ states: [(state: ItemState<Secret>, told: UInt64, erased: UInt64)], _ state: ReplicaState
    ) {
        items = [:]
        for (state, told, erased) in states { items[state.id] = Entry(state: state, told: told, erased: erased) }
        saved = state
    }

    package func makeItemID() -> ItemID { ItemID(random: random.bytes(16)) }
}
