// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat

/// A vault file in the making: the next generation, as one transaction, under no name or a temporary one.
struct RewriteCopy: ~Copyable {
    /// Full frames leave as they come, so that a large vault is never in memory twice.
    private static let groupLength = 8 << 20

    let file: any VaultFile
    let name: String
    let page: HeaderPage
    private let keys: GenerationKeys
    private let environment: VaultEnvironment
    private var builder: FrameBuilder
    private var offset = Layout.firstFrame
    /// Never written before ``finish()``, since only then it is known which frame is the last.
    private var open: [FrameBuilder.Pending] = []
    private var openBytes = 0
    /// How far the file was read back.
    private var checked: Commit

    init(
        header: Header, root: borrowing SecretBytes, length: Int, in location: VaultLocation, environment: VaultEnvironment
    ) throws(StorageError) {
        let keys: GenerationKeys
        do throws(CryptoError) { keys = try GenerationKeys(root: root, header: header) } catch { throw StorageError(error) }
        let page = HeaderPage(sealing: header, keys: keys)
        let name = location.temporaryName(environment.random)
        let file = try attempt(.open) { () throws(Errno) in try location.directory.createTemporary(name) }
        // Whoever cleans up leaves a file alone that somebody has locked.
        _ = try attempt(.lock) { () throws(Errno) in try file.tryLock(exclusive: true) }
        let genesis = LogPosition(sequence: header.baseSequence, end: Layout.firstFrame, tag: keys.genesisTag(page.bytes.span))
        do throws(Errno) { try file.reserve(length, at: 0) } catch {
            guard error == .notSupported else {
                try? location.directory.remove(name)
                throw .inputOutput(error, .reserve)
            }
        }
        self.file = file
        self.name = name
        self.page = page
        self.environment = environment
        builder = FrameBuilder(after: genesis, generation: header.generation)
        checked = Commit(position: genesis, tagOffset: 0, count: 0, frames: 0)
        self.keys = keys
    }

    /// The one commit of the file.
    var tip: Commit {
        Commit(position: builder.position, tagOffset: builder.lastTagOffset, count: builder.frames == 0 ? 0 : 1, frames: builder.frames)
    }

    mutating func append(_ operation: [UInt8], box: [UInt8]) throws(StorageError) {
        if openBytes >= RewriteCopy.groupLength { try writeOpen(isLast: false) }
        open.append(FrameBuilder.Pending(operation: operation, box: box))
        openBytes += box.count + operation.count
    }

    /// The next operation begins a frame of its own.
    mutating func endFrame() throws(StorageError) {
        if !open.isEmpty { try writeOpen(isLast: false) }
    }

    /// Reads back and syncs what is written so far, so that little is left to do later.
    ///
    /// - Parameter check: sees every operation that was read back.
    mutating func settle(_ check: (Span<UInt8>) throws(StorageError) -> Void) throws(StorageError) {
        try readBack(highest: LogPosition(sequence: .max, end: 0, tag: Digest()), check)
        checked = Commit(position: builder.position, tagOffset: builder.lastTagOffset, count: 0, frames: builder.frames)
        try attempt(.synchronize) { () throws(Errno) in try file.synchronizeData() }
    }

    /// Ends the transaction, writes header and marks, reads back and syncs.
    ///
    /// - Parameter check: sees every operation that was read back since ``settle(_:)``.
    mutating func finish(_ check: (Span<UInt8>) throws(StorageError) -> Void) throws(StorageError) {
        if !open.isEmpty { try writeOpen(isLast: true) }
        var head = page.bytes
        for _ in Layout.markOffsets {
            head += Marks.encode(builder.position, generation: page.header.generation, clean: true, keys: keys)
            head.appendZeros(Layout.markAreaLength - CommitMark.length)
        }
        try attempt(.write) { [file] () throws(Errno) in try file.writeAll(head.span, at: 0) }
        // For a delete on a full disk; a disk that is that full already may do without.
        try? file.reserve(VaultStore.reserve, at: offset)
        guard try HeaderPage(of: file).hasMAC(keys) else { throw .damaged(.readBack) }
        let last = try readBack(highest: builder.position, check)
        guard (last ?? checked.position) == builder.position else { throw .damaged(.readBack) }
        try attempt(.synchronize) { () throws(Errno) in try file.synchronize() }
    }

    private mutating func writeOpen(isLast: Bool) throws(StorageError) {
        builder.append(open, isLast: isLast, keys: keys, random: environment.random) { _, _ in }
        open = []
        openBytes = 0
        let bytes = builder.takeBytes()
        guard offset + bytes.count <= environment.fileSystem.fileSizeLimit else { throw .inputOutput(.fileTooLarge, .write) }
        try attempt(.write) { [file, offset] () throws(Errno) in try file.writeAll(bytes.span, at: offset) }
        offset += bytes.count
    }

    /// Walks the frames behind the point that was checked.
    ///
    /// - Returns: the last commit among them.
    @discardableResult
    private func readBack(
        highest: LogPosition, _ check: (Span<UInt8>) throws(StorageError) -> Void
    ) throws(StorageError) -> LogPosition? {
        let end = builder.position
        var reader = LogReader(file: file, size: end.end, generation: page.header.generation)
        let commits = try reader.walk(from: checked, highest: highest, through: end.sequence, depth: .everything, keys: keys) {
            (operations, _) throws(StorageError) in try operations.forEach(check)
        }
        return commits.last?.position
    }
}
