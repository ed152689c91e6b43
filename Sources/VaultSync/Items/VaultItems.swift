// SPDX-License-Identifier: Apache-2.0
package import Vault
package import VaultCrypto
package import VaultFormat
internal import VaultStorage

/// The items of a vault, with the vault's records about its fleet.
package final class VaultItems: ReplicaItems {
    let vault: Vault
    private let random: any RandomSource
    private let realm: RealmID
    /// The state in the vault.
    private var saved: ReplicaState?

    /// - Parameter saved: the state in the vault; `nil` if there is none yet.
    package init(_ vault: Vault, _ saved: ReplicaState?, of realm: RealmID, random: any RandomSource) {
        (self.vault, self.saved, self.realm, self.random) = (vault, saved, realm, random)
    }

    private func read<R>(_ body: (ReplicaTable) throws(VaultError) -> R) throws(SyncError) -> R {
        try vaulted { () throws(VaultError) in try vault.readReplica(body) }
    }

    package func makeItemID() -> ItemID { ItemID(random: random.bytes(16)) }

    // MARK: Looking

    package func moment() throws(SyncError) -> (newest: UInt64, version: UInt64) {
        try read { ($0.newestStamp, $0.sequence) }
    }

    package func look(for selection: ItemSelection) throws(SyncError) -> ItemLook {
        try read { table throws(VaultError) in
            let logs = try table.logs()
            let touched = Set(selection.touching.compactMap { logs.number(of: $0) })
            var found: [PendingItem] = []
            table.forEachBrief { item in
                let isMeant =
                    selection.all || item.clock.own > selection.changedAfter || selection.also.contains(item.id)
                    || !touched.isEmpty && item.clock.context.entries.contains { touched.contains($0.number) }
                if isMeant { found.append(PendingItem(id: item.id, own: item.clock.own)) }
            }
            return ItemLook(selected: found, newest: table.newestStamp, version: table.sequence)
        }
    }

    package func deleted() throws(SyncError) -> [DeletedItem] {
        try read { table in
            var found: [DeletedItem] = []
            table.forEachBrief { item in
                guard item.isTombstone else { return }
                let clock = item.clock
                found.append(DeletedItem(id: item.id, own: clock.own, told: clock.told, erased: clock.erased))
            }
            return found
        }
    }

    package func forEachState(
        of ids: [ItemID], _ body: (ItemState<Secret>) throws(SyncError) -> Void
    ) throws(SyncError) {
        // Read in batches: neither all states are in memory at once, nor is the vault read for each of them.
        for start in stride(from: 0, to: ids.count, by: 256) {
            let states = try read { table throws(VaultError) in
                let logs = try table.logs()
                var states: [ItemState<Secret>] = []
                for id in ids[start..<min(start + 256, ids.count)] {
                    if let state = try table.openState(of: id, logs) { states.append(state) }
                }
                return states
            }
            for state in states { try body(state) }
        }
    }

    package func sum() throws(SyncError) -> (sum: UInt64, version: UInt64) {
        try read { table throws(VaultError) in
            let logs = try table.logs()
            var sum = ItemSum()
            table.forEachBrief { item in
                guard !item.isTombstone else { return }
                if item.isShadowed { sum.add(item.id) }
                item.forEachMark { field, mark in
                    guard let log = logs[mark.dot.number] else { return }
                    let dot = Dot(log: log, stamp: mark.dot.stamp)
                    sum.add(item.id, field, dot, isErased: mark.mark == .erased)
                }
            }
            return (sum.total, table.sequence)
        }
    }

    // MARK: Changing

    package func commit(_ change: ReplicaChange, _ state: ReplicaState) throws(SyncError) {
        guard !change.isEmpty || state != saved else { return }
        try transact(state) { (changes, own, logs) throws(SyncError) in
            try check(change.watermark, changes.table)
            try vaulted { () throws(VaultError) in try make(change, own, &logs, in: &changes) }
            return nil
        }
    }

    private func check(_ watermark: Watermark?, _ table: ReplicaTable) throws(SyncError) {
        let isOvertaken = watermark?.isOvertaken(version: table.sequence) {
            var pending: [PendingItem] = []
            table.forEachBrief { item in
                guard item.clock.own > watermark?.after ?? 0 else { return }
                pending.append(PendingItem(id: item.id, own: item.clock.own))
            }
            return pending
        }
        if isOvertaken == true { throw .overtaken }
    }

    private func make(
        _ change: ReplicaChange, _ own: OwnLog, _ logs: inout LogNumbers, in changes: inout ReplicaChanges
    ) throws(VaultError) {
        var fresh: [(state: ItemState<Secret>, told: UInt64, erased: UInt64)] = []
        fresh.reserveCapacity(change.told.count)
        var joined: [(state: ItemState<ReplicaSecret>, told: UInt64, erased: UInt64)] = []
        var places: [ItemID: (isFresh: Bool, index: Int)] = [:]
        places.reserveCapacity(change.told.count)
        var onlyTold: [(ItemID, UInt64)] = []
        for (told, stamp) in change.told {
            if let (isFresh, index) = places[told.id] {
                if isFresh, let after = Merge.join(fresh[index].state, told) {
                    try checkSize(after)
                    fresh[index] = (after, max(fresh[index].told, stamp), 0)
                } else if !isFresh, let after = Merge.join(joined[index].state, told.map { .given($0) }) {
                    try checkSize(after)
                    joined[index] = (after, max(joined[index].told, stamp), 0)
                } else {
                    onlyTold.append((told.id, stamp))
                }
            } else if let before = try changes.table.state(of: told.id, logs) {
                if let after = Merge.join(before, told.map { .given($0) }) {
                    try checkSize(after)
                    places[told.id] = (false, joined.count)
                    joined.append((after, stamp, 0))
                } else {
                    onlyTold.append((told.id, stamp))
                }
            } else {
                try checkSize(told)
                places[told.id] = (true, fresh.count)
                fresh.append((told, stamp, 0))
            }
        }
        try changes.put(fresh, joined, own, &logs)
        for (id, stamp) in onlyTold where changes.table.brief(of: id)?.isTombstone == true {
            try changes.noteTold([id], stamp)
        }
        for (id, stamp) in change.published { try changes.noteTold([id], stamp) }
        for (id, own, stamp) in change.erased where isStillDead(id, own, changes.table) {
            try changes.erase(id, at: stamp)
        }
        for (id, own) in change.purged where isStillDead(id, own, changes.table) { try changes.purge(id) }
    }

    /// Whether a deleted item has not been written to since the look at it.
    private func isStillDead(_ id: ItemID, _ own: UInt64, _ table: ReplicaTable) -> Bool {
        table.brief(of: id).map { $0.isTombstone && $0.clock.own == own } ?? false
    }

    /// Refuses a state that no entry has room for: it would block all publishing by this device.
    private func checkSize<S>(_ state: ItemState<S>) throws(VaultError) {
        guard state.leastLength <= Blob.itemLength else { throw .storage(.attributesTooLarge) }
    }

    package func begin(_ newLog: inout NewLog) throws(SyncError) {
        // A transaction that is joined with other changes may run twice.
        var done = newLog
        try transact(newLog.state) { (changes, own, logs) throws(SyncError) in
            var plan = newLog
            try vaulted { () throws(VaultError) in try begin(&plan, own, &logs, in: &changes) }
            done = plan
            return plan.state
        }
        newLog = done
    }

    private func begin(
        _ plan: inout NewLog, _ own: OwnLog, _ logs: inout LogNumbers, in changes: inout ReplicaChanges
    ) throws(VaultError) {
        let table = changes.table
        plan.note(newest: table.newestStamp)
        var ids: [(ItemID, own: UInt64)] = []
        table.forEachBrief { ids.append(($0.id, $0.clock.own)) }
        var theirs = plan.fleet
        var (fresh, joined): ([JoinedState<Secret>], [JoinedState<ReplicaSecret>]) = ([], [])
        for (id, ownStamp) in ids {
            theirs[id] = nil
            guard let whole = try table.state(of: id, logs) else { continue }
            let fate = plan.fate(of: whole, newID: makeItemID, isSame: table.isSame) { .given($0) }
            switch fate {
            // The number of the abandoned log marks the own writes, so the item is stored again.
            case .stays: if ownStamp > 0 { joined.append((whole, 0, 0)) }
            case .gone: try changes.purge(id)
            case .becomes(let state, let told, let erased): joined.append((state, told, erased))
            case .moves(let moved):
                if let (rest, entry) = plan.remainder(of: whole, { .given($0) }) {
                    joined.append((rest, entry.told, entry.erased))
                } else {
                    try changes.purge(id)
                }
                let opened = try moved.map { secret throws(VaultError) in try table.open(secret) }
                fresh.append((opened, 0, 0))
            }
        }
        for (_, entry) in theirs.sorted(by: { $0.key < $1.key }) {
            fresh.append((entry.state, entry.told, entry.erased))
        }
        try changes.put(fresh, joined, own, &logs)
    }

    private typealias JoinedState<S> = (state: ItemState<S>, told: UInt64, erased: UInt64)

    /// Stamps the first write of items that the fleet does not know yet.
    package func stampUnknown() throws(SyncError) {
        guard let own = try read({ $0.ownLog }) else { return }
        let unknown = try read { $0.unstamped }
        for start in stride(from: 0, to: unknown.count, by: 1000) {
            let part = unknown[start..<min(start + 1000, unknown.count)]
            try vaulted { () throws(VaultError) in
                try vault.changeReplica { changes throws(VaultError) in try changes.stamp(part, own) }
            }
        }
    }

    // MARK: The vault's own records

    /// Runs one transaction, which also stores the member's state.
    ///
    /// - Parameter body: returns the state to store if it differs from `state`.
    /// - Throws: `.busy` if another sync has changed the vault's state of the fleet.
    private func transact(
        _ state: ReplicaState,
        _ body: (inout ReplicaChanges, OwnLog, inout LogNumbers) throws(SyncError) -> ReplicaState?
    ) throws(SyncError) {
        var (failure, after): (SyncError?, ReplicaState) = (nil, state)
        do throws(VaultError) {
            try vault.changeReplica { changes throws(VaultError) in
                failure = nil
                do throws(SyncError) {
                    try checkIsAlone(changes.table)
                    var logs = try vaulted { () throws(VaultError) in try changes.table.logs() }
                    guard let number = logs.makeNumber(of: state.log) else { throw .tooManyLogs }
                    let own = OwnLog(number: number)
                    after = try body(&changes, own, &logs) ?? state
                    try vaulted { () throws(VaultError) in try save(after, own, logs, in: &changes) }
                } catch {
                    failure = error
                    // Rolls the transaction back.
                    throw .itemChanged
                }
            }
        } catch { throw failure ?? .vault(error) }
        saved = after
    }

    /// Throws if another sync runs. The lock file that excludes other syncs can be deleted while one holds it.
    private func checkIsAlone(_ table: ReplicaTable) throws(SyncError) {
        guard let saved else { return }
        // The mark is not written again: only joining anew takes it away.
        guard table.ownLog?.isFiltered != true else { throw .isFiltered }
        let there = try vaulted { () throws(VaultError) in try table.ownRecords(.sync).first?.value }
        guard let there, there.withBytes({ $0.array }) == saved.encoded() else { throw .busy }
    }

    private func save(
        _ state: ReplicaState, _ own: OwnLog, _ logs: LogNumbers, in changes: inout ReplicaChanges
    ) throws(VaultError) {
        var logs = logs
        var changed = logs.unsaved
        for (log, known) in state.logs where saved?.logs[log] != known {
            if let number = logs.makeNumber(of: log) { changed.insert(number) }
        }
        let each = changed.sorted().compactMap { number in
            logs[number].map { log in
                let known = (state.logs[log] ?? LogState()).encoded()
                return ["number": String(number), "id": log.text, "state": hexadecimal(known)]
            }
        }
        try changes.putOwn(.log, each: each, by: "number")
        let value = try secretValue(state.encoded())
        let says = own.attributes(clock: state.clock).merging(["realm": realm.text]) { $1 }
        try changes.putOwn(.sync, says, value: value)
    }

    private func secretValue(_ bytes: [UInt8]) throws(VaultError) -> Secret {
        do throws(CryptoError) { return Secret(try SecretBytes(copying: bytes.span)) } catch {
            throw .storage(StorageError(error))
        }
    }
}

extension ReplicaTable {
    /// Returns the vault's state of a fleet; `nil` if the vault belongs to none or to another one.
    package func replicaState(of realm: RealmID) throws(VaultError) -> (state: ReplicaState, isFiltered: Bool)? {
        guard let own = try ownRecords(.sync).first, own.says["realm"] == realm.text, let value = own.value,
            var state = ReplicaState(value.withBytes { $0.array })
        else { return nil }
        for record in try ownRecords(.log) {
            guard let log = record.says["id"].flatMap({ Bytes16(text: $0) }),
                let bytes = record.says["state"].flatMap({ bytes(hexadecimal: $0) }), let known = LogState(bytes)
            else { continue }
            // A log without state only has a number.
            if known != LogState() { state.logs[log] = known }
        }
        return (state, ownLog?.isFiltered ?? false)
    }
}

extension Span<UInt8> {
    var array: [UInt8] { self.array(indices) }
}
