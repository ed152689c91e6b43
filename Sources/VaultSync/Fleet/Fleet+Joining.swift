// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
package import VaultCrypto
internal import VaultFormat
internal import VaultStorage

extension Fleet {
    // MARK: The first device

    /// Makes a fleet of one device.
    ///
    /// The vault joins the fleet before any record is in the folder. After a failure either the next sync continues, or
    /// nothing has happened.
    ///
    /// - Parameters:
    ///   - given: the recovery code that the owner already knows; `nil` makes a new one.
    ///   - show: receives the code before the fleet exists.
    /// - Returns: the code.
    /// - Throws: `.remoteInUse` if the folder has a fleet; an error of `show`, before there is a fleet.
    @discardableResult
    package func found(
        _ url: RemoteURL, credentials: RemoteCredentials = RemoteCredentials(),
        deviceName: String,
        code given: RecoveryCode? = nil,
        showing show: (RecoveryCode) throws(SyncError) -> Void = { _ in }
    ) throws(SyncError) -> RecoveryCode {
        let remote = RemoteAccess(url, credentials)
        try checkCanFound(url, credentials: credentials, deviceName: deviceName)
        let realm = Bytes16(random.bytes(16))
        let code = try given.orNew(random)
        let recovery = try RecoveryDevice(code, realm)
        let key = try secured { () throws(CryptoError) in Secret(try random.secret(32)) }
        let identity = try makeIdentity(realm, [1: key])
        let (signing, box) = identity.device
        var operations: [RosterOperation<Secret>] = [
            .genesis(
                founder: identity.deviceID, recovery: recovery.identity.deviceID,
                recoveryMAC: recovery.proof(founder: signing, box, realm))
        ]
        let own = RosterDevice(
            id: identity.deviceID, signingKey: signing, boxKey: box, role: .owner, name: try Fleet.checked(deviceName))
        operations += [.enrol(own), .enrol(recovery.rosterDevice)]
        try vaulted { () throws(VaultError) in try vault.beginReplication() }
        try alone(realm) { () throws(SyncError) in
            let replica = try begin(identity)
            try show(code)
            _ = try replica.appendToRoster(operations, at: nil)
            try finish(replica, remote, deviceName)
        }
        return code
    }

    /// Checks whether a fleet could be founded, without any change.
    ///
    /// - Throws: `.alreadyJoined`; `.remoteInUse` if the folder has a fleet; the reason why the remote is unusable.
    package func checkCanFound(
        _ url: RemoteURL, credentials: RemoteCredentials = RemoteCredentials(), deviceName: String
    ) throws(SyncError) {
        guard try !isJoined else { throw .alreadyJoined }
        _ = try Fleet.checked(deviceName)
        guard try engines.realms(at: RemoteAccess(url, credentials)).isEmpty else { throw .remoteInUse }
    }

    static func checked(_ name: String) throws(SyncError) -> String {
        guard RosterDevice.isName(name) else { throw .format(.invalid(.device)) }
        return name
    }

    private func makeIdentity(_ realm: RealmID, _ keys: [UInt32: Secret]) throws(SyncError) -> Identity {
        let seeds = try secured { () throws(CryptoError) in Secret(try random.secret(64)) }
        return try Identity(realm, seeds: seeds, epochKeys: keys)
    }

    private func begin(_ identity: Identity) throws(SyncError) -> Replica<VaultItems> {
        var state = ReplicaState(log: Bytes16(random.bytes(16)))
        let before = try vaulted { () throws(VaultError) in
            try vault.readReplica { table throws(VaultError) in try table.replicaState(of: identity.realmID) }
        }
        if let before {
            // A backup, or a copy from another machine: its knowledge of the fleet separates this device's writes from
            // those of others.
            state = before.state
            (state.rosterSequence, state.rosterHash) = (0, .zero)
        } else {
            // The vault may have belonged to another fleet.
            try vaulted { () throws(VaultError) in
                try vault.changeReplica { changes throws(VaultError) in try changes.forgetFleet() }
            }
        }
        let items = VaultItems(vault, nil, of: identity.realmID, random: random)
        var policy = ReplicaPolicy()
        policy.withheldAfter = 86_400_000
        return try Replica(
            items, state, identity: identity, mirror: mirror(of: identity.realmID), policy: policy, random: random,
            clock: wallClock)
    }

    /// Stores the new membership, and syncs for the first time.
    private func finish(
        _ replica: Replica<VaultItems>, _ remote: RemoteAccess, _ deviceName: String
    ) throws(SyncError) {
        try replica.items.commit(ReplicaChange(), replica.state)
        try add(remote)
        // Done last: from here on the vault belongs to the fleet.
        try save(replica.identity, deviceName: deviceName)
        let membership = try membership()
        for outcome in try sync(self.replica(membership), membership, { _ in }) {
            if let error = outcome.error { throw error }
            if let alarm = outcome.alarms.first { throw .alarm(alarm) }
        }
    }

    // MARK: One more device, by a code

