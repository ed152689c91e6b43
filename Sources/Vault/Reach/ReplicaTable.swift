// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat
package import VaultStorage

/// The items of a vault as seen by replication. Lent while the vault is held.
package struct ReplicaTable {
    let engine: ItemEngine

    private var store: VaultStore { engine.records }

    package var ownLog: OwnLog? { store.ownLog }
    package var newestStamp: UInt64 { store.newestStamp }
    /// Seconds since 2001-01-01T00:00:00Z.
    package var now: Double { store.now }
    package var isLocked: Bool { store.isLocked }
    package var sequence: UInt64 { store.sequence }
    package var isReplicated: Bool { store.header.isReplicated }

    package func logs() throws(VaultError) -> LogNumbers { try store.logs() }

    // MARK: Own records

    /// The vault's own records of one kind: the texts and the value of each.
    package func ownRecords(_ kind: OwnRecord) throws(VaultError) -> [(says: [String: String], value: Secret?)] {
        var found: [([String: String], Secret?)] = []
        for record in store.ownRecords(of: kind) {
            // A record of another device is in a copy of its file, and this device cannot act as that one.
            if record.protection.isThisDeviceOnly, try store.isAbsentHere(record) { continue }
            found.append((record.attributes.user, try store.value(of: record)))
        }
        return found
    }

    // MARK: Items

    /// A summary of a live item or a tombstone, for a scan of all items.
    package struct Brief {
        package let id: ItemID
        package let clock: ItemClock
        package let isTombstone: Bool
        /// Whether another item of the fleet has its primary key.
        package let isShadowed: Bool
        let record: Record

        /// Visits the marks of the fields of a live item.
        package func forEachMark(_ body: (FieldID, ClockMark) -> Void) {
            func visit(_ field: FieldID) { for mark in clock.marks(of: field) { body(field, mark) } }
            var others = clock.fields
            record.forEachField(withBytes: false) { field, _ in
                visit(field)
                others[field] = nil
            }
            visit(.life)
            others[.life] = nil
            for field in others.keys { visit(field) }
        }
    }

    /// Visits every item that other devices know.
    package func forEachBrief<E: Error>(_ body: (Brief) throws(E) -> Void) throws(E) {
        for place in 0..<store.recordEnd {
            guard let record = store.record(at: place), record.itemClass != nil, let clock = record.clock else {
                continue
            }
            try body(
                Brief(
                    id: record.id, clock: clock, isTombstone: record.isTombstone,
                    isShadowed: record.shadow == .byTwin, record: record))
        }
    }

    /// Whether an item requires user presence each time it is read.
    package var hasItemsForPersons: Bool {
        (0..<store.recordEnd).contains { place in
            guard let record = store.record(at: place), !record.isTombstone else { return false }
            return record.asksForPresence
        }
    }

    /// Items to publish that have no clock yet; empty for a vault that belongs to no fleet.
    package var unstamped: [ItemID] {
        guard ownLog != nil else { return [] }
        return (0..<store.recordEnd).compactMap { place in
            guard let record = store.record(at: place), record.isPublished, !record.hasClock, !record.isTombstone
            else { return nil }
            return record.id
        }
    }

    package func brief(of id: ItemID) -> Brief? {
        guard let record = record(of: id), let clock = record.clock else { return nil }
        return Brief(
            id: id, clock: clock, isTombstone: record.isTombstone, isShadowed: record.shadow == .byTwin, record: record)
    }

    func record(of id: ItemID) -> Record? { store.place(of: id).flatMap { store.record(at: $0) } }

    /// The state of an item.
    package func state(of id: ItemID, _ logs: LogNumbers) throws(VaultError) -> ItemState<ReplicaSecret>? {
        guard let record = record(of: id) else { return nil }
        return try engine.state(of: record, logs)
    }

    package func openState(of id: ItemID, _ logs: LogNumbers) throws(VaultError) -> ItemState<Secret>? {
        guard let record = record(of: id) else { return nil }
        return try engine.openState(of: record, logs)
    }

    package func open(_ secret: ReplicaSecret) throws(VaultError) -> Secret { try engine.open(secret) }

    /// Whether two secrets are equal; a secret that does not open equals none.
    package func isSame(_ a: ReplicaSecret, _ b: ReplicaSecret) -> Bool {
        guard let a = try? open(a), let b = try? open(b) else { return false }
        return a.withBytes { a in b.withBytes { b in isEqualInConstantTime(a, b) } }
    }
}

