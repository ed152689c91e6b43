// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// The log of one file as followed by a handle: its contents, the durable part, and the only way to append.
///
/// Size: a read may move the base, the later commits and the marks together.
struct Log: ~Copyable {
    private enum Sight {
        /// The data read may be incomplete, or the file is not trustworthy: the handle starts over at the next read.
        case lost
        /// Everything that the file contained when it had this size.
        case through(size: Int)
    }

    let file: any VaultFile
    let page: HeaderPage
    let keys: GenerationKeys
    /// The reason why the file is read-only; `nil` if it is writable.
    let readOnlyReason: Errno?
    private let identity: FileStatus
    private let health: Health

    /// The newest durable commit: named by a valid mark, or synced by this very handle.
    private(set) var base: Commit
    /// The later commits that were applied: read, and perhaps only in the page cache of a writer that was killed.
    private var unconfirmed: [Commit] = []
    /// The marks as last read or written; only the holder of the writer lock writes them.
    private var marksRead: Marks?
    /// The position in a mark that this handle wrote and synced. A mark that was only read may exist in the page cache
    /// alone.
    private var syncedMark: LogPosition?
    private var sight = Sight.lost
    private var reserve = DiskReserve()
    private var isNameDurable = false

    /// A file of which only the header has been read.
    init(
        unread file: any VaultFile, _ page: HeaderPage, root: borrowing SecretBytes, readOnlyReason: Errno?,
        _ health: Health
    ) throws(StorageError) {
        let keys = try secured(GenerationKeys(root: root, header: page.header))
        identity = try attempt(.open, file.status())
        self.file = file
        self.page = page
        self.readOnlyReason = readOnlyReason
        self.health = health
        base = Commit(genesisOf: page, keys: keys)
        self.keys = keys
    }

    /// The file now at the path.
    ///
    /// - Parameter known: the last header known to the handle.
    /// - Throws: `.rekeyed` for a file of other keys.
    static func following(
        _ known: Header, at location: VaultLocation, root: borrowing SecretBytes, _ health: Health
    ) throws(StorageError) -> Log {
        let (file, readOnlyReason) = try Log.open(location)
        let page = try HeaderPage(of: file)
        guard page.header.vaultID == known.vaultID else { throw .rekeyed }
        let log = try Log(unread: file, page, root: root, readOnlyReason: readOnlyReason, health)
        guard page.hasMAC(log.keys) else {
            if page.header.generation > known.generation { throw .rekeyed }
            throw .damaged(.headerMAC)
        }
        return log
    }

    /// A file whose single commit this handle has made, or knows equally well.
    init(
        written file: any VaultFile, _ page: HeaderPage, upTo tip: Commit, root: borrowing SecretBytes, _ health: Health
    ) throws(StorageError) {
        try self.init(unread: file, page, root: root, readOnlyReason: nil, health)
        base = tip
        sight = .through(size: tip.position.end)
    }

    static func open(_ location: VaultLocation) throws(StorageError) -> (file: any VaultFile, readOnlyReason: Errno?) {
        do throws(StorageError) { return (try location.open(writable: true), nil) } catch {
            // A read-only file system or file can still be read.
            guard case .inputOutput(let errno, .open) = error,
                errno == .readOnlyFileSystem || errno == .permissionDenied
            else {
                throw error
            }
            return (try location.open(writable: false), errno)
        }
    }

    var header: Header { page.header }

    /// A second log of the same file, at the same position as this one.
    func copy(root: borrowing SecretBytes) throws(StorageError) -> Log {
        var log = try Log(unread: file, page, root: root, readOnlyReason: readOnlyReason, health)
        (log.base, log.unconfirmed, log.sight) = (base, unconfirmed, sight)
        return log
    }

    /// The newest applied commit.
    var tip: Commit { unconfirmed.last ?? base }

    /// The newest state that is durable.
    var durable: KnownState {
        KnownState(generation: header.generation, sequence: base.position.sequence, tag: base.position.tag)
    }

    /// The file's size when last read; 0 once the log is lost.
    var size: Int {
        switch sight {
        case .through(let size): size
        case .lost: 0
        }
    }

    /// The number of bytes after the last commit, from an unfinished one.
    var unfinishedBytes: Int { max(0, size - tip.position.end) }

    // MARK: Reading

    mutating func lose() { sight = .lost }

    var isLost: Bool {
        switch sight {
        case .through: false
        case .lost: true
        }
    }

    /// Whether this is the file at a path.
    func isNamed(_ named: FileStatus) -> Bool { !isLost && named.isSameFile(as: identity) }

    /// Whether the file is exactly as it was left.
    func isUnchanged(_ named: FileStatus) throws(StorageError) -> Bool {
        guard isNamed(named), named.size == size else { return false }
        return try isInPlace(tip)
    }

