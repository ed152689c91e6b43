// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

// Checks of records against their addresses, by their bytes and the member's knowledge.

extension SyncRun {
    /// Checks that a record of the mirror is an entry of its address, written by the device that owns the log.
    ///
    /// - Returns: `nil` if the record is beyond the log's end and does not count.
    func check(_ log: LogID, _ sequence: UInt64) throws(Obstacle) -> CheckedEntry? {
        let address = RecordAddress(RecordStream(.log, log), sequence)
        if member.isBeyondEnd(log, sequence) { return nil }
        if let known = checks.entries[address] { return known }
        guard let bytes = try checking({ () throws(SyncError) in try mirror.bytes(at: address) }) else { return nil }
        return try check(bytes, at: address)
    }

    /// Does the check of ``check(_:_:)`` on bytes from anywhere.
    func check(_ bytes: [UInt8], at address: RecordAddress) throws(Obstacle) -> CheckedEntry? {
        let (log, sequence) = (address.stream.name, address.sequence)
        if member.isBeyondEnd(log, sequence) { return nil }
        let record = try parse(bytes, at: address)
        let content = try open(record, at: address)
        let entry = try EntryBody.parse(content, at: address, withItems: false)
        guard entry.logID == log, entry.sequence == sequence, entry.realmID == member.realmID,
            entry.epoch == record.epoch
        else {
            throw .stops(address.alarm(.damaged, "an entry of another place"))
        }
        guard entry.rosterSequence <= member.roster.sequence else { throw .waits(.roster(entry.rosterSequence)) }
        guard entry.rosterSequence >= 1, member.roster.hashes[Int(entry.rosterSequence) - 1] == entry.rosterHash else {
            throw .stops(address.alarm(.forked, "an entry that knows another roster"))
        }
        if let owner = state.logs[log]?.device, owner != entry.deviceID {
            throw .stops(address.alarm(.forged, "an entry in the log of another device"))
        }
        guard let author = member.roster.known[entry.deviceID], author.writes else {
            throw .stops(address.alarm(.forged, "an entry of a device that is not a member"))
        }
        // Checked before the author's membership: otherwise any holder of a fleet key could name any device as the
        // author.
        guard sealer.isSigned(content, record, .log, by: author.signingKey) else {
            throw .stops(address.alarm(.forged, "an entry with a wrong signature"))
        }
        if member.roster.device(author.id) == nil, state.logs[log]?.end == nil {
            // The author was removed, and its remover did not know this log. Only the record after the head ends the
            // log here, not one far beyond it: another device may have read earlier records that this one has not.
            if sequence == member.head(log) + 1 {
                state.logs[log, default: LogState()].device = author.id
                state.logs[log]?.end = 0
                othersAt = nil
            }
            return nil
        }
        let result = CheckedEntry(entry, hash: sealer.hash(address, bytes))
        checks.entries[address] = result
        checks.opened[address] = Secret(content)
        return result
    }

    /// Whether a device has written a record of its address.
    func isEntry(_ stored: StoredRecord, by device: DeviceID) throws(SyncError) -> Bool {
        let address = stored.address
        let own = device == member.deviceID ? member.identity.device.signing : nil
        guard let key = own ?? member.roster.known[device]?.signingKey else { return false }
        do throws(Obstacle) {
            let record = try parse(stored.bytes, at: address)
            let content = try open(record, at: address)
            let entry = try EntryBody.parse(content, at: address, withItems: false)
            return entry.logID == address.stream.name && entry.sequence == address.sequence
                && entry.realmID == member.realmID && entry.deviceID == device
                && sealer.isSigned(content, record, .log, by: key)
        } catch {
            if case .fails(let error) = error { throw error }
            return false
        }
    }

    func parse(_ bytes: [UInt8], at address: RecordAddress) throws(Obstacle) -> SealedRecord {
        do throws(FormatError) { return try SealedRecord(parsing: bytes, address.stream.kind) } catch {
            throw .stops(address.alarm(.damaged, "not a record"))
        }
    }

    func open(_ record: SealedRecord, at address: RecordAddress) throws(Obstacle) -> SecretBytes {
        guard let key = member.identity.epochKeys[record.epoch] else {
            // A member has the keys of all epochs up to the roster's.
            guard record.epoch > member.roster.epoch else { throw .stops(address.alarm(.damaged, "an altered record")) }
            throw .waits(.epoch(record.epoch))
        }
        return try checking { () throws(SyncError) in try sealer.open(record, at: address, key: key) }
    }

