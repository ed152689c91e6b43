// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
package import VaultFormat
internal import VaultSystem

/// An unlocked vault file: its records, and the commits that change them.
///
/// Not thread-safe: the owner holds a mutex around every call. Calls on a handle in a forked child throw `.forked`.
///
/// Size: a commit changes the log, the records, the stamps and the knowledge of the newest state together, and a failed
/// one changes none of them: they are therefore one object, and each of them is a type of its own.
package final class VaultStore {
    let environment: VaultEnvironment
    let location: VaultLocation
    let lock: WriterLock
    let health: Health
    private let process = ForkMark.process

    var log: Log
    package internal(set) var records = RecordTable()
    package weak var observer: (any RecordObserver)?
    /// Boxes of staged values that are not in the file yet, by the version at which they were sealed.
    var unwritten: [VersionKey: [UInt8]] = [:]
    /// Whether changes are being staged, during which the file is not read again.
    package internal(set) var isWriting = false

    var knownOwnLog: KnownOwnLog?
    /// The last stamp given to a write.
    var lastStamp: UInt64 = 0

    var keys: VaultKeys
    /// Loaded when an item bound to a device is first needed.
    var device: DeviceSecret?
    /// The 16-byte identifier of the slot that gave the keys; `nil` for a vault that was just created.
    package internal(set) var openedBy: [UInt8]?

    /// Whether this handle has made a commit since both marks last named the newest, whichever file it has read
    /// meanwhile.
    var owesMarks = false
    /// The newest state that this handle knows to be durable; never lowered, whatever happens to the file.
    var newestDurable: KnownState?
    var compaction = CompactionPolicy()
    /// The result of a concurrent rewrite.
    let handovers = HandoverSlot()
    /// Bytes of an unfinished commit that were cut off since the last read.
    package internal(set) var discardedBytes = 0

    /// - Parameters:
    ///   - acceptsOlderCopy: accepts any state, whatever this device has seen of the vault.
    ///   - isNameDurable: whether the directory was synced since the file was named.
    init(
        _ location: VaultLocation, page: HeaderPage, keys: consuming VaultKeys, environment: VaultEnvironment,
        acceptsOlderCopy: Bool = false, isNameDurable: Bool = false
    ) throws(StorageError) {
        self.environment = environment
        self.location = location
        lock = WriterLock(location, clock: environment.clock, patience: environment.patience)
        health = Health()
        let (file, readOnlyReason) = try Log.open(location)
        log = try Log(unread: file, page, root: keys.generationRoot, readOnlyReason: readOnlyReason, health)
        records = RecordTable(hasClocks: page.header.isReplicated)
        self.keys = keys
        if acceptsOlderCopy {
            try lock.keepingWritersOut { () throws(StorageError) in try reopen() }
        } else {
            try openFirst()
        }
        if isNameDurable { log.noteNameIsDurable() }
    }

    /// A second handle with the same file and records, and with the keys of a locked vault.
    init(twinOf store: VaultStore) throws(StorageError) {
        environment = store.environment
        location = store.location
        health = store.health
        lock = WriterLock(location, clock: environment.clock, patience: store.patience)
        log = try store.log.copy(root: store.keys.generationRoot)
        keys = try secured(store.keys.lockedCopy())
        (records, newestDurable) = (store.records, store.newestDurable)
    }

    package var header: Header { log.header }

    /// The newest applied commit.
    var tip: Commit { log.tip }

    package var sequence: UInt64 { tip.position.sequence }

    /// How long this handle waits for another writer.
    package var patience: Duration {
        get { lock.patience }
        set { lock.patience = newValue }
    }

    package var background: any Background { environment.background }

    /// Whether this process is a child of the one that opened the vault: the memory of the keys is not inherited.
    package var isForked: Bool { process != ForkMark.process }

    func check() throws(StorageError) {
        guard !isForked else { throw .forked }
        guard !health.isPoisoned else { throw .poisoned }
    }

    func checkWritable() throws(StorageError) {
        try check()
        if let reason = log.readOnlyReason { throw .inputOutput(reason, .write) }
    }

    // MARK: Following the file

    /// Catches up with the writes of other processes, without a lock.
    package func refresh() throws(StorageError) {
        try check()
        do throws(StorageError) {
            let named = try namedFile()
            if try log.isUnchanged(named) { return }
            try followAsItIsNow()
        } catch {
            // If the file is behind, the newest known state is recorded before the error is thrown.
            if error.isOfAnotherFile { rememberNewest() }
            throw error
        }
    }

    /// A writer may disturb a read: an error is reported only if it recurs while no writer is active.
    private func followAsItIsNow() throws(StorageError) {
        do throws(StorageError) {
            let named = try namedFile()
            if log.isNamed(named), try log.isUnbroken() { return try follow() }
            if try takeOver(named) { try follow() } else { try reopen() }
            return
        } catch {
            switch error {
            case .damaged, .unsupported, .rekeyed, .rolledBack: break
            default: throw error
            }
        }
        try reopenKeepingWritersOut()
    }

    /// - Throws: `.noVault` if there is no file at the path.
    func namedFile() throws(StorageError) -> FileStatus {
        guard let named = try attempt(.open, location.directory.status(of: location.name))
        else {
            throw .noVault
        }
        return named
    }

    /// Reads the frames after the tip.
    ///
    /// - Parameters:
    ///   - knownSize: the file's size, if no writer can change it.
    ///   - known: states that must be among those read, if they are of this generation.
    func follow(knownSize: Int? = nil, through known: [KnownState] = []) throws(StorageError) {
        try log.follow(knownSize: knownSize, through: known) { (operations, sequence) throws(StorageError) in
            let observer = observer?.isIndexing == true ? observer : nil
            do throws(FormatError) {
                // A single access to the table for all operations.
                try VaultStore.apply(operations, to: &records, observer)
            } catch { throw .damaged(.frame(sequence: sequence, error)) }
        }
        noteDurable()
    }

    private static func apply(
        _ operations: FrameOperations, to records: inout RecordTable, _ observer: (any RecordObserver)?
    ) throws(FormatError) {
        try operations.forEach { (operation) throws(FormatError) in
            let old = observer == nil ? nil : records[Operation.id(of: operation)]
            guard let place = try records.follow(operation) else { return }
            observer?.record(at: place, changedFrom: old, to: records[place])
        }
    }

    /// Continues with the file by which a concurrent rewrite has replaced its own, without reading it.
    ///
    /// - Returns: `false` if the new file is not from that rewrite; this handle must start over.
    func takeOver(_ named: FileStatus) throws(StorageError) -> Bool {
        guard let handover = handovers.take(for: named), !log.isLost else { return false }
        // The old file still has everything from which the new one was made, and is no longer written to.
        try follow()
        return try goOn(with: handover)
    }

    /// Starts over with the file now at the path.
    ///
    /// - Parameter seen: states that the file must include, besides those that this handle knows.
    func reopen(through seen: [KnownState] = []) throws(StorageError) {
        handovers.withdraw()
        do throws(StorageError) {
            log = try Log.following(header, at: location, root: keys.generationRoot, health)
            compaction.noteOtherFile()
            records = RecordTable(hasClocks: header.isReplicated)
            observer?.recordsWereReset()
            try follow(through: seen + (newestDurable.map { [$0] } ?? []))
        } catch {
            log.lose()
            throw error
        }
    }

    func reopenKeepingWritersOut() throws(StorageError) {
        try lock.keepingWritersOut { () throws(StorageError) in try reopen() }
    }

    /// Called after the log has advanced.
    func noteDurable() {
        if let known = newestDurable, known.sequence > log.durable.sequence { return }
        newestDurable = log.durable
    }
}
