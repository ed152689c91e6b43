// SPDX-License-Identifier: Apache-2.0
package import Vault
package import VaultCrypto
package import VaultFormat
internal import VaultStorage

/// The items of a vault, with what the vault keeps of its fleet.
package final class VaultItems: ReplicaItems {
    let vault: Vault
    private let random: any RandomSource
    private let onlySynchronizable: Bool
    private let realm: RealmID
    /// As the vault has it.
    private var saved: ReplicaState?

    /// - Parameter saved: nil: the vault has none yet.
    package init(
        _ vault: Vault, _ saved: ReplicaState?, of realm: RealmID, onlySynchronizable: Bool, random: any RandomSource
    ) {
        (self.vault, self.saved, self.realm, self.random) = (vault, saved, realm, random)
        self.onlySynchronizable = onlySynchronizable
    }

    private func read<R>(_ body: (ReplicaTable) throws(VaultError) -> R) throws(SyncError) -> R {
        try vaulted { () throws(VaultError) in try vault.readReplica(body) }
    }

    package var wallStamp: UInt64 { (try? read { $0.wallStamp }) ?? 0 }

    package var newestStamp: UInt64 { (try? read { $0.newestStamp }) ?? 0 }

    package func makeItemID() -> ItemID { ItemID(random: random.bytes(16)) }

    // MARK: Looking

    private func ids(where isMeant: (ReplicaTable.Brief) -> Bool) throws(SyncError) -> [(id: ItemID, own: UInt64)] {
        try read { table in
            var found: [(id: ItemID, own: UInt64)] = []
            table.forEachBrief { if isMeant($0) { found.append(($0.id, $0.clock.own)) } }
            return found
        }
    }

    package func pending(after stamp: UInt64) throws(SyncError) -> [(id: ItemID, own: UInt64)] {
        try ids { $0.clock.own > stamp }
    }

    package func all() throws(SyncError) -> [(id: ItemID, own: UInt64)] { try ids { _ in true } }

    package func touching(_ logs: Set<LogID>) throws(SyncError) -> [(id: ItemID, own: UInt64)] {
        let known = try read { table throws(VaultError) in try table.logs() }
        let numbers = Set(logs.compactMap { known.number(of: $0) })
        return try ids { $0.clock.context.entries.contains { numbers.contains($0.number) } }
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
        // Not all at once, nor the vault for each of them.
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

    package var version: UInt64 { (try? read { $0.sequence }) ?? 0 }

    package func sum() throws(SyncError) -> UInt64 {
        try read { table throws(VaultError) in
            let logs = try table.logs()
            var sum: UInt64 = 0
            table.forEachBrief { item in
                guard !item.isTombstone else { return }
                if item.isShadowed { sum &+= Sums.word(item.id) }
                item.forEachMark { field, mark in
                    guard let log = logs[mark.dot.number] else { return }
                    let dot = Dot(log: log, stamp: mark.dot.stamp)
                    sum &+= Sums.word(item.id, field, dot, isErased: mark.mark == .erased)
                }
            }
            return sum
        }
    }

    // MARK: Changing

    package func commit(_ change: ReplicaChange, _ state: ReplicaState) throws(SyncError) {
        let isEmpty =
            change.told.isEmpty && change.erased.isEmpty && change.purged.isEmpty && change.published.isEmpty
        guard !isEmpty || state != saved else { return }
        try transact(state) { (changes, own, logs) throws(VaultError) in
            var fresh: [(state: ItemState<Secret>, told: UInt64, erased: UInt64)] = []
            fresh.reserveCapacity(change.told.count)
            var joined: [(state: ItemState<ReplicaSecret>, told: UInt64, erased: UInt64)] = []
            var places: [ItemID: (isFresh: Bool, index: Int)] = [:]
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
            for (id, stamp) in change.erased { try changes.erase(id, at: stamp) }
            for id in change.purged { try changes.purge(id) }
        }
    }

    /// What no entry could tell again is not kept: it would keep this device from telling anything.
    private func checkSize<S>(_ state: ItemState<S>) throws(VaultError) {
        guard state.leastLength <= Blob.itemLength else { throw .storage(.attributesTooLarge) }
    }

    package func rebuild(
        _ states: [(state: ItemState<Secret>, told: UInt64, erased: UInt64)], _ state: ReplicaState
    ) throws(SyncError) {
        let kept = Set(states.map(\.state.id))
        let gone = try all().map(\.id).filter { !kept.contains($0) }
        try transact(state) { (changes, own, logs) throws(VaultError) in
            for id in gone { try changes.purge(id) }
            try changes.put(states, [], own, &logs)
        }
    }

    /// Names the first write of items that the fleet does not know yet.
    package func stampUnknown() throws(SyncError) {
        guard let own = try read({ $0.ownLog }) else { return }
        let unknown = try read { $0.unstamped(own) }
        for start in stride(from: 0, to: unknown.count, by: 1000) {
            let part = unknown[start..<min(start + 1000, unknown.count)]
            try vaulted { () throws(VaultError) in
                try vault.changeReplica { changes throws(VaultError) in try changes.stamp(part, own) }
            }
        }
    }

    // MARK: The vault's own records

    private func transact(
        _ state: ReplicaState,
        _ body: (inout ReplicaChanges, OwnLog, inout LogNumbers) throws(VaultError) -> Void
    ) throws(SyncError) {
        var tooManyLogs = false
        do throws(VaultError) {
            try vault.changeReplica { changes throws(VaultError) in
                var logs = try changes.table.logs()
                guard let number = logs.makeNumber(of: state.log) else {
                    tooManyLogs = true
                    throw .storage(.resourceUnavailable)
                }
                let own = OwnLog(number: number, onlySynchronizable: onlySynchronizable)
                try body(&changes, own, &logs)
                try save(state, own, logs, in: &changes)
            }
        } catch {
            throw tooManyLogs ? .tooManyLogs : .vault(error)
        }
        saved = state
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
    /// What the vault has told a fleet, and what it knows of it. Nil: it belongs to none, or to another one.
    package func replicaState(
        of realm: RealmID
    ) throws(VaultError) -> (state: ReplicaState, onlySynchronizable: Bool)? {
        guard let own = try ownRecords(.sync).first, own.says["realm"] == realm.text, let value = own.value,
            var state = ReplicaState(value.withBytes { $0.array })
        else { return nil }
        for record in try ownRecords(.log) {
            guard let log = record.says["id"].flatMap({ Bytes16(text: $0) }),
                let bytes = record.says["state"].flatMap({ bytes(hexadecimal: $0) }), let known = LogState(bytes)
            else { continue }
            // One that only has a number says nothing.
            if known != LogState() { state.logs[log] = known }
        }
        return (state, ownLog?.onlySynchronizable ?? false)
    }
}

extension Span<UInt8> {
    var array: [UInt8] { self.array(indices) }
}
