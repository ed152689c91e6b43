// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

extension SyncRun {
    /// Applies the roster's records in the mirror, as far as this device has followed the roster.
    func replayRoster() throws(SyncError) {
        guard member.roster.sequence < state.rosterSequence else { return }
        let before = member
        do throws(SyncError) {
            try mirror.read(member.rosterStream) { record throws(SyncError) in
                if record.address.sequence == member.roster.sequence + 1 {
                    try takeRoster(record.bytes, at: record.address, isFollowed: true)
                }
                return member.roster.sequence < state.rosterSequence
            }
        } catch { guard error.isOfRecord else { throw error } }
        // Only the last record proves that the chain before it is the followed one. Without it the roster is read from
        // a remote again.
        if member.roster.sequence != state.rosterSequence { takeBack(before) }
    }

    private func takeBack(_ before: Member) { (member, othersAt) = (before, nil) }

    /// Follows the remote's roster beyond the known records.
    func followRoster(_ heads: [RecordStream: StreamHead]? = nil) throws(SyncError) {
        let head = heads?[member.rosterStream]
        if let last = head?.last, last < state.rosterSequence {
            note(Alarm(.rolledBack, nil, last, "the roster had \(state.rosterSequence) records, and has \(last)"))
        }
        // The last known record is read again: it must be the same.
        let known = head?.isWhole ?? true ? min(member.roster.sequence, head?.last ?? .max) : 1
        var unproven: [StoredRecord] = []
        try read(member.rosterStream, from: max(known, 1)) { record throws(SyncError) in
            try checkGoesOn()
            return try follow(record, &unproven)
        }
        guard member.roster.sequence >= state.rosterSequence else {
            takeBack(committed)
            throw .alarm(Alarm(.withheld, nil, state.rosterSequence, "the roster that this device has followed"))
        }
    }

    /// - Parameter unproven: records that enter the mirror once the chain is proven to be the one that this device
    ///   has followed before.
    /// - Returns: whether the next record can follow.
    private func follow(_ record: StoredRecord, _ unproven: inout [StoredRecord]) throws(SyncError) -> Bool {
        let sequence = record.address.sequence
        if sequence <= member.roster.sequence {
            if !isKnown(record) { try settleRoster() }
            return true
        }
        guard sequence == member.roster.sequence + 1 else { return false }
        let before = member
        do throws(SyncError) { try takeRoster(record.bytes, at: record.address) } catch {
            guard case .alarm(let alarm) = error, before.opensRecord(sequence) else { throw error }
            let isMembers = try isRosterRecord(record)
            if alarm.kind == .forked, isMembers || sequence == state.rosterSequence { throw error }
            // The operator of a remote can put anything here. This must not stop the logs: the operator could as well
            // hide the genuine record.
            takeBack(before)
            raise(alarm.kind == .forked ? record.address.alarm(.damaged, "a record that no owner signed") : alarm)
            // If this device has followed the record before, another device has the genuine one, and restores it once
            // the address is free. The author of a new record finds out without help.
            if sequence <= state.rosterSequence, !isMembers { clear(record) }
            return false
        }
        unproven.append(record)
        guard member.roster.sequence >= state.rosterSequence else { return true }
        for record in unproven where try mirror.bytes(at: record.address) != record.bytes {
            try mirror.drop(record.address)
            try mirror.add([record])
        }
        unproven = []
        // Followed records stay followed even if the rest of the run fails.
        noteCommitted()
        if member.roster.device(member.deviceID) == nil, member.roster.known[member.deviceID] != nil { throw .removed }
        return true
    }

    /// Whether a record is the one that this device followed at its address.
    func isKnown(_ record: StoredRecord) -> Bool {
        let index = record.address.sequence &- 1
        guard index < member.roster.sequence else { return false }
        return member.roster.hashes[Int(index)] == sealer.hash(record.address, record.bytes)
    }

    /// Compares the remote's roster with the followed one. Altered records are replaced; a second chain requires a
    /// person.
    func settleRoster() throws(SyncError) {
        var refused = 0
        try read(member.rosterStream, from: 1) { record throws(SyncError) in
            try checkGoesOn()
            guard record.address.sequence <= member.roster.sequence else { return false }
            if isKnown(record) { return true }
            guard try !isRosterRecord(record) else {
                throw .alarm(record.address.alarm(.forked, "the roster was changed on both sides"))
            }
            refused += 1
            raise(record.address.alarm(.damaged, "an altered record of the roster"))
            if let mine = try mirror.bytes(at: record.address), isKnown(StoredRecord(record.address, mine)) {
                try replace(at: record.address, with: mine)
            } else {
                clear(record)
            }
            return refused < Junk.mostRecords
        }
    }

