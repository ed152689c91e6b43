// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import VaultCrypto
public import VaultFormat

/// What a vault needs of the world around it.
public struct VaultEnvironment: Sendable {
    public var fileSystem: any VaultFileSystem
    public var clock: any VaultClock
    public var random: any RandomSource
    /// Where the secret of this device is kept: `$XDG_STATE_HOME/vault`. Nil: nothing can be bound to this device.
    public var stateDirectory: FilePath?
    /// Whether this device writes down what it has seen of a vault.
    package var remembersStates = true
    /// How long a writer waits for another one.
    public var patience = Duration.seconds(30)
    /// Files above this size are copied without the lock when they are rewritten.
    package var lockFreeCopyLength = 4 << 20
    /// Whether an unlock makes a passphrase slot as dear as a new one where it is cheaper.
    public var strengthensSlots = false
    /// Whether key derivations may take more than half of the available memory.
    public var forcesMemory = false

    public init(fileSystem: any VaultFileSystem, clock: any VaultClock, random: any RandomSource, stateDirectory: FilePath?) {
        self.fileSystem = fileSystem
        self.clock = clock
        self.random = random
        self.stateDirectory = stateDirectory
    }
}

/// One vault file, unlocked: its records, and the commits that change them.
///
/// Not thread-safe: the owner holds a mutex around every call. A handle is of no use in a forked child, and says so.
public final class VaultStore {
    let environment: VaultEnvironment
    let location: VaultLocation
    let lock: WriterLock
    var file: any VaultFile
    var identity: FileStatus
    public internal(set) var header: Header
    var page: HeaderPage
    var keys: VaultKeys
    var generationKeys: GenerationKeys
    /// Looked for when the first item asks that is bound to a device.
    var device: DeviceSecret?

    public internal(set) var records = RecordTable()
    public weak var observer: (any RecordObserver)?

    /// The newest commit that is durable: named by a valid mark, or synced by this very handle.
    var base: Commit
    /// The marks as they were read last, or written since; under the writer lock nobody else writes them.
    var marksRead: Marks?
    /// What a mark names that this very handle wrote and synced. One that was only read may be in the page cache alone.
    var syncedMark: LogPosition?
    /// The commits that were applied after it: read, and perhaps only in the page cache of a writer that was killed.
    var unsettled: [Commit] = []
    var sizeSeen = 0
    var reservedThrough = 0
    var isNameDurable = false
    var hasCommitted = false
    /// Whether this handle ever changed something: one that only read has nothing to tidy up when it goes.
    var isWriter = false
    var isPoisoned = false
    private let process = ForkMark.process
    /// Why the file can only be read; nil when it can be written.
    private var readOnlyReason: Errno?
    /// The newest state that this handle knows to be durable; never lowered, whatever the file becomes.
    var newestDurable: KnownState?
    /// The size at which a compaction failed; the next try comes when the file has grown by half.
    var failedCompactionSize = 0
    /// Bytes of an unfinished commit that were cut off since the last look.
    public var discardedBytes = 0
    /// Frames at which the next compaction for their number is due.
    var frameThreshold = VaultStore.leastFrameThreshold
    static let leastFrameThreshold = 4096

    /// 16 bytes: the slot that gave the keys. Nil for a vault that was just made.
    public var openedBy: [UInt8]?

    var draft: Draft?

    /// Where a rewrite that was made beside this handle leaves its result.
    let handover = Handover()
    /// The handle that this one makes a rewrite for; nil once the two no longer have the same records in the same places.
    var recipient: Handover?

    /// The newest commit that was applied.
    var tip: Commit { unsettled.last ?? base }

    /// - Parameter acceptsOlderCopy: whatever this device has seen of the vault.
    init(
        _ location: VaultLocation, page: HeaderPage, keys: consuming VaultKeys, environment: VaultEnvironment,
        acceptsOlderCopy: Bool = false
    ) throws(StorageError) {
        self.environment = environment
        self.location = location
        lock = WriterLock(location, clock: environment.clock, patience: environment.patience)
        (file, readOnlyReason) = try VaultStore.openFile(location)
        identity = try attempt(.open) { [file] () throws(Errno) in try file.status() }
        self.page = page
        header = page.header
        do throws(CryptoError) {
            generationKeys = try GenerationKeys(root: keys.generationRoot, header: page.header)
        } catch {
            throw StorageError(error)
        }
        self.keys = keys
        base = Commit(position: LogPosition(sequence: 0, end: Layout.firstFrame, tag: Digest()), tagOffset: 0, count: 0, frames: 0)
        if acceptsOlderCopy {
            try withWritersKeptOut { () throws(StorageError) in try reopen() }
        } else {
            try openFirst()
        }
    }