    /// Requests membership in the fleet of a folder.
    ///
    /// - Parameter given: the code of the request; `nil` makes a new one.
    package func requestToJoin(
        _ url: RemoteURL, credentials: RemoteCredentials = RemoteCredentials(),
        deviceName: String,
        code given: RecoveryCode? = nil
    ) throws(SyncError) -> JoinAttempt {
        let remote = RemoteAccess(url, credentials)
        guard try !isJoined else { throw .alreadyJoined }
        // Checked before anything is written there: a missing folder is reported.
        _ = try engines.realms(at: remote)
        let code = try given.orNew(random)
        let identity = try makeIdentity(.zero, [:])
        let (signing, box) = identity.device
        let request = JoinRequest(signingKey: signing, boxKey: box, name: try Fleet.checked(deviceName))
        let join = try JoinCode(code)
        let bytes = try formed { () throws(FormatError) in try request.encoded() }
        let mailbox = Mailbox(try store(at: remote, realm: .zero), join, random)
        try mailbox.put([.bytes(bytes)], 1, signedBy: identity)
        return JoinAttempt(
            self,
            JoinWish(
                code: code, mailbox: mailbox, identity: identity, remote: remote, deviceName: deviceName))
    }

    /// - Returns: whether the answer was there. If so, this vault is a member of the fleet and has its items.
    package func join(_ wish: JoinWish) throws(SyncError) -> Bool {
        guard let message = try wish.mailbox.message(2) else { return false }
        let parsed = try message.read { body throws(SyncError) in
            do throws(FormatError) { return try JoinGrant<Range<Int>>(parsing: body) } catch { throw .format(error) }
        }
        let grant = try parsed.map { range throws(SyncError) in try message.secret(range) }
        try join(grant, wish.identity, wish.remote, deviceName: wish.deviceName) { message.isSigned(by: $0) }
        try wish.mailbox.clear()
        return true
    }

    /// Accepts an owner's answer.
    private func join(
        _ grant: JoinGrant<Secret>, _ identity: Identity, _ remote: RemoteAccess, deviceName: String,
        isSigned: (Bytes32) -> Bool
    ) throws(SyncError) {
        let store = try store(at: remote, realm: grant.realmID)
        let identity = try identity.with(
            try pastKeys([grant.epoch: grant.key], grant.realmID, store), realm: grant.realmID)
        try vaulted { () throws(VaultError) in try vault.beginReplication() }
        try alone(grant.realmID) { () throws(SyncError) in
            let replica = try begin(identity)
            try replica.followRoster(store)
            guard replica.roster.sequence >= grant.rosterSequence else {
                throw .alarm(Alarm(.withheld, nil, grant.rosterSequence, "the roster that the owner has"))
            }
            guard replica.roster.hashes[Int(grant.rosterSequence) - 1] == grant.rosterHash,
                replica.roster.devices.contains(where: { $0.role == .owner && isSigned($0.signingKey) })
            else { throw .alarm(Alarm(.forged, nil, grant.rosterSequence, "an answer that is not an owner's")) }
            guard replica.roster.device(identity.deviceID) != nil else { throw .removed }
            try finish(replica, remote, deviceName)
        }
        try checkHeads(grant)
    }

    /// Throws an alarm if the remote shows less than the owner had: the remote withholds records.
    private func checkHeads(_ grant: JoinGrant<Secret>) throws(SyncError) {
        let state = try membership().state
        for head in grant.heads where state.logs[head.log]?.head?.sequence ?? 0 < head.sequence {
            guard state.logs[head.log]?.base ?? 0 <= head.sequence, state.logs[head.log]?.end == nil else { continue }
            throw .alarm(Alarm(.withheld, head.log, head.sequence, "a log that the owner has"))
        }
    }

    /// Reads the keys of earlier epochs: the record of each later epoch contains the key before it.
    private func pastKeys(
        _ known: [UInt32: Secret], _ realm: RealmID, _ store: any RecordStore
    ) throws(SyncError) -> [UInt32: Secret] {
        var keys = known
        for record in try rosterRecords(realm, store).reversed() {
            guard let sealed = try? SealedRecord(parsing: record.bytes, .roster), let key = keys[sealed.epoch],
                sealed.epoch > 1, keys[sealed.epoch - 1] == nil
            else { continue }
            // Anyone can leave a record here that does not open. The check of the roster covers the genuine records.
            guard
                let content = try? RecordSealer(realmID: realm, random: random).open(
                    sealed, at: record.address, key: key),
                let length = try? RecordSealer.bodyLength(content, record.address)
            else { continue }
            let entry = content.withBytes { body in
                try? RosterEntry<Range<Int>>(parsing: body.extracting(0..<length))
            }
            for case .epoch(let range, _) in entry?.operations ?? [] {
                keys[sealed.epoch - 1] = try secured { () throws(CryptoError) in
                    Secret(try content.copy(of: range))
                }
            }
        }
        return keys
    }