    /// Whether an owner has signed a record of the roster for its address: the record itself, or a farewell in it.
    func isRosterRecord(_ stored: StoredRecord) throws(SyncError) -> Bool {
        guard let record = try? SealedRecord(parsing: stored.bytes, .roster) else { return false }
        let owners = member.roster.known.values.filter { $0.role == .owner || $0.role == .recovery }
        if let content = try content(of: record, at: stored.address) {
            guard let length = try? RecordSealer.bodyLength(content, stored.address) else { return false }
            let entry = content.withBytes { body in
                try? RosterEntry<Range<Int>>(parsing: body.extracting(0..<length))
            }
            guard let entry, let signer = owners.first(where: { $0.id == entry.signer }) else { return false }
            return sealer.isSigned(content, record, .roster, by: signer.signingKey)
        }
        // The remover in the other chain may have been removed in this one.
        return Farewell.isSaid(
            by: record, at: stored.address.sequence, to: member.identity, signers: owners.map(\.signingKey))
    }

    /// Returns `nil` if no key of this device opens the record.
    private func content(of record: SealedRecord, at address: RecordAddress) throws(SyncError) -> SecretBytes? {
        func opened(_ key: Secret) throws(SyncError) -> SecretBytes? {
            do throws(SyncError) { return try sealer.open(record, at: address, key: key) } catch {
                guard error.isOfRecord else { throw error }
                return nil
            }
        }
        if let key = member.identity.epochKeys[record.epoch], let content = try opened(key) { return content }
        // Two chains have two keys of one epoch. The key of the other chain is sealed to its members.
        guard let key = openSeal(of: record) else { return nil }
        return try opened(key)
    }

    /// Applies the next record of the roster.
    ///
    /// - Parameter isFollowed: whether only records that this device has followed are applied: then the hash of the
    ///   last one, which the file knows, proves that all of them were checked.
    func takeRoster(_ bytes: [UInt8], at address: RecordAddress, isFollowed: Bool = false) throws(SyncError) {
        let record: SealedRecord
        do throws(FormatError) { record = try SealedRecord(parsing: bytes, .roster) } catch {
            throw .alarm(address.alarm(.damaged, "not a record of the roster"))
        }
        let key: Secret
        let isNewKey = member.identity.epochKeys[record.epoch] == nil
        if let known = member.identity.epochKeys[record.epoch] {
            key = known
        } else {
            guard record.epoch == member.roster.epoch &+ 1 else {
                throw .alarm(address.alarm(.damaged, "a roster of an epoch that does not follow"))
            }
            guard let found = openSeal(of: record) else {
                // The operator of a remote can put a record here that no device opens, so only a farewell is believed.
                guard member.isFarewell(record, at: address, to: member.identity) else {
                    throw .alarm(address.alarm(.damaged, "a roster's record that has no key for this device"))
                }
                throw .removed
            }
            key = found
        }
        let content = try sealer.open(record, at: address, key: key)
        let length = try RecordSealer.bodyLength(content, address)
        let entry: RosterEntry<Range<Int>>
        do throws(FormatError) {
            entry = try content.withBytes { body throws(FormatError) in
                try RosterEntry(parsing: body.extracting(0..<length))
            }
        } catch { throw .alarm(address.alarm(.damaged, "a malformed record of the roster")) }
        guard entry.epoch == record.epoch else { throw .alarm(address.alarm(.damaged, "a roster of another epoch")) }
        for case .epoch(_, let hash) in entry.operations
        where hash != Bytes32(key.withBytes { KeyedHash.digest($0) }.bytes.span) {
            throw .alarm(address.alarm(.forged, "another key than the roster's"))
        }
        let removals = try member.roster.apply(entry, hash: sealer.hash(address, bytes), at: address) { publicKey in
            isFollowed || sealer.isSigned(content, record, .roster, by: publicKey)
        }
        othersAt = nil
        if isNewKey { member.identity = try member.identity.with([record.epoch: key]) }
        guard address.sequence > state.rosterSequence else {
            // This device has followed the record before, and knows its effect.
            guard address.sequence < state.rosterSequence || member.roster.hash == state.rosterHash else {
                throw .alarm(address.alarm(.forked, "another roster than the one that was followed"))
            }
            return
        }
        for removal in removals { member.end(removal) }
        let roster = member.roster
        (state.rosterSequence, state.rosterHash, state.epoch) = (roster.sequence, roster.hash, roster.epoch)
    }