    /// Whether all applied commits are still in place.
    func isUnbroken() throws(StorageError) -> Bool {
        guard try isInPlace(base) else { return false }
        guard let last = unconfirmed.last else { return true }
        return try isInPlace(last)
    }

    /// Whether the commit's chain tag is still in place, and so all that the tag covers. The state before the first
    /// commit is always in place.
    private func isInPlace(_ commit: Commit) throws(StorageError) -> Bool {
        guard commit.tagOffset > 0 else { return true }
        let bytes = try attempt(.read, file.read(32, at: commit.tagOffset))
        return isEqualInConstantTime(bytes.span, commit.position.tag.bytes.span)
    }

    /// The number of invalid commit marks.
    func invalidMarks() throws(StorageError) -> Int { try readMarks().found.count { $0 == nil } }

    private func readMarks() throws(StorageError) -> Marks {
        guard let marks = try attempt(.read, marks()) else { throw .damaged(.notAVault) }
        return marks
    }

    /// Returns `nil` if the file is too short to have marks.
    private func marks() throws(Errno) -> Marks? {
        if let marksRead {
            let bytes = try file.read(Marks.headsLength, at: Layout.markOffsets[0])
            if bytes.count == Marks.headsLength, marksRead.areStill(bytes.span) { return marksRead }
        }
        return try Marks(of: file, generation: header.generation, keys: keys)
    }

    /// Reads the frames after the tip.
    ///
    /// - Parameters:
    ///   - knownSize: the file's size, if no writer can change it.
    ///   - known: states that must be among those read, if they are of this generation.
    ///   - apply: takes the operations of each frame, once its commit is known to be complete.
    mutating func follow(
        knownSize: Int? = nil, through known: [KnownState] = [],
        apply: (_ operations: FrameOperations, _ sequence: UInt64) throws(StorageError) -> Void
    ) throws(StorageError) {
        sight = .lost
        // Marks are read before the size, and the size before frames: the states that marks name are then within the
        // size.
        let marks = try readMarks()
        marksRead = marks
        guard let highest = marks.highest else { throw .damaged(.marks) }
        let size: Int
        if let knownSize {
            size = knownSize
        } else {
            size = try attempt(.read, file.status()).size
        }
        var reader = LogReader(file: file, size: size, generation: header.generation)
        let found = try reader.walk(from: tip, highest: highest, depth: .unconfirmed, keys: keys, apply: apply)
        for state in known where !state.isPassed(by: [tip] + found, generation: header.generation) { throw .rolledBack }
        unconfirmed += found
        for commit in unconfirmed where commit.position.sequence == highest.sequence && commit.position != highest {
            throw .damaged(.markMismatch(sequence: highest.sequence))
        }
        confirm(through: highest.sequence)
        sight = .through(size: size)
    }

    /// Moves the base to the newest applied commit that a mark names or that lies below it.
    private mutating func confirm(through sequence: UInt64) {
        while let next = unconfirmed.first, next.position.sequence <= sequence {
            base = next
            unconfirmed.removeFirst()
        }
    }

    /// Checks every byte of the file up to the tip.
    ///
    /// - Returns: the commits of the file, preceded by its initial state.
    @discardableResult
    func check() throws(StorageError) -> [Commit] { try LogReader.check(file, page, keys, through: tip) }

    /// The present file, with the records that result from it.
    func snapshot(_ records: RecordTable, root: borrowing SecretBytes) throws(StorageError) -> LogSnapshot {
        let keys = try secured(GenerationKeys(root: root, header: header))
        return LogSnapshot(file: file, page: page, keys: keys, tip: tip, records: records)
    }

    /// The frames after a commit of this file, all of which must be present.
    func frames(after commit: Commit) throws(StorageError) -> [FrameOperations] {
        var frames: [FrameOperations] = []
        var reader = LogReader(file: file, size: tip.position.end, generation: header.generation)
        let collect = { (operations: FrameOperations, _: UInt64) throws(StorageError) in frames.append(operations) }
        _ = try reader.walk(from: commit, highest: tip.position, depth: .everything, keys: keys, apply: collect)
        return frames
    }

    // MARK: Writing, under the writer lock

    /// The result of preparing a file for writing.
    enum Repair {
        /// The file is ready; the bytes of an unfinished commit were cut off.
        case ready(cutOff: Int)
        /// Applied commits are no longer there: the table must be rebuilt.
        case isOther
    }

    /// Makes everything that was read durable, before anything is built on it, and cuts off an unfinished commit.
    mutating func repair(in directory: any VaultDirectory) throws(StorageError) -> Repair {
        if tip.count <= 1, !isNameDurable {
            try health.synchronizing { () throws(Errno) in try directory.synchronize() }
            isNameDurable = true
        }
        let cutOff = unfinishedBytes
        if cutOff > 0 {
            try attempt(.truncate, file.truncate(to: tip.position.end))
            try health.synchronizing { () throws(Errno) in try file.synchronizeData() }
            sight = .through(size: tip.position.end)
            reserve.forget()
        }
        return try confirmAll() ? .ready(cutOff: cutOff) : .isOther
    }

