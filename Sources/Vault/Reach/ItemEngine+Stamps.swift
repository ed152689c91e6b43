// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

// Every write of a vault that belongs to a fleet gets a name, a dot: the log of this device and a stamp. By the dots
// that a state has seen, and those it has, two devices find out what overwrote what.

/// What a write changed of an item.
enum Touched {
    case everything
    case fields(Set<FieldID>)
}

extension ItemEngine {
    /// Names the first write of an item.
    func stampFirst(_ parsed: inout ParsedItem) throws(VaultError) {
        guard let own = records.ownLog, own.publishes(parsed) else { return }
        parsed.values[.clock] = .data(try firstClock(own).bytes(of: nil))
    }

    func firstClock(_ own: OwnLog) -> ItemClock {
        let dot = LocalDot(number: own.number, stamp: records.nextStamp())
        var clock = ItemClock(base: dot, context: LocalContext())
        clock.own = dot.stamp
        clock.see(dot)
        return clock
    }

    /// Names a later one.
    ///
    /// - Parameter old: the record as it was, live or a tombstone.
    func stamp(_ new: inout Record, after old: Record, _ touched: Touched) throws(VaultError) {
        guard let own = records.ownLog, own.publishes(new) else {
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

    /// The fields in which two records differ, but for their secrets.
    func difference(_ old: Record, _ new: Record) -> Set<FieldID> {
        let (old, new) = (old.replicatedFields, new.replicatedFields)
        return Set(old.keys.filter { new[$0] != old[$0] }).union(new.keys.filter { old[$0] == nil })
    }

    // MARK: Items that others must hear the end of

    /// Deletes an item that other devices know: what it held stays until all of them have heard.
    ///
    /// - Parameter shadow: nil: a query for tombstones finds it.
    func bury(
        _ record: Record, _ shadow: Shadow?, in session: inout some RecordSession & ~Copyable
    ) throws(VaultError) {
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

    /// Deletes those of some items that other devices know.
    ///
    /// - Returns: how many were alive.
    func bury(
        _ ids: Set<ItemID>, in session: inout some RecordSession & ~Copyable
    ) throws(VaultError) -> Int {
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
    func isShared(_ id: ItemID) -> Bool {
        records.place(of: id).flatMap { records.record(at: $0) }?.hasClock ?? false
    }

    /// Keeps the verbs from seeing a tombstone that the fleet still needs.
    func hide(_ grave: Record, in session: inout some RecordSession & ~Copyable) throws(VaultError) {
        var hidden = grave
        hidden.version += 1
        hidden.setShadow(.hereOnly)
        _ = try session.stage(hidden, .none)
    }

    /// Live items with the same primary key that the verbs do not see.
    func shadowed(like record: Record) -> [Record] {
        guard records.ownLog != nil, let itemClass = record.itemClass else { return [] }
        let parsed = ParsedItem(
            itemClass: itemClass, protection: record.protection, values: record.attributes.values, user: [:])
        return known(like: parsed).filter { $0.id != record.id && $0.isHidden && !$0.isTombstone }
    }

    /// A primary key is free: of the items that were in the shadow of the one that had it, the one that was changed
    /// last has it now.
    func letOut(_ shadowed: [Record], in session: inout some RecordSession & ~Copyable) throws(VaultError) {
        guard !shadowed.isEmpty else { return }
        let logs = try records.logs()
        let next = shadowed.max { KeyRank($0, logs) < KeyRank($1, logs) }
        guard var next else { return }
        next.version += 1
        next.setShadow(nil)
        _ = try session.stage(next, .keep)
    }

    /// Names a write of an item that changes nothing else: of all with its primary key it is the newest, and has the
    /// key on every device.
    func giveKey(to record: Record, in session: inout some RecordSession & ~Copyable) throws(VaultError) {
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

    /// An item goes on here alone: the others see it deleted, and it gets another identifier.
    func leaveFleet(
        _ new: Record, after old: Record, _ value: ValueChange, in session: inout some RecordSession & ~Copyable
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

extension OwnLog {
    func publishes(_ parsed: ParsedItem) -> Bool {
        !parsed.protection.isThisDeviceOnly
            && (!onlySynchronizable || parsed.values[Attribute.synchronizable.tag] == .integer(1))
    }
}

/// Of live items with one primary key, the greatest has it: (stamp, log, item), the same on every device.
struct KeyRank: Comparable {
    let dot: Dot
    let id: ItemID

    init(_ record: Record, _ logs: LogNumbers) {
        self.init(record.clock?.greatestLife(logs), record.id)
    }

    init(_ dot: Dot?, _ id: ItemID) { (self.dot, self.id) = (dot ?? Dot(log: .zero, stamp: 0), id) }

    static func < (a: KeyRank, b: KeyRank) -> Bool { (a.dot, a.id) < (b.dot, b.id) }
}
