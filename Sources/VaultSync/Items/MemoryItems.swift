// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

/// Items in memory: those of a fleet, while a device finds out what it has missed.
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
    package var newestStamp: UInt64 = 0
    private let random: any RandomSource

    package init(_ state: ReplicaState, random: any RandomSource) { (saved, self.random) = (state, random) }

    package func moment() -> (newest: UInt64, version: UInt64) { (newestStamp, version) }

    package func commit(_ change: ReplicaChange, _ state: ReplicaState) throws(SyncError) {
        if let watermark = change.watermark {
            let isOvertaken = watermark.isOvertaken(version: version) {
                look(for: ItemSelection(changedAfter: watermark.after)).selected
            }
            if isOvertaken { throw .overtaken }
        }
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
        for (id, own, stamp) in change.erased {
            guard var entry = items[id], self.own(entry.state) == own, !entry.state.isAlive else { continue }
            for (field, values) in entry.state.fields where field != .life {
                entry.state.fields[field] = values.mapValues { _ in .erased }
            }
            entry.erased = stamp
            items[id] = entry
        }
        for (id, own) in change.purged {
            guard let entry = items[id], self.own(entry.state) == own, !entry.state.isAlive else { continue }
            items[id] = nil
        }
        saved = state
    }

    private func own(_ state: ItemState<Secret>) -> UInt64 { state.context[saved.log] ?? 0 }

    package func look(for selection: ItemSelection) -> ItemLook {
        let meant = items.values.filter { entry in
            selection.all || own(entry.state) > selection.changedAfter || selection.also.contains(entry.state.id)
                || entry.state.context.contains { selection.touching.contains($0.key) }
        }
        return ItemLook(
            selected: meant.map { PendingItem(id: $0.state.id, own: own($0.state)) }, newest: newestStamp,
            version: version)
    }

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

    /// The live items, and the visible ones: among live items of one primary key, only one is visible.
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

    package func sum() -> (sum: UInt64, version: UInt64) {
        let (alive, visible) = view
        var sum = ItemSum()
        for id in alive {
            guard let state = items[id]?.state else { continue }
            if !visible.contains(id) { sum.add(id) }
            for (field, values) in state.fields {
                for (dot, value) in values { sum.add(id, field, dot, isErased: value.isErased) }
            }
        }
        return (sum.total, version)
    }

    package func begin(_ newLog: inout NewLog) throws(SyncError) {
        newLog.note(newest: newestStamp)
        var (after, theirs) = (items, newLog.fleet)
        for (id, entry) in items.sorted(by: { $0.key < $1.key }) {
            theirs[id] = nil
            let whole = entry.state
            switch newLog.fate(of: whole, newID: makeItemID, isSame: Secret.isSame, { $0 }) {
            case .stays: break
            case .gone: after[id] = nil
            case .becomes(let state, let told, let erased):
                after[id] = Entry(state: state, told: max(told, entry.told), erased: erased)
            case .moves(let moved):
                after[id] = newLog.remainder(of: whole) { $0 }.map { rest, entry in
                    Entry(state: rest, told: entry.told, erased: entry.erased)
                }
                after[moved.id] = Entry(state: moved)
            }
        }
        for (id, entry) in theirs { after[id] = entry }
        items = after
        saved = newLog.state
    }

    package func makeItemID() -> ItemID { ItemID(random: random.bytes(16)) }
}

extension Secret {
    static func isSame(_ a: Secret, _ b: Secret) -> Bool {
        a.withBytes { a in b.withBytes { b in isEqualInConstantTime(a, b) } }
    }
}