    /// A second handle with the same file and records, which rewrites the file while the first one is used.
    ///
    /// It opens no values, so it has none of the keys that a locked vault has not.
    ///
    /// - Parameter store: goes on with the new file once it is there.
    init(rewritingFor store: VaultStore) throws(StorageError) {
        environment = store.environment
        location = store.location
        lock = WriterLock(location, clock: environment.clock, patience: store.patience)
        (file, identity, readOnlyReason) = (store.file, store.identity, store.readOnlyReason)
        (page, header) = (store.page, store.header)
        do throws(CryptoError) {
            generationKeys = try GenerationKeys(root: store.keys.generationRoot, header: store.header)
            keys = try store.keys.lockedCopy()
        } catch {
            throw StorageError(error)
        }
        (records, base, unsettled) = (store.records, store.base, store.unsettled)
        (sizeSeen, newestDurable) = (store.sizeSeen, store.newestDurable)
        recipient = store.handover
    }

    private func loadDevice() throws(StorageError) -> DeviceSecret? {
        try DeviceSecret.load(
            vaultID: header.vaultID, identification: keys.deviceIdentification, from: environment.stateDirectory,
            on: environment.fileSystem)
    }

    private static func openFile(_ location: VaultLocation) throws(StorageError) -> (any VaultFile, readOnlyReason: Errno?) {
        do throws(StorageError) { return (try location.open(writable: true), nil) } catch {
            // A read-only file system or file can still be read.
            guard case .inputOutput(let errno, .open) = error, errno == .readOnlyFileSystem || errno == .permissionDenied else {
                throw error
            }
            return (try location.open(writable: false), errno)
        }
    }

    /// How long this handle waits for another writer.
    public var patience: Duration {
        get { lock.patience }
        set { lock.patience = newValue }
    }

    public var sequence: UInt64 { tip.position.sequence }

    /// Whether a person can open the vault with something that they know.
    public var hasPassphrase: Bool { header.hasPassphrase }

    /// Whether the item is absent here: sealed under the secret of another device, or bound to a passphrase that the vault no longer has.
    ///
    /// - Throws: when this device has a secret that cannot be read: the item is then not known to be another's.
    public func isForeign(_ operation: Operation) throws(StorageError) -> Bool {
        guard operation.protection.isThisDeviceOnly else { return false }
        guard operation.protection != .whenPasscodeSetThisDeviceOnly || hasPassphrase else { return true }
        guard let device = try currentDevice() else { return true }
        return !device.identifier.span.elementsEqual(operation.deviceID.span)
    }

    /// The secret of this device, looked for again until there is one.
    private func currentDevice() throws(StorageError) -> DeviceSecret? {
        if device == nil { device = try loadDevice() }
        return device
    }

    /// Makes sure that what ``isForeign(_:)`` says is known and not only feared: an item is not replaced because its device cannot be told.
    public func checkDeviceIsKnown() throws(StorageError) {
        guard environment.stateDirectory != nil else { throw .noStateDirectory }
        _ = try currentDevice()
    }

    // MARK: Reading

    /// Whether this process is a child of the one that opened the vault: the memory of the keys is not there.
    public var isForked: Bool { process != ForkMark.process }

    func check() throws(StorageError) {
        guard !isForked else { throw .forked }
        guard !isPoisoned else { throw .poisoned }
    }

    func checkWritable() throws(StorageError) {
        if let readOnlyReason { throw .inputOutput(readOnlyReason, .write) }
    }

    func readMarks() throws(StorageError) -> Marks {
        guard let marks = try attempt(.read, { () throws(Errno) in try marks() }) else { throw .damaged(.notAVault) }
        return marks
    }

    /// Nil: the file is too short to have marks.
    func marks() throws(Errno) -> Marks? {
        if let marksRead {
            let bytes = try file.read(Marks.headsLength, at: Layout.markOffsets[0])
            if bytes.count == Marks.headsLength, marksRead.areStill(bytes.span) { return marksRead }
        }
        let length = Layout.firstFrame - Layout.markOffsets[0]
        let bytes = try file.read(length, at: Layout.markOffsets[0])
        guard bytes.count == length else { return nil }
        return Marks(bytes.span, generation: header.generation, keys: generationKeys)
    }

