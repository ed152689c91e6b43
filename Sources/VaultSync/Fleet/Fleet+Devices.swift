// SPDX-License-Identifier: Apache-2.0
internal import Vault
package import VaultCrypto
package import VaultFormat

extension Fleet {
    // MARK: Approving

    /// The name of the device that asks with this code.
    package func joinRequest(for code: RecoveryCode) throws(SyncError) -> String {
        try findRequest(code, membership()).request.name
    }

    private func findRequest(
        _ code: RecoveryCode, _ membership: Membership
    ) throws(SyncError) -> (request: JoinRequest, mailbox: Mailbox, url: RemoteURL) {
        let join = try JoinCode(code)
        var failure: SyncError?
        for (url, _) in membership.remotes {
            let mailbox = Mailbox(store(at: url, realm: .zero), join, random)
            do throws(SyncError) {
                guard let message = try mailbox.message(1) else { continue }
                let request = try message.read { body throws(SyncError) in
                    do throws(FormatError) { return try JoinRequest(parsing: body) } catch { throw .format(error) }
                }
                guard message.isSigned(by: request.signingKey) else {
                    throw .alarm(Alarm(.forged, nil, 0, "a request by another device than its keys'"))
                }
                return (request, mailbox, url)
            } catch { failure = error }
        }
        throw failure ?? .noAnswer
    }

    /// Lets the device in that asks with this code.
    package func approve(_ code: RecoveryCode, role: DeviceRole) throws(SyncError) -> FleetDevice {
        let (request, mailbox, url) = try findRequest(code, membership())
        return try alone { membership throws(SyncError) in
            let replica = try replica(membership)
            let store = store(at: url, realm: replica.identity.realmID)
            let id = Identity.deviceID(signing: request.signingKey, box: request.boxKey)
            try syncFully(replica, membership)
            try checkIsOwner(replica)
            while replica.roster.device(id) == nil {
                let device = RosterDevice(
                    id: id, signingKey: request.signingKey, boxKey: request.boxKey, role: role,
                    name: Fleet.free(request.name, replica.roster))
                if try replica.appendToRoster([.enrol(device)], at: store) { break }
                try replica.followRoster(store)
            }
            guard let key = replica.identity.epochKeys[replica.roster.epoch] else { throw .notJoined }
            let grant = JoinGrant<Secret>(
                realmID: replica.identity.realmID, rosterSequence: replica.roster.sequence,
                rosterHash: replica.roster.hash, epoch: replica.roster.epoch, key: key,
                heads: replica.openLogs.compactMap { log in
                    replica.state.logs[log]?.head.map { LogHead(log: log, sequence: $0.sequence, hash: $0.hash) }
                })
            let pieces = try formed { () throws(FormatError) in try grant.pieces() }
            try mailbox.put(pieces, 2, signedBy: replica.identity)
            try syncFully(replica, membership)
            guard let device = devices(replica).first(where: { $0.id == id }) else { throw .noSuchDevice }
            return device
        }
    }

    /// A sync that went through with every remote and found nothing wrong.
    private func syncFully(_ replica: Replica<VaultItems>, _ membership: Membership) throws(SyncError) {
        var known = membership
        known.remotes = try self.membership().remotes
        for outcome in try sync(replica, known, { _ in }) {
            if let error = outcome.error { throw error }
            if let alarm = outcome.alarms.first { throw .alarm(alarm) }
        }
    }

    private func checkIsOwner(_ replica: Replica<VaultItems>) throws(SyncError) {
        guard replica.roster.device(replica.deviceID)?.role == .owner else { throw .notAnOwner }
    }

    // MARK: Removing

    /// Takes a device out of the fleet: it learns nothing that comes later.
    ///
    /// - Returns: also what it could read until now.
    package func remove(deviceNamed name: String) throws(SyncError) -> DeviceRemoval {
        try alone { membership throws(SyncError) in
            guard let url = membership.remotes.first?.url else { throw .noSuchRemote }
            let replica = try replica(membership)
            let store = store(at: url, realm: replica.identity.realmID)
            while true {
                try syncFully(replica, membership)
                try checkIsOwner(replica)
                guard let device = devices(replica).first(where: { $0.name == name }), !device.isThis else {
                    throw .noSuchDevice
                }
                let readable = try replica.items.all().map(\.id)
                guard try replica.remove(device.id, at: store) else { continue }
                if replica.identity !== membership.identity {
                    try save(replica.identity, deviceName: membership.deviceName)
                }
                try syncFully(replica, membership)
                return DeviceRemoval(device: device, readable: readable)
            }
        }
    }

    // MARK: A roster that was changed on both sides

    /// Keeps the chain that this device knows, and puts it in the place of what the remotes have.
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
            for (url, _) in membership.remotes {
                let store = store(at: url, realm: replica.identity.realmID)
                try stored { () throws(RecordStoreError) in
                    try store.remove(stream, below: .max)
                    _ = try store.append(own)
                }
            }
            try syncFully(replica, membership)
        }
    }
}

extension Replica {
    /// First this device tells again what the logs that end may have told alone; then the roster; then the logs are
    /// trimmed away.
    ///
    /// - Returns: false when another device changed the roster meanwhile.
    package func remove(_ device: DeviceID, at store: any RecordStore) throws(SyncError) -> Bool {
        let cuts = state.logs.compactMap { log, known -> LogHead? in
            guard known.device == device, let head = known.head, known.end == nil else { return nil }
            return LogHead(log: log, sequence: head.sequence, hash: head.hash)
        }
        let ending = Set(cuts.map(\.log)).union(endedLogs)
        // A device has one open log. What one has that made thousands is told again here, and refused from now on:
        // else no record could remove it.
        let named = cuts.sorted { ($1.sequence, $0.log) < ($0.sequence, $1.log) }.prefix(1024)
        try publish(also: Set(items.touching(ending).map(\.id)), isForced: true)
        var scratch = RemoteState()
        try uploadOwn(to: store, &scratch)
        guard let before = identity.epochKeys[roster.epoch] else { throw .notJoined }
        let key = try secured { () throws(CryptoError) in Secret(try random.secret(32)) }
        let hash = Bytes32(key.withBytes { KeyedHash.digest($0) }.bytes.span)
        let operations: [RosterOperation<Secret>] = [
            .remove(device, cuts: Array(named)), .epoch(previousKey: before, keyHash: hash),
        ]
        guard try appendToRoster(operations, newKey: key, at: store) else { return false }
        trimGone()
        try publish(isForced: true)
        return true
    }

    /// Also what an earlier remover, removed since, may not have got to say.
    package func trimGone() {
        for (log, known) in state.logs {
            guard let device = known.device, roster.gone.contains(device), let end = known.end,
                head(log) >= end, known.base <= end
            else { continue }
            setBase(log, end + 1, known.head?.hash ?? .zero)
            state.logs[log]?.first = nil
        }
    }
}
