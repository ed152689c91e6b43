// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat

extension VaultStore {
    /// What a rekey did.
    public struct Rekeyed: Equatable, Sendable {
        /// Values that were opened and sealed again.
        public var values = 0
        /// Items of other devices, which nobody can open here: they went.
        public var foreign = 0
    }

    /// Draws a new vault key and seals everything anew under it. A copy of the file from before opens with the old secrets and shows what was in
    /// it, and nothing that comes later.
    ///
    /// - Parameters:
    ///   - entries: who may open the vault from now on, one or more of them a person; every other slot goes.
    ///   - report: hears how much is done, from 0 to 1.
    /// - Throws: `.slot(.lastForPeople)`, `.locked`, `.damaged` for a value that does not open; nothing changed then.
    public func rekey(_ entries: [SlotEntry], report: (Double) -> Void) throws(StorageError) -> Rekeyed {
        try check()
        try checkWritable()
        guard !keys.isLocked else { throw .locked }
        guard entries.contains(where: { $0.secret.kind.isForPeople }) || !header.slots.contains(where: { $0.kind.isForPeople }) else {
            throw .slot(.lastForPeople)
        }
        let before = header.slots
        let vaultKey = try secured { () throws(CryptoError) in try environment.random.secret(32) }
        let slots = try environment.makeSlots(entries, vaultKey, header.vaultID)
        let fresh: VaultKeys
        do throws(CryptoError) { fresh = try VaultKeys(vaultKey: vaultKey, vaultID: header.vaultID) } catch { throw StorageError(error) }
        try lock.lock()
        defer { lock.unlock() }
        try catchUp(repairing: false)
        // Somebody has changed a passphrase, or added a way in, which would be undone without a word.
        guard header.slots == before else { throw .slot(.changed) }
        location.removeLeftovers()
        try checkEverything()
        let done = try writeAnew(slots, fresh, report)
        keys = fresh
        // What this device calls itself depends on the key; it is looked for again.
        device = nil
        do throws(StorageError) {
            try reopen()
            isNameDurable = true
        } catch {
            // The rekey is done; the next call reads the file in any case.
            forgetFile()
        }
        replaceAnchors()
        return done
    }

    private func writeAnew(
        _ slots: [HeldSlot], _ fresh: borrowing VaultKeys, _ report: (Double) -> Void
    ) throws(StorageError) -> Rekeyed {
        let next = try nextHeader(slots: slots)
        var copy = try RewriteCopy(
            header: next, root: fresh.generationRoot, length: Layout.firstFrame + records.liveBytes + 4096, in: location,
            environment: environment)
        do throws(StorageError) {
            let layout = layOut(hasPassphrase: next.hasPassphrase)
            let identifier = try deviceIdentifier(under: fresh)
            var done = Rekeyed()
            var written = KeyedHash()
            var readBack = KeyedHash()
            var count = 0
            // The first: an anchor under the old key has to show that this file came after it.
            let (succession, successionBox) = try successionOfRekey(next, fresh)
            written.updateButForOffset(succession.span)
            try copy.append(succession, box: successionBox)
            count += 1
            // Versions of an item that share a value go on sharing it.
            var last: Operation?
            for (index, record) in layout.enumerated() {
                guard let encoded = record.encoded(in: records) else { continue }
                var operation = Operation(checked: encoded.span)
                if operation.itemClass == .settings, OwnRecord.kind(of: operation.attributes.bytes.span) == .succession { continue }
                // Nothing goes because nobody could tell whose it is.
                if operation.protection.isThisDeviceOnly { try checkDeviceIsKnown() }
                guard try !isForeign(operation) else {
                    done.foreign += 1
                    continue
                }
                var box: [UInt8] = []
                if let last, last.id == operation.id, last.valueVersion == operation.valueVersion, operation.value != nil {
                    operation.value = last.value
                } else {
                    box = try sealAgain(&operation, fresh)
                }
                last = operation
                if operation.protection.isThisDeviceOnly, let identifier { operation.deviceID = identifier }
                if !box.isEmpty { done.values += 1 }
                let bytes = operation.encoded()
                written.updateButForOffset(bytes.span)
                try copy.append(bytes, box: box)
                count += 1
                if index % 64 == 0 { report(Double(index) / Double(layout.count) * 0.9) }
            }
            var found = 0
            try copy.finish { (operation) throws(StorageError) in
                readBack.updateButForOffset(operation)
                found += 1
            }
            guard found == count, written.digest() == readBack.digest() else { throw .damaged(.readBack) }
            report(1)
            try putInPlace(copy)
            return done
        } catch {
            discard(copy.name, after: error)
            throw error
        }
    }

    /// The record of the keys that anchors had, with the one that is replaced now.
    ///
    /// - Returns: the operation, encoded, and its box.
    private func successionOfRekey(
        _ next: Header, _ fresh: borrowing VaultKeys
    ) throws(StorageError) -> (operation: [UInt8], box: [UInt8]) {
        let old = record(of: .succession)
        var value = try secured { () throws(CryptoError) in try SecretBytes(zeroed: 0) }
        if let old, let older = try openValue(of: old) { value = older }
        do throws(CryptoError) {
            value = try Succession.adding(keys.anchor, generation: header.generation, sequence: tip.position.sequence, to: value)
        } catch {
            throw StorageError(error)
        }
        let version = (old?.version ?? 0) + 1
        var operation = Operation(
            kind: .put, itemClass: .settings, protection: .afterFirstUnlock, id: old?.id ?? makeItemID(), version: version,
            valueVersion: version, ordinal: old?.ordinal ?? next.baseSequence << 16, created: old?.created ?? now, modified: now,
            value: nil,
            deviceID: .init(repeating: 0), attributes: OwnRecord.successionAttributes)
        let box = try seal(Secret(value), operation, fresh)
        operation.value = .unplaced(box)
        return (operation.encoded(), box)
    }

    private func deviceIdentifier(under fresh: borrowing VaultKeys) throws(StorageError) -> [16 of UInt8]? {
        try DeviceSecret.load(
            vaultID: header.vaultID, identification: fresh.deviceIdentification, from: environment.stateDirectory,
            on: environment.fileSystem)?.identifier
    }

    /// Opens the value and seals it under the new keys; the operation gets the tag of the new box.
    private func sealAgain(_ operation: inout Operation, _ fresh: borrowing VaultKeys) throws(StorageError) -> [UInt8] {
        guard let plain = try openPadded(operation) else { return [] }
        let key = try fresh.itemKey(operation.id, version: operation.valueVersion, protection: operation.protection, device: device)
        var box = environment.random.bytes(Layout.nonceLength)
        let nonce = box
        plain.withBytes { SecretBox.seal($0, nonce: nonce.span, key: key, appendingTo: &box) }
        operation.value = .unplaced(box)
        return box
    }
}

extension KeyedHash {
    /// All of an operation but where its value lies.
    fileprivate mutating func updateButForOffset(_ operation: Span<UInt8>) {
        update(operation.extracting(0..<64))
        update(operation.extracting(72..<operation.count))
    }
}
