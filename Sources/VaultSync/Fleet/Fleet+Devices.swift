// SPDX-License-Identifier: Apache-2.0
internal import Vault
package import VaultCrypto
package import VaultFormat

extension Fleet {
    // MARK: Approving

    /// Returns the name of the device that asks with this code.
    package func joinRequest(for code: RecoveryCode) throws(SyncError) -> String {
        try findRequest(code, membership()).request.name
    }

    private func findRequest(
        _ code: RecoveryCode, _ membership: Membership
    ) throws(SyncError) -> (request: JoinRequest, mailbox: Mailbox, remote: RemoteAccess) {
        let join = try JoinCode(code)
        var failure: SyncError?
        for remote in membership.remotes.map(\.access) {
            do throws(SyncError) {
                let mailbox = Mailbox(try store(at: remote, realm: .zero), join, random)
                guard let message = try mailbox.message(1) else { continue }
                let request = try message.read { body throws(SyncError) in
                    do throws(FormatError) { return try JoinRequest(parsing: body) } catch { throw .format(error) }
                }
                guard message.isSigned(by: request.signingKey) else {
                    throw .alarm(Alarm(.forged, nil, 0, "a request whose device does not match its keys"))
                }
                return (request, mailbox, remote)
            } catch { failure = error }
        }
        throw failure ?? .noAnswer
    }

    /// Enrols the device that asks with this code.
    package func approve(_ code: RecoveryCode, role: DeviceRole) throws(SyncError) -> FleetDevice {
        let (request, mailbox, remote) = try findRequest(code, membership())
        return try alone { before throws(SyncError) in
            // A device that waits to be removed must not receive a later change, including this one.
            if let failure = try removeWaiting(before)?.failure { throw failure }
            let membership = try membership()
            let replica = try replica(membership)
            let store = try store(at: remote, realm: replica.identity.realmID)
            let id = Identity.deviceID(signing: request.signingKey, box: request.boxKey)
            try syncFully(replica, membership)
            try checkIsOwner(replica)
            try replica.settleRoster(store)
            while replica.roster.device(id) == nil {
                let device = RosterDevice(
                    id: id, signingKey: request.signingKey, boxKey: request.boxKey, role: role,
                    name: Fleet.free(request.name, replica.roster))
                if try replica.appendToRoster([.enrol(device)], at: store) { break }
                try replica.followFaster(store)
            }
            guard let key = replica.identity.epochKeys[replica.roster.epoch] else { throw .notJoined }
            let grant = JoinGrant<Secret>(
                realmID: replica.identity.realmID, rosterSequence: replica.roster.sequence,
                rosterHash: replica.roster.hash, epoch: replica.roster.epoch, key: key,
                heads: replica.member.openLogs.compactMap { log in
                    replica.state.logs[log]?.head.map { LogHead(log: log, sequence: $0.sequence, hash: $0.hash) }
                })
            let pieces = try formed { () throws(FormatError) in try grant.pieces() }
            try mailbox.put(pieces, 2, signedBy: replica.identity)
            try syncFully(replica, membership)
            guard let device = devices(replica).first(where: { $0.id == id }) else { throw .noSuchDevice }
            return device
        }
    }

    /// Syncs with every remote, and throws the first error or alarm.
    private func syncFully(_ replica: Replica<VaultItems>, _ membership: Membership) throws(SyncError) {
        var known = membership
        known.remotes = try self.membership().remotes
        for outcome in try sync(replica, known, { _ in }) {
            if let error = outcome.error { throw error }
            if let alarm = outcome.alarms.first { throw .alarm(alarm) }
        }
    }

    func checkIsOwner(_ replica: Replica<VaultItems>) throws(SyncError) {
        guard replica.roster.device(replica.deviceID)?.role == .owner else { throw .notAnOwner }
    }

    // MARK: A roster with changes on both sides

    /// Keeps this device's chain of the roster, and replaces that of the remotes with it.
    package func resolveRoster() throws(SyncError) {
        try alone { membership throws(SyncError) in
            let replica = try replica(membership)
            try checkIsOwner(replica)
            let stream = RecordStream(.roster, replica.identity.realmID)
            var own: [StoredRecord] = []
            for number in replica.mirror.numbers(of: stream).sorted() where number <= replica.roster.sequence {
                let address = RecordAddress(stream, number)
                if let bytes = try replica.mirror.bytes(at: address) { own.append(StoredRecord(address, bytes)) }
            }
            for remote in membership.remotes.map(\.access) {
                let store = try store(at: remote, realm: replica.identity.realmID)
                let last = try stored { () throws(RecordStoreError) in
                    try store.remove(stream, below: .max)
                    return try store.append(own).last
                }
                // A device with the other chain has put that back between the two.
                guard last != .differs else { throw .overtaken }
            }
            if let failure = try removeWaiting(membership)?.failure { throw failure }
            let known = try self.membership()
            try syncFully(try self.replica(known), known)
        }
    }
}
