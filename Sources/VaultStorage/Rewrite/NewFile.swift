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

    /// Full frames are written at once, so that a large vault is never in memory twice.
    static let groupLength = 8 << 20

    let page: HeaderPage
    private let durable: DurableFile
    private let keys: GenerationKeys
    private let environment: VaultEnvironment
    private var builder: FrameBuilder
    private var offset = Layout.firstFrame
    /// Not written before ``finish()``, when it is known which frame is the last.
    private var open: [FrameBuilder.Pending] = []
    private var origins: [Origin] = []
    private var openBytes = 0
    private var readBack = ReadBack()
    /// The commit up to which the file was read back.
    private var checked: Commit
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
        self.durable = durable
        self.page = page
        self.environment = environment
        self.keys = keys
    }

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
        readBack.handOver(operation.span)
        if case .later = origin { moved.noteLater(operation.span) }
        open.append(FrameBuilder.Pending(operation: operation, box: box))
        origins.append(origin)
        openBytes += box.count + operation.count
    }

    /// Makes the next operation begin a new frame.
    mutating func endFrame() throws(StorageError) { if !open.isEmpty { try writeOpen(isLast: false) } }

    /// Reads back and syncs the data written so far, to leave little for later.
    mutating func synchronizeEarly() throws(StorageError) {
        _ = try readBackRest(highest: LogPosition(sequence: .max, end: 0, tag: Digest()))
        checked = Commit(position: builder.position, tagOffset: builder.lastTagOffset, count: 0, frames: builder.frames)
        try attempt(.synchronize, file.synchronizeData())
    }

    /// Ends the transaction, writes header and marks, and reads back.
    mutating func finish() throws(StorageError) {
        if !open.isEmpty { try writeOpen(isLast: true) }
        let head = Marks.page(page, naming: builder.position, keys: keys)
        guard head.count <= environment.fileSystem.fileSizeLimit else { throw .inputOutput(.fileTooLarge, .write) }
        try attempt(.write, file.writeAll(head.span, at: 0))
        // The reserve is for a delete on a full disk; a disk that is already that full may do without it.
        try? file.reserve(DiskReserve.length, at: offset)
        let written = try attempt(.read, file.read(head.count, at: 0))
        guard written == head else { throw .damaged(.readBack) }
        let last = try readBackRest(highest: builder.position)
        guard (last ?? checked.position) == builder.position else { throw .damaged(.readBack) }
        try readBack.end()
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

    private mutating func writeOpen(isLast: Bool) throws(StorageError) {
        let (pending, origins) = (open, origins)
        var placed = MovedValues()
        swap(&placed, &moved)
        builder.append(pending, isLast: isLast, keys: keys, random: environment.random) { index, offset in
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
    }

    /// Reads the frames after the checked point.
    ///
    /// - Returns: the last commit among them.
    private mutating func readBackRest(highest: LogPosition) throws(StorageError) -> LogPosition? {
        let end = builder.position
        var comparison = readBack
        var reader = LogReader(file: file, size: end.end, generation: page.header.generation)
        let commits = try reader.walk(
            from: checked, highest: highest, through: end.sequence, depth: .everything, keys: keys
        ) {
            (operations, _) throws(StorageError) in operations.forEach { comparison.find($0) }
        }
        readBack = comparison
        return commits.last?.position
    }
}
