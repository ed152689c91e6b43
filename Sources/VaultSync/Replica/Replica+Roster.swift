// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

extension Replica {
    var rosterStream: RecordStream { RecordStream(.roster, realmID) }

    /// Takes the records of the roster that the mirror has, as far as this device has followed it.
    func replayRoster() throws(SyncError) {
        while roster.sequence < state.rosterSequence {
            let address = RecordAddress(rosterStream, roster.sequence + 1)
            guard let bytes = try mirror.bytes(at: address) else { return }
            try takeRoster(bytes, at: address)
        }
    }

    /// Applies the next record of the roster.
    func takeRoster(_ bytes: [UInt8], at address: RecordAddress) throws(SyncError) {
        let record: SealedRecord
        do throws(FormatError) { record = try SealedRecord(parsing: bytes, .roster) } catch {
            throw .alarm(address.alarm(.damaged, "no record of a roster"))
        }
        let key: Secret
        let isNewKey = identity.epochKeys[record.epoch] == nil
        if let known = identity.epochKeys[record.epoch] {
            key = known
        } else {
            guard record.epoch == roster.epoch &+ 1 else {
                throw .alarm(address.alarm(.damaged, "a roster of an epoch that does not follow"))
            }
            guard let found = openSeal(of: record) else {
                // The operator of a remote can put a record here that no device opens: a farewell alone is believed.
                guard isFarewell(record, at: address, to: identity) else {
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
        } catch { throw .alarm(address.alarm(.damaged, "a record of a roster that is none")) }
        guard entry.epoch == record.epoch else { throw .alarm(address.alarm(.damaged, "a roster of another epoch")) }
        for case .epoch(_, let hash) in entry.operations
        where hash != Bytes32(key.withBytes { KeyedHash.digest($0) }.bytes.span) {
            throw .alarm(address.alarm(.forged, "another key than the roster's"))
        }
        let removals = try roster.apply(entry, hash: sealer.hash(address, bytes), at: address) { publicKey in
            sealer.isSigned(content, record, .roster, by: publicKey)
        }
        othersAt = nil
        if isNewKey { identity = try identity.with([record.epoch: key]) }
        guard address.sequence > state.rosterSequence else {
            // It was followed before: what it did is known.
            guard address.sequence < state.rosterSequence || roster.hash == state.rosterHash else {
                throw .alarm(address.alarm(.forked, "another roster than the one that was followed"))
            }
            return
        }
        for removal in removals { end(removal) }
        (state.rosterSequence, state.rosterHash, state.epoch) = (roster.sequence, roster.hash, roster.epoch)
    }

    /// The key that the record has for this device. Nil: the record has none.
    private func openSeal(of record: SealedRecord) -> Secret? {
        // In the order of the roster, from which some go with this very record.
        let place = roster.devices.firstIndex { $0.id == deviceID } ?? 0
        let likely = stride(from: min(place, record.sealCount - 1), through: 0, by: -1)
        for index in Array(likely) + Array((min(place, record.sealCount - 1) + 1)..<max(record.sealCount, 1)) {
            guard let range = record.seal(at: index),
                let opened = try? identity.box.open(record.bytes.span.extracting(range)), opened.count == 32
            else { continue }
            return Secret(opened)
        }
        return nil
    }

    /// Whether the record, which is the next of the roster, tells a device that an owner removes it.
    func isFarewell(_ record: SealedRecord, at address: RecordAddress, to device: Identity) -> Bool {
        Farewell.isSaid(
            by: record, at: address.sequence, to: device, signers: roster.owners.map(\.signingKey))
    }

    private func end(_ removal: Roster.Removal) {
        let cuts = Set(removal.cuts.map(\.log))
        for (log, known) in state.logs where known.device == removal.device && !cuts.contains(log) {
            end(log, at: 0, .zero)
        }
        for cut in removal.cuts {
            state.logs[cut.log, default: LogState()].device = removal.device
            end(cut.log, at: cut.sequence, cut.hash)
        }
    }

    /// Entries behind the end are refused from now on; what was accepted of them already is vouched for: this device
    /// tells it under its own name.
    func end(_ log: LogID, at cut: UInt64, _ hash: Bytes32) {
        othersAt = nil
        let old = state.logs[log]?.end
        let end = min(cut, old ?? cut)
        if old == nil || cut < (old ?? cut) {
            state.logs[log, default: LogState()].end = end
            state.logs[log]?.endHash = hash
        }
        let head = head(log)
        if log != state.log, head > cut, old.map({ head > min($0, cut) && cut < $0 }) ?? true {
            state.retellsEnded = true
        }
    }

    /// Signs a record of the roster and puts it at the remote's end of the chain.
    ///
    /// - Parameters:
    ///   - newKey: of the next epoch, for those who remain.
    ///   - signer: another device than this one: the recovery code's.
    ///   - store: nil for the first record of a new realm, which goes up with the first sync.
    /// - Returns: false when another device was faster.
    package func appendToRoster(
        _ operations: [RosterOperation<Secret>], newKey: Secret? = nil, signedBy signer: Identity? = nil,
        at store: (any RecordStore)?
    ) throws(SyncError) -> Bool {
        let signer = signer ?? identity
        let epoch = newKey == nil ? max(roster.epoch, 1) : roster.epoch + 1
        guard let key = newKey ?? identity.epochKeys[epoch] else { throw .notJoined }
        var seals: [[UInt8]] = []
        if newKey != nil || roster.sequence == 0 {
            for device in recipients(operations) {
                seals.append(
                    try secured { () throws(CryptoError) in
                        try BoxKeyPair.seal(key.bytes, to: device.boxKey.bytes.span)
                    })
            }
        }
        let sequence = roster.sequence + 1
        var farewells: [[UInt8]] = []
        for case .remove(let gone, _) in operations {
            guard let device = roster.device(gone) else { throw .noSuchDevice }
            farewells.append(try Farewell.seal(to: device, realmID, sequence, signedBy: signer))
        }
        let entry = RosterEntry<Secret>(
            epoch: epoch, realmID: realmID, sequence: sequence, previous: roster.hash,
            signer: signer.deviceID, hlc: tick(), operations: operations)
        let address = RecordAddress(rosterStream, entry.sequence)
        let pieces = try formed { () throws(FormatError) in try entry.pieces() }
        let record = try sealer.seal(
            pieces, at: address, epoch: epoch, key: key, seals: seals, farewells: farewells, signedBy: signer)
        if let store {
            let appended = try stored { () throws(RecordStoreError) in
                try store.append([StoredRecord(address, record)])
            }
            guard appended.first != .differs else { return false }
        }
        if let newKey { identity = try identity.with([epoch: newKey]) }
        try mirror.add([StoredRecord(address, record)])
        try takeRoster(record, at: address)
        return true
    }

    /// Another epoch's key, and the operation that begins it.
    func makeEpoch() throws(SyncError) -> (key: Secret, operation: RosterOperation<Secret>) {
        guard let before = identity.epochKeys[roster.epoch] else { throw .notJoined }
        let key = try secured { () throws(CryptoError) in Secret(try random.secret(32)) }
        let hash = Bytes32(key.withBytes { KeyedHash.digest($0) }.bytes.span)
        return (key, .epoch(previousKey: before, keyHash: hash))
    }

    /// Follows the roster to the record of another device that was faster.
    func followFaster(_ store: any RecordStore) throws(SyncError) {
        let sequence = roster.sequence
        try followRoster(store)
        guard roster.sequence > sequence else {
            let address = RecordAddress(rosterStream, sequence + 1)
            throw .alarm(address.alarm(.damaged, "something that is no record is in the place of the roster's next"))
        }
    }

    /// Those who are members after the operations, in the order of the roster.
    private func recipients(_ operations: [RosterOperation<Secret>]) -> [RosterDevice] {
        var devices = roster.devices
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
