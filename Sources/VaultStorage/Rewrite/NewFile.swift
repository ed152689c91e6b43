// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat

/// A vault file under construction: the next generation, as one transaction, unnamed or with a temporary name.
struct NewFile: ~Copyable {
    /// The origin of an operation of the new file.
    enum Origin {
        /// The record at a place of the table.
        case current(Int)
        case past
        /// Committed while the file was copied.
        case later
        /// There is no old file, or its records are not used further.
        case none
    }

    /// Full frames are written at once and read back while the next ones are made: a large vault is never in memory
    /// twice.
    static let groupLength = 1 << 20

    private let access: Access
    private let durable: DurableFile
    private let environment: VaultEnvironment
    private var builder: FrameBuilder
    private var offset = Layout.firstFrame
    /// Not written before ``finish()``, when it is known which frame is the last.
    private var open: [FrameBuilder.Pending] = []
    private var origins: [Origin] = []
    private var openBytes = 0
    /// The position up to which the file was read back.
    private var checked: Commit
    /// The read-back of the frames after that position, on another thread.
    private var check: Later<Result<Commit, StorageError>>?
    private(set) var moved = MovedValues()

    /// - Parameters:
    ///   - length: the approximate length of the file, in bytes; 0 for a file too small to reserve space.
    ///   - places: the number of places in the table from which the file is made.
    init(
        _ header: Header, root: borrowing SecretBytes, length: Int, places: Int = 0, in location: VaultLocation,
        _ environment: VaultEnvironment
    ) throws(StorageError) {
        let keys = try secured(GenerationKeys(root: root, header: header))
        let page = HeaderPage(sealing: header, keys: keys)
        let durable: DurableFile
        do throws(Errno) { durable = try location.newFile(environment.random) } catch {
            throw .inputOutput(error, .open)
        }
        do throws(Errno) { if length > 0 { try durable.file.reserve(length, at: 0) } } catch {
            guard error == .notSupported else { throw .inputOutput(error, .reserve) }
        }
        checked = Commit(genesisOf: page, keys: keys)
        builder = FrameBuilder(after: checked.position, generation: header.generation)
        moved.places = [(old: UInt64, new: UInt64)](repeating: (0, 0), count: places)
        access = Access(durable.file, page, keys)
        self.durable = durable
        self.environment = environment
    }

    var page: HeaderPage { access.page }

    /// The single commit of the file.
    var tip: Commit {
        Commit(
            position: builder.position, tagOffset: builder.lastTagOffset, count: builder.frames == 0 ? 0 : 1,
            frames: builder.frames)
    }

    var file: any VaultFile { durable.file }

    /// - Parameter box: nonce and box of its value; empty if there is none, or if the previous operation has the same.
    mutating func append(_ operation: [UInt8], box: [UInt8], _ origin: Origin = .none) throws(StorageError) {
        if openBytes >= NewFile.groupLength { try writeOpen(isLast: false) }
        if case .later = origin { moved.noteLater(operation.span) }
        open.append(FrameBuilder.Pending(operation: operation, box: box))
        origins.append(origin)
        openBytes += box.count + operation.count
    }

    /// Makes the next operation begin a new frame.
    mutating func endFrame() throws(StorageError) { if !open.isEmpty { try writeOpen(isLast: false) } }

    /// Syncs the data written so far, to leave little for later.
    mutating func synchronizeEarly() throws(StorageError) { try attempt(.synchronize, file.synchronizeData()) }

    /// Ends the transaction, and writes header and marks.
    mutating func finish() throws(StorageError) {
        if !open.isEmpty { try writeOpen(isLast: true) }
        try endCheck()
        let head = Marks.page(page, naming: builder.position, keys: access.keys)
        guard head.count <= environment.fileSystem.fileSizeLimit else { throw .inputOutput(.fileTooLarge, .write) }
        try attempt(.write, file.writeAll(head.span, at: 0))
        // The reserve is for a delete on a full disk; a disk that is already that full may do without it.
        try? file.reserve(DiskReserve.length, at: offset)
        let written = try attempt(.read, file.read(head.count, at: 0))
        guard written == head, checked.position == builder.position else { throw .damaged(.readBack) }
    }

    /// Makes the file durable under its name.
    ///
    /// - Throws: `.alreadyExists` if a file exists and must not be replaced; `.inputOutput`, with the previous file in
    ///   place; `.indeterminate`.
    consuming func finish(replacing: Bool) throws(StorageError) {
        do throws(DurableFile.Failure) { try durable.finish(replacing: replacing) } catch {
            if error.hasName { throw .indeterminate(error.errno) }
            throw error.errno == .fileExists ? .alreadyExists : .inputOutput(error.errno, error.task)
        }
    }

    /// Writes the open operations as frames, and begins to read the frames back.
    private mutating func writeOpen(isLast: Bool) throws(StorageError) {
        let (pending, origins) = (open, origins)
        var readBack = ReadBack(of: pending)
        var placed = MovedValues()
        swap(&placed, &moved)
        builder.append(pending, isLast: isLast, keys: access.keys, random: environment.random) { index, offset in
            readBack.setOffset(offset, of: index)
            let operation = pending[index].operation
            placed.note(operation.span, origins[index], isAt: offset)
        }
        moved = placed
        open = []
        self.origins = []
        openBytes = 0
        let bytes = builder.takeBytes()
        guard offset + bytes.count <= environment.fileSystem.fileSizeLimit else {
            throw .inputOutput(.fileTooLarge, .write)
        }
        try attempt(.write, file.writeAll(bytes.span, at: offset))
        file.beginWriting(bytes.count, at: offset)
        offset += bytes.count
        try endCheck()
        let (access, start) = (access, checked)
        let end = Commit(
            position: builder.position, tagOffset: builder.lastTagOffset, count: 0, frames: builder.frames)
        check = Later { [readBack] in
            Result { () throws(StorageError) in
                try access.check(readBack, from: start, to: end, isLast: isLast)
                return end
            }
        }
    }

    private mutating func endCheck() throws(StorageError) {
        if let check { checked = try check.value.get() }
        check = nil
    }
}

/// The parts of a new file with which any thread reads it back.
private final class Access: Sendable {
    let file: any VaultFile
    let page: HeaderPage
    let keys: GenerationKeys

    init(_ file: any VaultFile, _ page: HeaderPage, _ keys: consuming GenerationKeys) {
        (self.file, self.page) = (file, page)
        self.keys = keys
    }

    /// Checks that the frames after `start` contain the operations, and no others.
    func check(_ expected: ReadBack, from start: Commit, to end: Commit, isLast: Bool) throws(StorageError) {
        let end = end.position
        // All frames count as committed, though the last frame of the transaction may not be there yet.
        let highest = isLast ? end : LogPosition(sequence: .max, end: 0, tag: Digest())
        var readBack = expected
        var reader = LogReader(file: file, size: end.end, generation: page.header.generation)
        let commits = try reader.walk(
            from: start, highest: highest, through: end.sequence, depth: .everything, keys: keys
        ) { (operations, _) throws(StorageError) in operations.forEach { readBack.find($0) } }
        guard readBack.isComplete, commits.last?.position == (isLast ? end : nil) else { throw .damaged(.readBack) }
    }
}