/// Changes of a vault's items by replication: all of them become durable together, or none.
package struct ReplicaChanges: ~Copyable {
    package let table: ReplicaTable
    private var session: WriteSession

    init(_ engine: ItemEngine, _ session: consuming WriteSession) {
        table = ReplicaTable(engine: engine)
        self.session = session
    }

    consuming func end() -> WriteSession { session }

    private var store: VaultStore { table.engine.records }

    /// Replaces the records of items by states.
    ///
    /// - Parameters:
    ///   - fresh: states of items that the vault does not have.
    ///   - joined: states already joined with that of the vault.
    package mutating func put(
        _ fresh: [(state: ItemState<Secret>, told: UInt64, erased: UInt64)],
        _ joined: [(state: ItemState<ReplicaSecret>, told: UInt64, erased: UInt64)], _ own: OwnLog,
        _ logs: inout LogNumbers
    ) throws(VaultError) {
        var touched: [Record] = []
        touched.reserveCapacity(fresh.count + joined.count)
        let items = Parallel.map(fresh.count, atLeast: 64) { JoinedItem(fresh[$0].state) }
        for (item, entry) in zip(items, fresh) { try put(item, entry.told, entry.erased, own, &logs, &touched) }
        for (state, told, erased) in joined { try put(JoinedItem(state), told, erased, own, &logs, &touched) }
        for record in touched { try table.engine.settleShadows(like: record, logs, in: &session) }
    }

    private mutating func put(
        _ item: JoinedItem<some StateSecret>, _ told: UInt64, _ erased: UInt64, _ own: OwnLog,
        _ logs: inout LogNumbers, _ touched: inout [Record]
    ) throws(VaultError) {
        let (old, new) = try table.engine.put(item, told: told, erased: erased, own, &logs, in: &session)
        if let old, !old.isTombstone { touched.append(old) }
        if !new.isTombstone { touched.append(new) }
    }

    /// Names the first write of items that other devices do not know.
    package mutating func stamp(_ ids: some Sequence<ItemID>, _ own: OwnLog) throws(VaultError) {
        for id in ids {
            // A verb may have named a write of the item meanwhile.
            guard var record = table.record(of: id), !record.hasClock else { continue }
            record.version += 1
            try record.setClock(table.engine.firstClock(own))
            _ = try session.stage(record, .keep)
        }
    }

    /// Records the stamp of an entry that mentioned deleted items.
    package mutating func noteTold(_ ids: [ItemID], _ stamp: UInt64) throws(VaultError) {
        for id in ids {
            guard var record = table.record(of: id), var clock = record.clock, clock.told < stamp else { continue }
            clock.told = stamp
            record.version += 1
            try record.setClock(clock)
            _ = try session.stage(record, record.hasValue ? .keep : .none)
        }
    }

    /// Erases the contents of a deleted item, since every device knows that it was deleted.
    package mutating func erase(_ id: ItemID, at stamp: UInt64) throws(VaultError) {
        guard var record = table.record(of: id), record.isTombstone, var clock = record.clock else { return }
        let held = table.engine.records.keptVersions(of: id).last { $0.attributes.isOne(.held) }
        for field in Set(held?.replicatedFields.keys ?? []).union(clock.fields.keys) where field != .life {
            clock.fields[field] = clock.marks(of: field).map { ClockMark(dot: $0.dot, mark: .erased) }
        }
        clock.erased = stamp
        record.version += 1
        record.attributes = EncodedAttributes([Attribute.tombstone.tag: .integer(1)], user: [:])
        try record.setClock(clock)
        record.setShadow(.hereOnly)
        _ = try session.stage(record, .none)
    }

    /// Removes an item and its tombstone.
    package mutating func purge(_ id: ItemID) throws(VaultError) {
        guard let record = table.record(of: id) else { return }
        var removal = record
        removal.kind = .delete
        removal.version = store.lastVersion(of: id) + 1
        removal.attributes = EncodedAttributes()
        _ = try session.stage(removal, .none)
        guard !record.isTombstone else { return }
        try table.engine.settleShadows(like: record, store.logs(), in: &session)
    }

    /// Converts the fleet's items to items of this vault only.
    ///
    /// - Throws: `.duplicateItem` if an item is hidden by another: outside the fleet two items cannot share a primary
    ///   key, and a person decides which of them stays.
    package mutating func forgetFleet() throws(VaultError) {
        for place in 0..<store.recordEnd {
            guard var record = store.record(at: place), record.itemClass != nil, record.hasClock else { continue }
            record.version = store.lastVersion(of: record.id) + 1
            guard record.isTombstone || !record.isHidden else { throw .duplicateItem }
            if record.isTombstone {
                record.kind = .delete
                record.attributes = EncodedAttributes()
                _ = try session.stage(record, .none)
            } else {
                record.removeClock()
                _ = try session.stage(record, .keep)
            }
        }
        for kind in [OwnRecord.log, .sync, .remote, .password] { try removeOwn(kind) }
    }

    /// Stores one of the vault's own records.
    ///
    /// - Parameters:
    ///   - says: its user attributes besides the one that names the kind.
    ///   - isOld: whether a record of the kind is the one to replace.
    ///   - protection: ``Accessibility/afterFirstUnlock`` or its device-bound form: a locked agent can read it.
    package mutating func putOwn(
        _ kind: OwnRecord, _ says: [String: String], value: Secret? = nil,
        protection: Accessibility = .afterFirstUnlock, replacing isOld: ([String: String]) -> Bool = { _ in true }
    ) throws(VaultError) {
        let old = store.ownRecords(of: kind).first { isOld($0.attributes.user) }
        try put(kind, says, value: value, protection: protection, inPlaceOf: old)
    }

    /// Stores many of the vault's own records of one kind, without values, with one scan of the existing ones.
    ///
    /// - Parameter name: the user attribute that identifies a record.
    package mutating func putOwn(_ kind: OwnRecord, each: [[String: String]], by name: String) throws(VaultError) {
        guard !each.isEmpty else { return }
        var known: [String: Record] = [:]
        for record in store.ownRecords(of: kind) {
            if let text = record.attributes.user[name], known[text] == nil { known[text] = record }
        }
        for says in each {
            try put(kind, says, value: nil, protection: .afterFirstUnlock, inPlaceOf: says[name].flatMap { known[$0] })
        }
    }

    private mutating func put(
        _ kind: OwnRecord, _ says: [String: String], value: Secret?, protection: Accessibility, inPlaceOf old: Record?
    ) throws(VaultError) {
        let now = store.now
        var record =
            old
            ?? Record(
                kind: .put, itemClass: nil, protection: protection, id: session.makeItemID(), version: 0,
                valueVersion: 0, ordinal: session.nextOrdinal, created: now, modified: now, value: nil,
                deviceID: .init(repeating: 0), attributes: EncodedAttributes())
        record.version += 1
        record.modified = max(now, record.modified)
        record.protection = protection
        record.deviceID = protection.isThisDeviceOnly ? try session.identifyDevice() : .init(repeating: 0)
        record.attributes = kind.attributes(says)
        _ = try session.stage(record, value.map { .set($0) } ?? .none)
    }

    package mutating func removeOwn(
        _ kind: OwnRecord, where isMeant: ([String: String]) -> Bool = { _ in true }
    ) throws(VaultError) {
        for var record in store.ownRecords(of: kind) where isMeant(record.attributes.user) {
            record.kind = .delete
            record.version += 1
            record.attributes = EncodedAttributes()
            _ = try session.stage(record, .none)
        }
    }
}

extension Vault {
    /// Reads the items as replication sees them.
    package func readReplica<R>(_ body: (ReplicaTable) throws(VaultError) -> R) throws(VaultError) -> R {
        try core.read { engine throws(VaultError) in try body(ReplicaTable(engine: engine)) }
    }

    /// Runs one transaction of replication.
    package func changeReplica<R>(_ body: (inout ReplicaChanges) throws(VaultError) -> R) throws(VaultError) -> R {
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            var changes = ReplicaChanges(engine, session)
            do throws(VaultError) {
                let result = try body(&changes)
                session = changes.end()
                return result
            } catch {
                session = changes.end()
                throw error
            }
        }
    }

    /// Marks the vault so that programs which do not support clocks no longer write to it.
    package func beginReplication() throws(VaultError) {
        try core.manage { store throws(StorageError) in try store.beginReplication() }
    }
}
