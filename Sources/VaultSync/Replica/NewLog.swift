// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

/// The change of a file to a new log, so that no dot ever names two values. A copied or restored file needs one, and a
/// file whose log is no longer whole.
///
/// Decides the fate of each item of the file. No item is lost because of missing records: an item that no available
/// record names is gone only if every device that wrote it has declared, by the base of its log, that everything alive
/// was published again after that base.
package struct NewLog {
    /// The reason for the new log.
    enum Reason {
        /// The file is a copy or was restored: its log has continued without it, or was closed.
        case copied
        /// Neither the mirror nor the remote has the whole own log. The file has all items that the log published.
        case lost
    }

    let reason: Reason
    let old: LogID
    /// The stamp up to which this file's own writes are in valid or acknowledged records.
    let told: UInt64
    /// Whether the file still has to vouch for items of ended logs.
    let vouches: Bool
    /// The fleet's items according to the available records.
    let fleet: [ItemID: MemoryItems.Entry]
    /// The logs according to the available records.
    private let logs: [LogID: LogState]
    /// The member's state under its new log.
    package private(set) var state: ReplicaState
    private let wall: UInt64
    /// The number of items that continue under another identifier.
    private(set) var movedItems = 0

    init(
        _ reason: Reason, old: ReplicaState, told: UInt64, fleet: [ItemID: MemoryItems.Entry], _ state: ReplicaState,
        wall: UInt64
    ) {
        (self.reason, self.old, self.told, self.fleet) = (reason, old.log, told, fleet)
        (vouches, logs, self.state, self.wall) = (old.retellsEnded, state.logs, state, wall)
        self.state.clock = max(state.clock, old.clock)
        // No other source has the rest of the abandoned log.
        if reason == .lost { self.state.retellsAll = true }
    }

    /// The fate of an item of the file.
    package enum Fate<S> {
        /// The file has everything of the item.
        case stays
        /// The fleet has forgotten the item, with a valid reason.
        case gone
        case becomes(ItemState<S>, told: UInt64, erased: UInt64)
        /// The fleet has deleted an item that was changed here: the change continues as another item.
        case moves(to: ItemState<S>)
    }

    /// - Parameters:
    ///   - whole: the item's current state in the file.
    ///   - newID: makes the identifier of an item that continues as another one.
    ///   - convert: converts a secret of the fleet into the type of the file's secrets.
    package mutating func fate<S>(
        of whole: ItemState<S>, newID: () -> ItemID, isSame: (S, S) -> Bool, _ convert: (Secret) -> S
    ) -> Fate<S> {
        let (known, pending) = divided(whole)
        guard let entry = fleet[whole.id] else {
            if isGone(known) {
                return pending.isEmpty || !whole.isAlive ? .gone : .moves(to: moved(whole, pending, newID()))
            }
            state.retellsAll = true
            return pending.isEmpty ? .stays : .becomes(renaming(pending, in: known, isSame), told: 0, erased: 0)
        }
        let theirs = entry.state.map(convert)
        if pending.isEmpty {
            return Merge.join(whole, theirs).map { .becomes($0, told: entry.told, erased: entry.erased) } ?? .stays
        }
        guard theirs.isAlive else {
            return whole.isAlive
                ? .moves(to: moved(whole, pending, newID()))
                : .becomes(joined(theirs, known), told: entry.told, erased: entry.erased)
        }
        // The pending write may be the only value of a field: the fields are complete only with it. What the file has
        // seen stays seen, a published write of its own whose record is lost included: another device may have it.
        let changed = renaming(pending, in: Merge.join(theirs, known) ?? theirs, isSame)
        let result = changed.hasRequiredFields ? changed : renaming(pending, in: theirs, isSame)
        return .becomes(result, told: entry.told, erased: 0)
    }

    /// Returns the item under its own identifier, after its local change has moved to another one; `nil` if it is gone.
    package func remainder<S>(of whole: ItemState<S>, _ convert: (Secret) -> S) -> (ItemState<S>, MemoryItems.Entry)? {
        guard let entry = fleet[whole.id] else { return nil }
        let theirs = entry.state.map(convert)
        return (joined(theirs, divided(whole).known), entry)
    }

    /// Joins the fleet's state with the published part of the file's. A local change replaces values of the file, but
    /// says nothing about the fleet's values: an item without any value left keeps the fleet's.
    private func joined<S>(_ theirs: ItemState<S>, _ known: ItemState<S>) -> ItemState<S> {
        guard let joined = Merge.join(theirs, known), joined.hasRequiredFields else { return theirs }
        return joined
    }

    /// Divides an item into the published part and the own unpublished writes, whose dots may be those of others'
    /// writes.
    private func divided<S>(_ whole: ItemState<S>) -> (known: ItemState<S>, pending: PendingFields<S>) {
        guard whole.context[old] ?? 0 > told else { return (whole, [:]) }
        var (known, pending): (ItemState<S>, PendingFields<S>) = (whole, [:])
        known.context[old] = told == 0 ? nil : told
        for (field, values) in whole.fields {
            let fresh = values.filter { $0.key.log == old && $0.key.stamp > told }
            guard !fresh.isEmpty else { continue }
            pending[field] = fresh
            let rest = values.filter { fresh[$0.key] == nil }
            known.fields[field] = rest.isEmpty ? nil : rest
        }
        return (known, pending)
    }

    private typealias PendingFields<S> = SortedMap<FieldID, SortedMap<Dot, FieldValue<S>>>

    /// Joins pending writes under the new log's name, each with its stamp.
    private func renaming<S>(
        _ pending: PendingFields<S>, in item: ItemState<S>, _ isSame: (S, S) -> Bool
    ) -> ItemState<S> {
        var item = item
        for (field, values) in pending {
            for (dot, value) in values {
                // The value is already there: an entry published it that the file no longer knows.
                if let there = item.fields[field]?[dot], there.isSame(as: value, isSame) { continue }
                let fresh = Dot(log: state.log, stamp: dot.stamp)
                item.fields[field, default: [:]][fresh] = value
                item.context[state.log] = max(item.context[state.log] ?? 0, fresh.stamp)
            }
        }
        return item
    }

    /// Whether an item that no available record names was forgotten with a valid reason: the records of each of its
    /// writes precede a base, and a log's device publishes again what is alive before it declares the base.
    private func isGone<S>(_ known: ItemState<S>) -> Bool {
        !known.context.isEmpty && known.context.allSatisfy { isBehindBase(Dot(log: $0.key, stamp: $0.value)) }
    }

    private func isBehindBase(_ write: Dot) -> Bool {
        guard let log = logs[write.log] else { return false }
        // A log that has ended and begins beyond its end: everything alive in it was published again. But if this
        // device did that, its records may be lost or still to be written.
        if let end = log.end, log.base > end { return reason == .copied && !vouches }
        return log.base > 1 && log.first.map { write.stamp < $0.hlc } ?? false
    }

    /// Moves a local change to a new item. The change wins over the fleet's values from before the deletion.
    private mutating func moved<S>(_ whole: ItemState<S>, _ pending: PendingFields<S>, _ id: ItemID) -> ItemState<S> {
        state.clock = max(state.clock + 1, wall)
        let dot = Dot(log: state.log, stamp: state.clock)
        var moved = ItemState<S>(id: id, itemClass: whole.itemClass, context: [dot.log: dot.stamp])
        for (field, values) in whole.fields where field != .life {
            let own = pending[field]?.last { !$0.value.isErased }?.value
            guard let winner = own ?? values.last(where: { !$0.value.isErased })?.value else { continue }
            if case .none = winner { continue }
            moved.fields[field] = [dot: winner]
        }
        moved.fields[.life] = [dot: .plain([1])]
        movedItems += 1
        return moved
    }

    /// Advances the clock to the newest stamp of the transaction: other writes may commit while records are read.
    package mutating func note(newest: UInt64) { state.clock = max(state.clock, newest) }
}

extension FieldValue {
    fileprivate func isSame(as other: FieldValue, _ isSame: (Secret, Secret) -> Bool) -> Bool {
        switch (self, other) {
        case (.none, .none): true
        case (.plain(let a), .plain(let b)): a == b
        case (.secret(let a), .secret(let b)): isSame(a, b)
        default: false
        }
    }
}