    /// Returns the key that the record seals to this device, or `nil`.
    private func openSeal(of record: SealedRecord) -> Secret? {
        // Seals are in the order of the roster, from which this record may remove devices.
        let place = member.roster.devices.firstIndex { $0.id == member.deviceID } ?? 0
        let likely = stride(from: min(place, record.sealCount - 1), through: 0, by: -1)
        for index in Array(likely) + Array((min(place, record.sealCount - 1) + 1)..<max(record.sealCount, 1)) {
            guard let range = record.seal(at: index),
                let opened = try? member.identity.box.open(record.bytes.span.extracting(range)), opened.count == 32
            else { continue }
            return Secret(opened)
        }
        return nil
    }

    /// Signs a record of the roster and appends it to the remote's chain. Without a remote it goes only into the
    /// mirror: the first record of a new realm, which the first sync uploads.
    ///
    /// - Parameters:
    ///   - newKey: the key of the next epoch, for the remaining members.
    ///   - signer: a signer other than this device: the recovery code's.
    /// - Returns: `false` if another device was faster.
    func appendToRoster(
        _ operations: [RosterOperation<Secret>], newKey: Secret? = nil, signedBy signer: Identity? = nil
    ) throws(SyncError) -> Bool {
        let signer = signer ?? member.identity
        let epoch = newKey == nil ? max(member.roster.epoch, 1) : member.roster.epoch + 1
        guard let key = newKey ?? member.identity.epochKeys[epoch] else { throw .notJoined }
        var seals: [[UInt8]] = []
        if newKey != nil || member.roster.sequence == 0 {
            for device in recipients(operations) {
                seals.append(
                    try secured { () throws(CryptoError) in
                        try BoxKeyPair.seal(key.bytes, to: device.boxKey.bytes.span)
                    })
            }
        }
        let sequence = member.roster.sequence + 1
        var farewells: [[UInt8]] = []
        for case .remove(let gone, _) in operations {
            guard let device = member.roster.device(gone) else { throw .noSuchDevice }
            farewells.append(try Farewell.seal(to: device, member.realmID, sequence, signedBy: signer))
        }
        let stamp = member.tick(wall(), above: try items.moment().newest)
        let entry = RosterEntry<Secret>(
            epoch: epoch, realmID: member.realmID, sequence: sequence, previous: member.roster.hash,
            signer: signer.deviceID, hlc: stamp, operations: operations)
        let address = RecordAddress(member.rosterStream, entry.sequence)
        let pieces = try formed { () throws(FormatError) in try entry.pieces() }
        let record = try sealer.seal(
            pieces, at: address, epoch: epoch, key: key, seals: seals, farewells: farewells, signedBy: signer)
        if let store {
            let appended = try stored { () throws(RecordStoreError) in
                try store.append([StoredRecord(address, record)])
            }
            guard appended.first != .differs else { return false }
        }
        if let newKey { member.identity = try member.identity.with([epoch: newKey]) }
        try mirror.add([StoredRecord(address, record)])
        try takeRoster(record, at: address)
        return true
    }

    /// Makes the key of the next epoch, and the operation that begins it.
    func makeEpoch() throws(SyncError) -> (key: Secret, operation: RosterOperation<Secret>) {
        guard let before = member.identity.epochKeys[member.roster.epoch] else { throw .notJoined }
        let key = try secured { () throws(CryptoError) in Secret(try random.secret(32)) }
        let hash = Bytes32(key.withBytes { KeyedHash.digest($0) }.bytes.span)
        return (key, .epoch(previousKey: before, keyHash: hash))
    }

    /// Follows the roster after another device has taken the next record's place.
    func followFaster() throws(SyncError) {
        let sequence = member.roster.sequence
        try followRoster()
        guard member.roster.sequence > sequence else {
            let address = RecordAddress(member.rosterStream, sequence + 1)
            throw .alarm(address.alarm(.damaged, "the next place of the roster holds something else than a record"))
        }
    }

    /// Returns the members after the operations, in the order of the roster.
    private func recipients(_ operations: [RosterOperation<Secret>]) -> [RosterDevice] {
        var devices = member.roster.devices
        for operation in operations {
            switch operation {
            case .enrol(let device): devices.append(device)
            case .remove(let gone, _): devices.removeAll { $0.id == gone }
            case .genesis, .epoch, .recovery: break
            }
        }
        return devices
    }
}