    /// Returns the items of a checked entry, with their secrets and large values.
    func items(of log: LogID, _ sequence: UInt64) throws(Obstacle) -> [ItemState<Secret>] {
        let address = RecordAddress(RecordStream(.log, log), sequence)
        if let decoded = checks.decoded.removeValue(forKey: address)?.value {
            checks.opened[address] = nil
            return try withBlobs(decoded, at: address)
        }
        let content: Secret
        if let opened = checks.opened.removeValue(forKey: address) {
            content = opened
        } else {
            // The mirror can be lost or restored meanwhile: only the record that was checked counts.
            guard let bytes = try checking({ () throws(SyncError) in try mirror.bytes(at: address) }),
                checks.entries[address].map({ $0.hash == sealer.hash(address, bytes) }) ?? true
            else { throw .waits(.entry(log, sequence)) }
            content = Secret(try open(try parse(bytes, at: address), at: address))
        }
        return try withBlobs(EntryBody.items(of: content, at: address), at: address)
    }

    /// Decodes the items of checked entries on another thread, while earlier entries are applied. Errors in an entry
    /// surface at its turn.
    func decodeAhead(_ records: [StoredRecord]) {
        for record in records {
            let address = record.address
            guard let content = checks.opened[address] else { continue }
            checks.decoded[address] = Later(on: helper) { try? EntryBody.items(of: content, at: address) }
        }
    }

    /// Returns the items with the values of their blobs.
    private func withBlobs(
        _ items: [ItemState<Secret>], at address: RecordAddress
    ) throws(Obstacle) -> [ItemState<Secret>] {
        var items = items
        // Items can name one large value any number of times.
        var large: [BlobReference: Secret] = [:]
        for index in items.indices {
            for (field, values) in items[index].fields {
                for (dot, value) in values {
                    guard case .blob(let reference) = value else { continue }
                    let value: Secret
                    if let known = large[reference] { value = known } else { value = try blob(reference) }
                    large[reference] = value
                    guard !field.isSecret else {
                        items[index].fields[field]?[dot] = .secret(value)
                        continue
                    }
                    let plain = value.withBytes { try? FieldValue<Secret>(checking: $0, of: field) }
                    guard let plain else { throw .stops(address.alarm(.damaged, "a malformed large value")) }
                    items[index].fields[field]?[dot] = plain
                }
            }
        }
        return items
    }

    /// Returns the stamp and the items of an entry from anywhere. The caller has checked its signature.
    func entry(of record: StoredRecord) throws(Obstacle) -> (hlc: UInt64, items: [ItemState<Secret>]) {
        let content = Secret(try open(try parse(record.bytes, at: record.address), at: record.address))
        let entry = try EntryBody.parse(content.bytes, at: record.address, withItems: false)
        return (entry.hlc, try withBlobs(EntryBody.items(of: content, at: record.address), at: record.address))
    }

    /// Returns the large values that an entry of the mirror names.
    func blobs(of log: LogID, _ sequence: UInt64) throws(Obstacle) -> [BlobReference] {
        let address = RecordAddress(RecordStream(.log, log), sequence)
        if let known = checks.blobs[address] { return known }
        guard let bytes = try checking({ () throws(SyncError) in try mirror.bytes(at: address) }) else { return [] }
        let found = try blobs(in: bytes, at: address)
        checks.blobs[address] = found
        return found
    }

    func blobs(in bytes: [UInt8], at address: RecordAddress) throws(Obstacle) -> [BlobReference] {
        let content = try open(try parse(bytes, at: address), at: address)
        return try EntryBody.parse(content, at: address, withItems: true).items.flatMap(\.blobs)
    }
}

/// The results of a run's checks of records, which never change.
struct RecordChecks {
    var entries: [RecordAddress: CheckedEntry] = [:]
    /// The bodies of entries that were just checked, until they are applied.
    var opened: [RecordAddress: Secret] = [:]
    /// Their items, which another thread decodes; `nil` if the decoding fails.
    var decoded: [RecordAddress: Later<[ItemState<Secret>]?>] = [:]
    /// The large values of the entries that were examined.
    var blobs: [RecordAddress: [BlobReference]] = [:]
}
