// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
package import VaultFormat

extension Fleet {
    /// Returns the items whose secrets a device can read; for a removed device, those whose secrets have not been
    /// changed since.
    ///
    /// - Parameter name: the name or the identifier of a device, which may be a removed one.
    /// - Throws: `.noSuchDevice`, `.ambiguousDevice`
    package func secrets(ofDeviceNamed name: String) throws(SyncError) -> DeviceSecrets {
        let replica = try replica(membership())
        let gone = replica.roster.gone
        let device = try replica.roster.everyDevice.device(named: name) { gone.contains($0.id) }
        let departure = replica.roster.departures[device.id]
        return DeviceSecrets(
            device: fleetDevice(device, replica), isRemoved: departure != nil,
            readable: try readable(until: departure?.stamp ?? .max))
    }

    /// Returns the items that have a current secret not written after the stamp.
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

    /// Removes a device from the fleet, so that it cannot read any later record.
    ///
    /// The vault stores the request before anything else happens. If no remote takes the change now, each later sync
    /// tries it first.
    ///
    /// - Parameter name: the name or the identifier of another device of the fleet.
    /// - Throws: `.notAnOwner`, `.noSuchDevice`, `.ambiguousDevice` or `.noSuchRemote`, without any change.
    package func remove(deviceNamed name: String) throws(SyncError) -> DeviceRemoval {
        try alone { membership throws(SyncError) in
            let replica = try replica(membership)
            try checkIsOwner(replica)
            let device = try devices(replica).filter { !$0.isThis }.device(named: name)
            guard !membership.remotes.isEmpty else { throw .noSuchRemote }
            try replica.wantRemovals { $0.insert(device.id) }
            let attempt: RosterAttempt
            do throws(SyncError) {
                // The vault may have been locked meanwhile: the device waits then.
                attempt =
                    try removeWaiting(try self.membership()) ?? RosterAttempt(outcomes: [], failure: .vault(.locked))
            } catch { attempt = RosterAttempt(outcomes: [], failure: error) }
            // Includes the records that were received just now.
            return DeviceRemoval(
                device: device, readable: try secrets(ofDeviceNamed: device.id.text).readable,
                outcomes: attempt.outcomes, failure: attempt.failure)
        }
    }

    /// Removes the devices that wait for removal, before any pending item is published.
    ///
    /// - Returns: `nil` if no device waits, or the vault is locked.
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
    /// Changes the set of devices that an owner wants to remove. The set is durable on return.
    func wantRemovals(_ change: (inout Set<DeviceID>) -> Void) throws(SyncError) {
        try withRun { run throws(SyncError) in
            change(&run.state.removals)
            try run.flush()
        }
    }

    /// - Returns: `false` if another device changed the roster meanwhile.
    package func remove(_ device: DeviceID, at store: any RecordStore) throws(SyncError) -> Bool {
        try withRun(store) { run throws(SyncError) in try run.remove(device) }
    }
}

extension SyncRun {
    /// Removes a device in four steps: publishes again what only the ending logs may have contained; changes the
    /// roster; publishes the pending items under the new key; trims the ended logs.
    ///
    /// - Returns: `false` if another device changed the roster meanwhile.
    func remove(_ device: DeviceID) throws(SyncError) -> Bool {
        if member.roster.device(device) != nil {
            guard try signRemoval(of: device) else { return false }
        }
        state.removals.remove(device)
        try publish()
        // Only the remover has published everything again.
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
        // An honest device has one open log. A hostile device may have made thousands: their items are published again
        // here, and the logs beyond 1024 are refused from now on, since no record has room for all of them.
        let named = cuts.sorted { ($1.sequence, $0.log) < ($0.sequence, $1.log) }.prefix(1024)
        // Pending items wait for the new key, which the device does not get: one may be a secret that was just rotated.
        try retell(Set(items.look(for: ending).selected.map(\.id)))
        try uploadOwn()
        let (key, epoch) = try makeEpoch()
        return try appendToRoster([.remove(device, cuts: Array(named)), epoch], newKey: key)
    }

    /// Trims ended logs, including those of an earlier remover that was removed before its own trimming.
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
