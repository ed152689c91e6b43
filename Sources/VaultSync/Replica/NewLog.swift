// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

/// A file that goes on under another log, so that no dot ever names two values: a copy, a file that was put back, or
/// one whose log is not whole any more.
///
/// Decides what becomes of each item of the file. No item leaves the file because records are missing: an item that no
/// record in hand names is gone only if every device that wrote it has said, by the base of its log, that everything
/// alive was told again behind that base.
package struct NewLog {
    /// Why the file goes on under another log.
    enum Reason {
        /// The file is a copy, or was put back: its log went on without it, or was closed.
        case copied
        /// The own log is neither in the mirror nor at the remote as a whole. The file has all that it told.
        case lost
    }

    let reason: Reason
    let old: LogID
    /// The stamp up to which this file's own writes are in records that count, or were acknowledged.
    let told: UInt64
    /// Whether the file is yet to vouch for items of logs that have ended.
    let vouches: Bool
    /// The fleet's items, as the records in hand have them.
    let fleet: [ItemID: MemoryItems.Entry]
    /// The logs, as the records in hand have them.
    private let logs: [LogID: LogState]
    /// What the member knows under its new log.
    package private(set) var state: ReplicaState
    private let wall: UInt64
    /// Items that go on under another identifier.
    private(set) var movedItems = 0

    init(
        _ reason: Reason, old: ReplicaState, told: UInt64, fleet: [ItemID: MemoryItems.Entry], _ state: ReplicaState,
        wall: UInt64
    ) {
        (self.reason, self.old, self.told, self.fleet) = (reason, old.log, told, fleet)
        (vouches, logs, self.state, self.wall) = (old.retellsEnded, state.logs, state, wall)
        self.state.clock = max(state.clock, old.clock)
        // Nothing else of the log that is left could be had from anywhere.
        if reason == .lost { self.state.retellsAll = true }
    }

    /// What becomes of an item of the file.
    package enum Fate<S> {
        /// The file has all of it.
        case stays
        /// The fleet has forgotten it, and with cause.
        case gone
        case becomes(ItemState<S>, told: UInt64, erased: UInt64)
        /// The fleet has deleted what was changed here: the change goes on as another item.
        case moves(to: ItemState<S>)
    }

    /// - Parameters:
    ///   - whole: the item as the file has it now.
    ///   - newID: makes the identifier of an item that goes on as another one.
    ///   - convert: makes a secret of the fleet's what the file's items have.
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
        let joined = joined(theirs, known)
        if theirs.isAlive { return .becomes(renaming(pending, in: joined, isSame), told: entry.told, erased: 0) }
        return whole.isAlive
            ? .moves(to: moved(whole, pending, newID())) : .becomes(joined, told: entry.told, erased: entry.erased)
    }

    /// The item under its own identifier, once what was changed here goes on under another one; nil: it is gone.
    package func remainder<S>(of whole: ItemState<S>, _ convert: (Secret) -> S) -> (ItemState<S>, MemoryItems.Entry)? {
        guard let entry = fleet[whole.id] else { return nil }
        let theirs = entry.state.map(convert)
        return (joined(theirs, divided(whole).known), entry)
    }

    /// A change made here replaces values of the file, and says nothing about the fleet's values: an item that has no
    /// value left after that keeps the fleet's.
    private func joined<S>(_ theirs: ItemState<S>, _ known: ItemState<S>) -> ItemState<S> {
        guard let joined = Merge.join(theirs, known), joined.hasRequiredFields else { return theirs }
        return joined
    }

    /// Parts an item into what is told, and the own writes that are not, which may have the names of others' writes.
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
                // An entry told it that the file does not know of any more.
                if let there = item.fields[field]?[dot], there.isSame(as: value, isSame) { continue }
                let fresh = Dot(log: state.log, stamp: dot.stamp)
                item.fields[field, default: [:]][fresh] = value
                item.context[state.log] = max(item.context[state.log] ?? 0, fresh.stamp)
            }
        }
        return item
    }

    /// Whether an item that no record in hand names was forgotten with cause: the records of each of its writes are
    /// behind a base, and a log's device tells again what lives before it says the base.
    private func isGone<S>(_ known: ItemState<S>) -> Bool {
        !known.context.isEmpty && known.context.allSatisfy { isBehindBase(Dot(log: $0.key, stamp: $0.value)) }
    }

    private func isBehindBase(_ write: Dot) -> Bool {
        guard let log = logs[write.log] else { return false }
        // Of a log that has ended, and begins behind its end, everything alive was told again: by this device, too, in
        // records that may be lost, or that it has yet to write.
        if let end = log.end, log.base > end { return reason == .copied && !vouches }
        return log.base > 1 && log.first.map { write.stamp < $0.hlc } ?? false
    }

    /// A change made here counts, whatever value the fleet gave the same field before it deleted the item.
    private mutating func moved<S>(
        _ whole: ItemState<S>, _ pending: PendingFields<S>, _ id: ItemID
    ) -> ItemState<S> {
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

    /// Takes the newest stamp of the transaction: verbs go on while records are read.
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
