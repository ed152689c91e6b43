// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
package import VaultFormat

extension Fleet {
    /// The items whose secrets a device can read; of one that was removed, those whose secrets have not been changed
    /// since.
    ///
    /// - Parameter name: of a device of the fleet, else of the one of that name that was removed last.
    /// - Throws: `.noSuchDevice`
    package func secrets(ofDeviceNamed name: String) throws(SyncError) -> DeviceSecrets {
        let replica = try replica(membership())
        let roster = replica.roster
        let named = devices(replica).filter { $0.name == name }
        if let device = named.first(where: { !$0.isThis }) ?? named.first {
            return DeviceSecrets(device: device, isRemoved: false, readable: try readable(until: .max))
        }
        let gone = roster.departures.filter { roster.known[$0.key]?.name == name }
        guard let (id, departure) = gone.max(by: { $0.value.stamp < $1.value.stamp }), let known = roster.known[id],
            known.role != .recovery
        else { throw .noSuchDevice }
        return DeviceSecrets(
            device: fleetDevice(known, replica), isRemoved: true, readable: try readable(until: departure.stamp))
    }

    /// Items with a secret that counts and was not written later.
    private func readable(until stamp: UInt64) throws(SyncError) -> [ItemID] {
        try vaulted { () throws(VaultError) in
            try vault.readReplica { table in
                var found: [ItemID] = []
                table.forEachBrief { item in
                    guard !item.isTombstone else { return }
                    var newest: [FieldID: UInt64] = [:]
                    item.forEachMark { field, mark in
                        guard field.isSecret else { return }
                        newest[field] = max(newest[field] ?? 0, mark.dot.stamp)
                    }
                    if newest.values.contains(where: { $0 <= stamp }) { found.append(item.id) }
                }
                return found
            }
        }
    }

    /// Takes a device out of the fleet: it learns nothing that comes later.
    ///
    /// The vault knows of the wish before anything else happens. What no remote takes now, each later sync tries first.
    ///
    /// - Throws: `.notAnOwner`, `.noSuchDevice` or `.noSuchRemote`; then nothing was changed.
    package func remove(deviceNamed name: String) throws(SyncError) -> DeviceRemoval {
        try alone { membership throws(SyncError) in
            let replica = try replica(membership)
            try checkIsOwner(replica)
            guard let device = devices(replica).first(where: { $0.name == name && !$0.isThis }) else {
                throw .noSuchDevice
            }
            guard !membership.remotes.isEmpty else { throw .noSuchRemote }
            try replica.wantRemovals { $0.insert(device.id) }
            let attempt: RosterAttempt
            do throws(SyncError) {
                attempt = try removeWaiting(try self.membership()) ?? RosterAttempt(outcomes: [], failure: nil)
            } catch { attempt = RosterAttempt(outcomes: [], failure: error) }
            // With what was heard just now.
            return DeviceRemoval(
                device: device, readable: try secrets(ofDeviceNamed: name).readable, outcomes: attempt.outcomes,
                failure: attempt.failure)
        }
    }

    /// Removes the devices that an owner wants to be removed, before anything that is pending is told.
    ///
    /// - Returns: nil when there are none, or the vault is locked.
    func removeWaiting(
        _ membership: Membership, goesOn: @escaping () -> Bool = { true }, report: (String) -> Void = { _ in }
    ) throws(SyncError) -> RosterAttempt? {
        guard !membership.state.removals.isEmpty, !vault.isLocked else { return nil }
        return try changeRoster(membership, goesOn: goesOn, report: report) { replica, store throws(SyncError) in
            guard replica.roster.device(replica.deviceID)?.role == .owner else {
                try replica.wantRemovals { $0 = [] }
                throw .notAnOwner
            }
            for device in replica.state.removals.sorted() {
                guard try replica.remove(device, at: store) else { return false }
            }
            return true
        }
    }
}

extension Replica {
    /// Changes which devices an owner wants to be removed; the vault knows when it returns.
    func wantRemovals(_ change: (inout Set<DeviceID>) -> Void) throws(SyncError) {
        try withRun { run throws(SyncError) in
            change(&run.state.removals)
            try run.flush()
        }
    }

    /// - Returns: false when another device changed the roster meanwhile.
    package func remove(_ device: DeviceID, at store: any RecordStore) throws(SyncError) -> Bool {
        try withRun(store) { run throws(SyncError) in try run.remove(device) }
    }
}

extension SyncRun {
    /// First this device tells again what the logs that end may have told alone; then the roster; then what is pending,
    /// under the new key; then the logs are trimmed away.
    ///
    /// - Returns: false when another device changed the roster meanwhile.
    func remove(_ device: DeviceID) throws(SyncError) -> Bool {
        if member.roster.device(device) != nil {
            guard try signRemoval(of: device) else { return false }
        }
        state.removals.remove(device)
        try publish()
        // The remover alone has told everything again.
        guard member.roster.departures[device]?.remover == member.deviceID else { return true }
        trimGone()
        try publish(isForced: true)
        return true
    }

    private func signRemoval(of device: DeviceID) throws(SyncError) -> Bool {
        let cuts = state.logs.compactMap { log, known -> LogHead? in
            guard known.device == device, let head = known.head, known.end == nil else { return nil }
            return LogHead(log: log, sequence: head.sequence, hash: head.hash)
        }
        var ending = ItemSelection(changedAfter: .max)
        ending.touching = Set(cuts.map(\.log)).union(member.endedLogs)
        // A device has one open log. What one has that made thousands is told again here, and refused from now on:
        // else no record could remove it.
        let named = cuts.sorted { ($1.sequence, $0.log) < ($0.sequence, $1.log) }.prefix(1024)
        // Pending items wait for the key that the device does not get: one may be a secret that was just rotated.
        try retell(Set(items.look(for: ending).selected.map(\.id)))
        try uploadOwn()
        let (key, epoch) = try makeEpoch()
        return try appendToRoster([.remove(device, cuts: Array(named)), epoch], newKey: key)
    }

    /// Also what an earlier remover, removed since, may not have got to say.
    private func trimGone() {
        for (log, known) in state.logs {
            guard let device = known.device, member.roster.gone.contains(device), let end = known.end,
                member.head(log) >= end, known.base <= end
            else { continue }
            state.logs[log]?.base = end + 1
            state.logs[log]?.baseHash = known.head?.hash ?? .zero
            state.logs[log]?.first = nil
        }
    }
}
