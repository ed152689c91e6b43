// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat

/// The result of a rekey.
public struct Rekeyed: Equatable, Sendable {
    /// Values that were opened and sealed again.
    public var values = 0
    /// Items of other devices, which cannot be opened here and were removed.
    public var foreign = 0
}

extension VaultStore {
    /// Generates a new vault key and seals everything again under it. An earlier copy of the file still opens with the
    /// old secrets and shows its contents, but nothing later.
    ///
    /// - Parameters:
    ///   - entries: the new key slots, at least one of them for a person; all others are removed.
    ///   - report: called with the progress, from 0 to 1.
    /// - Throws: `.slot(.lastForPeople)`, `.locked`, `.damaged` for a value that does not open; nothing has changed
    ///   then.
    package func rekey(_ entries: [SlotEntry], report: (Double) -> Void) throws(StorageError) -> Rekeyed {
        try checkWritable()
        guard !keys.isLocked else { throw .locked }
        guard
            entries.contains(where: { $0.secret.kind.isForPeople })
                || !header.slots.contains(where: { $0.kind.isForPeople })
        else {
            throw .slot(.lastForPeople)
        }
        let before = header.slots
        let vaultKey = try secured(environment.random.secret(32))
        let slots = try environment.makeSlots(entries, vaultKey, header.vaultID)
        var made: VaultKeys?
        do throws(CryptoError) { made = try VaultKeys(vaultKey: vaultKey, vaultID: header.vaultID) } catch {
            throw StorageError(error)
        }
        return try withWriterLock { () throws(StorageError) in
            // Another process has changed a passphrase or added a slot, which would be undone silently.
            guard header.slots == before, let fresh = made.take() else { throw .slot(.changed) }
            location.removeLeftovers()
            try log.check()
            let done = try writeAnew(slots, fresh, report)
            keys = fresh
            // This device's identifier depends on the key and is derived again.
            device = nil
            // The rekey is complete; if the file cannot be read now, the next call tries again.
            do throws(StorageError) { try reopen() } catch { log.lose() }
            log.noteNameIsDurable()
            replaceAnchors()
            return done
        }
    }

    private func writeAnew(
        _ slots: [HeldSlot], _ fresh: borrowing VaultKeys, _ report: (Double) -> Void
    ) throws(StorageError) -> Rekeyed {
        let next = try nextHeader(slots: slots)
        var rewriter = try Rewriter(
            log.snapshot(records, root: keys.generationRoot), next, root: fresh.generationRoot, in: location,
            environment)
        let identifier = try deviceIdentifier(under: fresh)
        // The first record, by which an anchor under the old key verifies that this file came after it.
        let succession = try successionOfRekey(next, fresh)
        try rewriter.append(succession.operation, box: succession.box)
        var done = Rekeyed()
        var last: Operation?
        try rewriter.copy { (encoded, progress) throws(StorageError) in
            report(progress * 0.9)
            var operation = Operation(checked: encoded.span)
            if operation.itemClass == nil, OwnRecord.kind(of: operation.attributes.bytes.span) == .succession {
                return nil
            }
            // An item is not dropped because its device cannot be determined.
            if operation.protection.isThisDeviceOnly { try checkDeviceIsKnown() }
            guard try !isForeign(operation) else {
                done.foreign += 1
                return nil
            }
            var box: [UInt8] = []
            // Versions of an item that share a value continue to share it.
            if let last, last.id == operation.id, last.valueVersion == operation.valueVersion, operation.value != nil {
                operation.value = last.value
            } else {
                box = try sealAgain(&operation, fresh)
            }
            last = operation
            if operation.protection.isThisDeviceOnly, let identifier { operation.deviceID = identifier }
            if !box.isEmpty { done.values += 1 }
            return (operation.encoded(), box)
        }
        _ = try rewriter.finish(after: tip.position, health)
        owesMarks = false
        report(1)
        return done
    }

    /// The record of former anchor keys, including the one being replaced.
    ///
    /// - Returns: the encoded operation and its box.
    private func successionOfRekey(
        _ next: Header, _ fresh: borrowing VaultKeys
    ) throws(StorageError) -> (operation: [UInt8], box: [UInt8]) {
        let old = record(of: .succession)
        var value = try secured(SecretBytes(zeroed: 0))
        if let old, let older = try openValue(of: old) { value = older }
        do throws(CryptoError) {
            value = try Succession.adding(
                keys.anchor, generation: header.generation, sequence: tip.position.sequence, to: value)
        } catch { throw StorageError(error) }
        let version = (old?.version ?? 0) + 1
        var operation = Operation(
            kind: .put, itemClass: nil, protection: .afterFirstUnlock,
            id: old?.id ?? ItemID(random: environment.random.bytes(16)),
            version: version,
            valueVersion: version, ordinal: old?.ordinal ?? next.baseSequence << 16, created: old?.created ?? now,
            modified: now,
            value: nil,
            deviceID: .init(repeating: 0), attributes: OwnRecord.succession.attributes())
        let box = try seal(Secret(value), operation, fresh)
        operation.value = .yetToWrite(box)
        return (operation.encoded(), box)
    }

    private func deviceIdentifier(under fresh: borrowing VaultKeys) throws(StorageError) -> [16 of UInt8]? {
        try DeviceSecret.load(
            vaultID: header.vaultID, identification: fresh.deviceIdentification, from: environment.stateDirectory,
            on: environment.fileSystem)?.identifier
    }

    /// Opens the value and seals it under the new keys; sets the operation's tag to that of the new box.
    private func sealAgain(_ operation: inout Operation, _ fresh: borrowing VaultKeys) throws(StorageError) -> [UInt8] {
        guard let plain = try openPadded(operation) else { return [] }
        let key = try fresh.itemKey(
            operation.id, version: operation.valueVersion, protection: operation.protection, device: device)
        var box = environment.random.bytes(Layout.nonceLength)
        let nonce = box
        plain.withBytes { SecretBox.seal($0, nonce: nonce.span, key: key, appendingTo: &box) }
        operation.value = .yetToWrite(box)
        return box
    }
}
