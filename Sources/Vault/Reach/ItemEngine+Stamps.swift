// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

// Every write in a vault of a fleet is named by a dot: the log of this device and a stamp. From the dots that a state
// has seen and those it has, two devices determine which values were overwritten.

/// The fields of an item that a write changed.
enum Touched {
    case everything
    case fields(Set<FieldID>)
}

extension ItemEngine {
    /// Names the first write of an item.
    func stampFirst(_ parsed: inout ParsedItem) throws(VaultError) {
        guard let own = records.ownLog, !parsed.protection.isThisDeviceOnly else { return }
        parsed.values[.clock] = .data(try firstClock(own).bytes(of: nil))
    }

    func firstClock(_ own: OwnLog) -> ItemClock {
        let dot = LocalDot(number: own.number, stamp: records.nextStamp())
        var clock = ItemClock(base: dot, context: LocalContext())
        clock.own = dot.stamp
        clock.see(dot)
        return clock
    }

    /// Names a later write of an item.
    ///
    /// - Parameter old: the previous record, live or a tombstone.
    func stamp(_ new: inout Record, after old: Record, _ touched: Touched) throws(VaultError) {
        guard let own = records.ownLog, new.isPublished else {
            if new.hasClock { new.removeClock() }
            return
        }
        guard var clock = old.clock else { return try new.setClock(firstClock(own)) }
        let dot = LocalDot(number: own.number, stamp: records.nextStamp())
        let present = new.replicatedFields
        switch touched {
        case .everything:
            clock.base = dot
            clock.fields = [:]
        case .fields(let fields):
            for field in fields {
                clock.fields[field] = [ClockMark(dot: dot, mark: present[field] == nil ? .none : .here)]
            }
            clock.fields[.life] = [ClockMark(dot: dot, mark: .alive)]
        }
        clock.own = dot.stamp
        clock.erased = 0
        clock.see(dot)
        try new.setClock(clock)
        new.setShadow(nil)
    }

    /// The fields in which two records differ, except secrets.
    func difference(_ old: Record, _ new: Record) -> Set<FieldID> {
        let (old, new) = (old.replicatedFields, new.replicatedFields)
        return Set(old.keys.filter { new[$0] != old[$0] }).union(new.keys.filter { old[$0] == nil })
    }

    // MARK: Items whose deletion other devices must learn

    /// Deletes an item that other devices know: its contents stay until all of them know of the deletion.
    ///
    /// - Parameter shadow: `nil` if a query for tombstones finds it.
    func bury(_ record: Record, _ shadow: Shadow?, in session: inout WriteSession) throws(VaultError) {
        guard let own = records.ownLog, var clock = record.clock else { return }
        var held = record
        held.kind = .past
        held.version += 1
        held.removeClock()
        held.attributes = held.attributes.setting(.held, .integer(1))
        _ = try session.stage(held, .keep)
        let dot = LocalDot(number: own.number, stamp: records.nextStamp())
        clock.fields[.life] = [ClockMark(dot: dot, mark: .dead)]
        clock.own = dot.stamp
        clock.see(dot)
        var grave = tombstone(of: record)
        grave.version = held.version + 1
        try grave.setClock(clock)
        grave.setShadow(shadow)
        _ = try session.stage(grave, .none)
    }

    /// Deletes those of the items that other devices know.
    ///
    /// - Returns: how many were alive.
    func bury(_ ids: Set<ItemID>, in session: inout WriteSession) throws(VaultError) -> Int {
        guard records.ownLog != nil else { return 0 }
        var count = 0
        for id in ids.sorted() where isShared(id) {
            guard let record = records.place(of: id).flatMap({ records.record(at: $0) }), !record.isTombstone else {
                continue
            }
            try bury(record, .hereOnly, in: &session)
            count += 1
        }
        return count
    }

    /// Whether other devices know the item.
    func isShared(_ id: ItemID) -> Bool { records.place(of: id).flatMap { records.record(at: $0) }?.hasClock ?? false }

    /// Hides a tombstone, which the fleet still needs, from the verbs.
    func hide(_ grave: Record, in session: inout WriteSession) throws(VaultError) {
        var hidden = grave
        hidden.version += 1
        hidden.setShadow(.hereOnly)
        _ = try session.stage(hidden, .none)
    }

    /// Live items with the same primary key that are hidden from the verbs.
    func shadowed(like record: Record) -> [Record] {
        guard records.ownLog != nil, let itemClass = record.itemClass else { return [] }
        let parsed = ParsedItem(
            itemClass: itemClass, protection: record.protection, values: record.attributes.values, user: [:])
        return known(like: parsed).filter { $0.id != record.id && $0.isHidden && !$0.isTombstone }
    }

    /// Gives a freed primary key to one of the items that its previous owner hid: the one that was changed last.
    func letOut(_ shadowed: [Record], in session: inout WriteSession) throws(VaultError) {
        guard !shadowed.isEmpty else { return }
        let logs = try records.logs()
        let next = shadowed.max { KeyRank($0, logs) < KeyRank($1, logs) }
        guard var next else { return }
        next.version += 1
        next.setShadow(nil)
        _ = try session.stage(next, .keep)
    }

    /// Names a write of an item that changes nothing else: it becomes the newest of all with its primary key, and so
    /// has the key on every device.
    func giveKey(to record: Record, in session: inout WriteSession) throws(VaultError) {
        guard let own = records.ownLog, var clock = record.clock else { return }
        let dot = LocalDot(number: own.number, stamp: records.nextStamp())
        clock.fields[.life] = [ClockMark(dot: dot, mark: .alive)]
        clock.own = dot.stamp
        clock.see(dot)
        var holder = record
        holder.version += 1
        holder.modified = modificationDate(after: record)
        try holder.setClock(clock)
        holder.setShadow(nil)
        _ = try session.stage(holder, .keep)
    }

    /// Continues an item on this device only: other devices see it deleted, and it gets a new identifier.
    func leaveFleet(
        _ new: Record, after old: Record, _ value: ValueChange, in session: inout WriteSession
    ) throws(VaultError) -> Record {
        var value = value
        if case .keep = value, let secret = try records.value(of: old) { value = .set(secret) }
        try bury(old, .hereOnly, in: &session)
        var moved = new
        moved.id = session.makeItemID()
        moved.version = 1
        moved.removeClock()
        return try session.stage(moved, value)
    }
}

/// The order of live items with one primary key; the greatest (stamp, log, item) has the key, on every device.
struct KeyRank: Comparable {
    let dot: Dot
    let id: ItemID

    init(_ record: Record, _ logs: LogNumbers) { self.init(record.clock?.greatestLife(logs), record.id) }

    init(_ dot: Dot?, _ id: ItemID) { (self.dot, self.id) = (dot ?? Dot(log: .zero, stamp: 0), id) }

    static func < (a: KeyRank, b: KeyRank) -> Bool { (a.dot, a.id) < (b.dot, b.id) }
}