    private func rosterRecords(_ realm: RealmID, _ store: any RecordStore) throws(SyncError) -> [StoredRecord] {
        var records: [StoredRecord] = []
        var length = 0
        do throws(RecordStoreError) {
            try store.read([StreamStart(RecordStream(.roster, realm), from: 1)]) { record throws(RecordStoreError) in
                length += record.bytes.count
                // Before a key is known, junk looks like a roster.
                guard length <= Junk.mostBytes else { throw .stopped }
                records.append(record)
            }
        } catch {
            throw error == .stopped
                ? .alarm(Alarm(.damaged, nil, 0, "more records than any list of devices has")) : .store(error)
        }
        return records
    }

    // MARK: One more device, by the recovery code

    package func join(
        _ url: RemoteURL, credentials: RemoteCredentials = RemoteCredentials(),
        with code: RecoveryCode,
        deviceName: String
    ) throws(SyncError) {
        let remote = RemoteAccess(url, credentials)
        guard try !isJoined else { throw .alreadyJoined }
        for realm in try engines.realms(at: remote) {
            let recovery = try RecoveryDevice(code, realm)
            let store = try store(at: remote, realm: realm)
            guard let newest = try newestKey(realm, store, recovery.identity) else { continue }
            let keys = try pastKeys(newest, realm, store)
            return try recover(recovery, keys, remote, deviceName)
        }
        throw .wrongRecoveryCode
    }

    /// Returns the newest key that a roster contains for a device.
    private func newestKey(
        _ realm: RealmID, _ store: any RecordStore, _ identity: Identity
    ) throws(SyncError) -> [UInt32: Secret]? {
        for record in try rosterRecords(realm, store).reversed() {
            guard let sealed = try? SealedRecord(parsing: record.bytes, .roster) else { continue }
            for index in 0..<sealed.sealCount {
                guard let range = sealed.seal(at: index),
                    let key = try? identity.box.open(record.bytes.span.extracting(range)), key.count == 32
                else { continue }
                return [sealed.epoch: Secret(key)]
            }
        }
        return nil
    }

    private func recover(
        _ recovery: RecoveryDevice, _ keys: [UInt32: Secret], _ remote: RemoteAccess, _ deviceName: String
    ) throws(SyncError) {
        let realm = recovery.identity.realmID
        let store = try store(at: remote, realm: realm)
        let identity = try makeIdentity(realm, keys)
        let (signing, box) = identity.device
        try vaulted { () throws(VaultError) in try vault.beginReplication() }
        try alone(realm) { () throws(SyncError) in
            let replica = try begin(identity)
            try follow(replica, store, recovery.identity)
            repeat {
                let roster = replica.roster
                guard let founder = roster.founder.flatMap({ roster.known[$0] }),
                    roster.recovery == recovery.identity.deviceID,
                    recovery.proof(founder: founder.signingKey, founder.boxKey, realm) == roster.recoveryMAC
                else { throw .wrongRecoveryCode }
                let device = RosterDevice(
                    id: identity.deviceID, signingKey: signing, boxKey: box, role: .owner,
                    name: Fleet.free(try Fleet.checked(deviceName), roster))
                if try replica.appendToRoster([.enrol(device)], signedBy: recovery.identity, at: store) { break }
                let sequence = replica.roster.sequence
                try follow(replica, store, recovery.identity)
                guard replica.roster.sequence > sequence else { throw .store(.unreachable(remote.url.text)) }
            } while true
            try finish(replica, remote, deviceName)
        }
    }

    /// Follows the roster with the keys that a recovery code has opened.
    ///
    /// - Throws: `.wrongRecoveryCode` if a later code has replaced this one.
    private func follow(
        _ replica: Replica<VaultItems>, _ store: any RecordStore, _ recovery: Identity
    ) throws(SyncError) {
        do throws(SyncError) { try replica.followRoster(store) } catch {
            guard case .alarm(let alarm) = error, alarm.log == nil else { throw error }
            let address = RecordAddress(replica.member.rosterStream, alarm.sequence)
            let bytes = try stored { () throws(RecordStoreError) in try store.record(at: address) }
            guard let record = bytes.flatMap({ try? SealedRecord(parsing: $0, .roster) }),
                replica.member.isFarewell(record, at: address, to: recovery)
            else { throw error }
            throw .wrongRecoveryCode
        }
    }

    /// Returns the name, with a number if another device has the same.
    static func free(_ name: String, _ roster: Roster) -> String {
        let taken = Set(roster.devices.map(\.name))
        guard taken.contains(name) else { return name }
        var stem = name
        while stem.utf8.count > 240 { stem.removeLast() }
        for number in 2... {
            let other = stem + " \(number)"
            if !taken.contains(other) { return other }
        }
        return name
    }
}

extension RecoveryCode? {
    func orNew(_ random: any RandomSource) throws(SyncError) -> RecoveryCode {
        if let self { return self }
        return try secured { () throws(CryptoError) in try RecoveryCode(random) }
    }
}