    /// Rewrites commits that were only read, unchanged, and syncs them. A failure rolls nothing back: their writer,
    /// since gone, may have acknowledged them.
    ///
    /// - Returns: `false` if they were replaced since they were applied.
    private mutating func confirmAll() throws(StorageError) -> Bool {
        guard !unconfirmed.isEmpty else { return true }
        let (start, end, tag) = (base.position.end, tip.position.end, tip.position.tag)
        let ignore = { (_: FrameOperations, _: UInt64) throws(StorageError) in }
        // The bytes checked are the bytes written: both come from this read.
        let bytes = try attempt(.read, file.read(end - start, at: start))
        let marks = try readMarks()
        guard bytes.count == end - start, let highest = marks.highest else { throw .damaged(.marks) }
        var reader = LogReader(file: file, size: end, generation: header.generation, window: bytes, at: start)
        let found = try reader.walk(from: base, highest: highest, depth: .everything, keys: keys, apply: ignore)
        guard found.last?.position.tag == tag else { return false }
        try health.synchronizing { () throws(Errno) in
            try file.writeAll(marks.newer.span, at: marks.newerOffset)
            try file.writeAll(bytes.span, at: start)
            try file.synchronizeData()
        }
        syncedMark = highest
        confirm(through: .max)
        return true
    }

    /// Writes frames after the tip and makes them durable with one sync.
    ///
    /// - Parameters:
    ///   - transactions: the number of transactions in the frames.
    ///   - isDelete: whether they may use up the reserve for deletes.
    ///   - limit: the maximum size of a file, in bytes.
    mutating func append(
        _ frames: borrowing FrameBuilder, transactions: Int, isDelete: Bool, limit: Int
    ) throws(StorageError) {
        let tip = tip
        let (start, end) = (tip.position.end, frames.position.end)
        guard end <= limit else { throw .inputOutput(.fileTooLarge, .write) }
        try reserve.take(through: end, from: start, of: file, isDelete: isDelete)
        var task = FileTask.write
        let marked: LogPosition
        do throws(Errno) {
            marked = try writeMark(naming: base.position, clean: false)
            try file.writeAll(frames.bytes.span, at: start)
            task = .synchronize
            try file.synchronizeData()
        } catch { try cutBack(to: start, after: error, task) }
        base = Commit(
            position: frames.position, tagOffset: frames.lastTagOffset, count: tip.count + transactions,
            frames: tip.frames + frames.frames)
        syncedMark = marked
        unconfirmed = []
        sight = .through(size: end)
    }

    /// Writes the older mark; or, if the newer one may not be on the disk, rewrites that one unchanged: writing a mark
    /// can be interrupted, and the other one must be valid then.
    ///
    /// - Returns: the position in the written mark once it is synced.
    private mutating func writeMark(naming position: LogPosition, clean: Bool) throws(Errno) -> LogPosition {
        if marksRead == nil { marksRead = try marks() }
        // Until the write completes, the marks in the file are unknown.
        guard var marks = marksRead.take(), let newest = marks.highest else { throw .ioError }
        guard newest == syncedMark else {
            try file.writeAll(marks.newer.span, at: marks.newerOffset)
            marksRead = marks
            return newest
        }
        let mark = Marks.encode(position, generation: header.generation, clean: clean, keys: keys)
        try file.writeAll(mark.span, at: marks.olderOffset)
        marks.replaceOlder(with: mark, naming: position)
        marksRead = marks
        return position
    }

    /// Rolls back the write of a failed commit. Always throws: the commit failed, or the outcome is unknown.
    private mutating func cutBack(to start: Int, after error: Errno, _ task: FileTask) throws(StorageError) -> Never {
        if task == .synchronize { health.poison() }
        reserve.forget()
        do throws(Errno) {
            try file.truncate(to: start)
            try file.synchronizeData()
        } catch {
            health.poison()
            throw .indeterminate(error)
        }
        sight = .through(size: start)
        // Without a reserve, a delete could fail on the full disk.
        try? reserve.take(through: start, from: start, of: file, isDelete: false)
        throw .inputOutput(error, task)
    }

    /// Makes both marks name the last commit, so that any truncation of the file is detected.
    mutating func settleMarks() throws(StorageError) {
        try health.synchronizing { () throws(Errno) in
            for _ in 0..<3 {
                let position = tip.position
                if try marks()?.bothName(position) == true { break }
                syncedMark = try writeMark(naming: position, clean: true)
                try file.synchronizeData()
            }
        }
    }

    mutating func noteNameIsDurable() { isNameDurable = true }

    /// Makes state that was only read durable, for a caller that records it elsewhere.
    func synchronize() throws(StorageError) {
        // The state in a mark that was only read may exist in the page cache alone.
        try attempt(.synchronize, file.synchronizeData())
    }
}