    /// Reads what lies behind the tip.
    ///
    /// - Parameters:
    ///   - knownSize: of the file, when all writers are kept out.
    ///   - known: states that must be among those that are read, if they are of this generation.
    func follow(knownSize: Int? = nil, through known: [KnownState] = []) throws(StorageError) {
        do throws(StorageError) {
            // Marks before size before frames: what a mark names is then within the size.
            let marks = try readMarks()
            marksRead = marks
            guard let highest = marks.highest else { throw .damaged(.marks) }
            let size: Int
            if let knownSize { size = knownSize } else { size = try attempt(.read) { () throws(Errno) in try file.status() }.size }
            var reader = LogReader(file: file, size: size, generation: header.generation)
            let found = try reader.walk(from: tip, highest: highest, depth: .unsettled, keys: generationKeys) {
                (operations, sequence) throws(StorageError) in try self.apply(operations, of: sequence)
            }
            for state in known where !state.isPassed(by: [tip] + found, generation: header.generation) { throw .rolledBack }
            unsettled += found
            for commit in unsettled where commit.position.sequence == highest.sequence && commit.position != highest {
                throw .damaged(.markMismatch(sequence: highest.sequence))
            }
            settle(through: highest.sequence)
            sizeSeen = size
        } catch {
            forgetFile()
            throw error
        }
    }

    /// The table may have got half of what was there, or the file is not to be believed: the next look starts over.
    func forgetFile() {
        sizeSeen = -1
        identity.inode = .max
    }

    var isForgotten: Bool { sizeSeen < 0 }

    /// Moves the base to the newest applied commit that the mark names or that lies below it.
    func settle(through sequence: UInt64) {
        while let next = unsettled.first, next.position.sequence <= sequence {
            base = next
            unsettled.removeFirst()
        }
        noteDurable(base.position)
    }

    func noteDurable(_ position: LogPosition) {
        if let known = newestDurable, known.sequence > position.sequence { return }
        newestDurable = KnownState(generation: header.generation, sequence: position.sequence, tag: position.tag)
    }

    private func apply(_ operations: FrameOperations, of sequence: UInt64) throws(StorageError) {
        let observer = observer?.isIndexing == true ? observer : nil
        try operations.forEach { (operation) throws(StorageError) in
            let old = observer == nil ? nil : records[Operation.id(of: operation)]
            let place: Int?
            do throws(FormatError) { place = try records.follow(operation) } catch { throw .damaged(.frame(sequence: sequence, error)) }
            if let place { observer?.record(at: place, changedFrom: old, to: records[place]) }
        }
    }

    /// Goes on with the file that a rewrite beside this handle has put in the place of its own, without reading it.
    ///
    /// - Returns: false when the new file is not of that making; this handle has to start over.
    func takeOver(_ named: FileStatus) throws(StorageError) -> Bool {
        guard let rewritten = handover.take(for: named), !isForgotten else { return false }
        // The old file still has all that the new one was made of, and nobody writes to it any more.
        try follow()
        return try goOn(with: rewritten)
    }

    /// - Returns: false when the records are not those that the file was made of.
    func goOn(with rewritten: Rewritten) throws(StorageError) -> Bool {
        guard tip.position == rewritten.source, records.move(to: rewritten.moved) else { return false }
        try adopt(rewritten.file, rewritten.page)
        base = rewritten.tip
        noteDurable(base.position)
        sizeSeen = base.position.end
        failedCompactionSize = 0
        frameThreshold = max(VaultStore.leastFrameThreshold, tip.frames * 2)
        return true
    }

    /// Starts over with the file that the path names now.
    ///
    /// - Parameter seen: states that the file must have passed, beside what this handle knows.
    func reopen(through seen: [KnownState] = []) throws(StorageError) {
        recipient = nil
        handover.withdraw()
        let known = newestDurable
        let (file, readOnlyReason) = try VaultStore.openFile(location)
        do throws(StorageError) {
            try adopt(file, try HeaderPage(of: file))
            self.readOnlyReason = readOnlyReason
            forgetRecords()
            try follow(through: seen + (known.map { [$0] } ?? []))
        } catch {
            newestDurable = known
            forgetFile()
            throw error
        }
    }

    /// Makes the file this handle's own; its records are yet to be read.
    func adopt(_ file: any VaultFile, _ page: HeaderPage) throws(StorageError) {
        guard page.header.vaultID == header.vaultID else { throw .rekeyed }
        let fresh: GenerationKeys
        do throws(CryptoError) { fresh = try GenerationKeys(root: keys.generationRoot, header: page.header) } catch {
            throw StorageError(error)
        }
        guard page.hasMAC(fresh) else {
            if page.header.generation > header.generation { throw .rekeyed }
            throw .damaged(.headerMAC)
        }
        generationKeys = fresh
        self.file = file
        self.page = page
        header = page.header
        identity = try attempt(.open) { () throws(Errno) in try file.status() }
        let genesis = LogPosition(
            sequence: header.baseSequence, end: Layout.firstFrame, tag: generationKeys.genesisTag(page.bytes.span))
        base = Commit(position: genesis, tagOffset: 0, count: 0, frames: 0)
        syncedMark = nil
        marksRead = nil
        unsettled = []
        reservedThrough = 0
        isNameDurable = false
        frameThreshold = VaultStore.leastFrameThreshold
    }

    func forgetRecords() {
        records = RecordTable()
        observer?.recordsWereReset()
    }
}
