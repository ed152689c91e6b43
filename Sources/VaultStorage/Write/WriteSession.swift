// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

/// The change of an operation's value.
package enum ValueChange {
    /// The operation has no value.
    case none
    /// Refers to the existing box.
    case keep
    /// Seals these bytes.
    case set(Secret)
}

/// The only way to change records. Exists while the writer lock is held and the log is up to date, and cannot be kept.
package struct WriteSession: ~Copyable {
    /// The records including the changes so far.
    package let store: VaultStore
    private var draft: Draft

    init(_ store: VaultStore) {
        self.store = store
        draft = Draft(frames: FrameBuilder(after: store.tip.position, generation: store.header.generation))
    }

    /// Runs one transaction: stages all changes of `body`, or none if it throws.
    package mutating func transaction<R: ~Copyable, E: Error>(_ body: (inout WriteSession) throws(E) -> R) throws(E)
        -> R
    {
        do throws(E) {
            let result = try body(&self)
            closeTransaction()
            return result
        } catch {
            takeBack(to: draft.completeSteps)
            throw error
        }
    }

    /// Runs a part of the open transaction; if it throws, its changes are undone, although the transaction may
    /// continue.
    package mutating func step<R: ~Copyable, E: Error>(_ body: (inout WriteSession) throws(E) -> R) throws(E) -> R {
        let count = draft.steps.count
        do throws(E) { return try body(&self) } catch {
            takeBack(to: count)
            throw error
        }
    }

    /// The ordinal of the next item to be created, from the sequence number and the index of its operation.
    package var nextOrdinal: UInt64 { (draft.frames.position.sequence + 1) << 16 &+ draft.nextIndex }

    package func makeItemID() -> ItemID { ItemID(random: store.environment.random.bytes(16)) }

    /// The device identifier carried by items of this device only; created now if this device has no secret for the
    /// vault yet.
    package func deviceIdentifier() throws(StorageError) -> [16 of UInt8] {
        if let device = store.device { return device.identifier }
        let made = try DeviceSecret.create(
            vaultID: store.header.vaultID, identification: store.keys.deviceIdentification,
            in: store.environment.stateDirectory,
            on: store.environment.fileSystem, random: store.environment.random)
        store.device = made
        return made.identifier
    }

    /// Stages an operation of the open transaction; the table reflects it at once.
    ///
    /// - Returns: the operation with its updated value location.
    /// - Throws: `.locked`, `.valueTooLarge`, `.attributesTooLarge`.
    @discardableResult
    package mutating func stage(_ operation: Operation, value: ValueChange) throws(StorageError) -> Operation {
        var operation = operation
        guard operation.attributes.bytes.count <= Layout.attributesLimit else { throw .attributesTooLarge }
        var box: [UInt8] = []
        switch value {
        case .none:
            operation.value = nil
            operation.valueVersion = 0
        case .keep: break
        case .set(let secret):
            guard secret.count <= Layout.valueLimit else { throw .valueTooLarge }
            operation.valueVersion = operation.version
            box = try store.seal(secret, operation, store.keys)
            operation.value = .yetToWrite(box)
        }
        let encoded = operation.encoded()
        let undo = store.records.stage(encoded.span)
        if let place = undo.place {
            store.observer?.record(at: place, changedFrom: undo.old, to: operation.kind == .put ? operation : nil)
        }
        let version = VersionKey(operation)
        draft.steps.append(
            Draft.Step(undo: undo, sealed: version, nextIndex: draft.nextIndex, deletesOnly: draft.deletesOnly))
        if !box.isEmpty { store.unwritten[version] = box }
        // A kept version of a deleted item counts as part of the delete.
        if operation.kind == .put { draft.deletesOnly = false }
        draft.open.append(FrameBuilder.Pending(operation: encoded, box: box))
        draft.places.append(undo.place)
        draft.nextIndex += 1
        return operation
    }

    private mutating func closeTransaction() {
        guard !draft.open.isEmpty else { return }
        let (store, open, places) = (store, draft.open, draft.places)
        draft.frames.append(open, keys: store.log.keys, random: store.environment.random) { index, offset in
            if let place = places[index] { return store.records.setOffset(offset, at: place) }
            let operation = open[index].operation
            let version = VersionKey(Operation.id(of: operation.span), Operation.version(of: operation.span))
            store.records.setPastOffset(offset, of: version)
        }
        draft.open = []
        draft.places = []
        draft.completeSteps = draft.steps.count
        draft.transactions += 1
        draft.nextIndex = 0
    }

    /// Undoes operations of the open transaction until the given number is left, including those of complete
    /// transactions.
    private mutating func takeBack(to count: Int) {
        while draft.steps.count > count {
            let step = draft.steps.removeLast()
            takeBack(step)
            // A kept older version has the box of the version itself, which stays.
            if !step.undo.isPast { store.unwritten[step.sealed] = nil }
            draft.nextIndex = step.nextIndex
            draft.deletesOnly = step.deletesOnly
            draft.open.removeLast()
            draft.places.removeLast()
        }
    }

    private func takeBack(_ step: Draft.Step) {
        let current = step.undo.place.flatMap { store.records[$0] }
        store.records.revert(step.undo)
        if let place = step.undo.place { store.observer?.record(at: place, changedFrom: current, to: step.undo.old) }
    }

    /// Makes the staged changes durable; on failure, the table drops all of them.
    consuming func commit() throws(StorageError) {
        guard draft.transactions > 0 else { return }
        do throws(StorageError) {
            try store.log.append(
                draft.frames, transactions: draft.transactions, isDelete: draft.deletesOnly,
                limit: store.environment.fileSystem.fileSizeLimit)
        } catch {
            for step in draft.steps.reversed() { takeBack(step) }
            throw error
        }
        store.owesMarks = true
        store.noteDurable()
        store.compaction.isWriter = true
    }
}
