// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat

/// The operations of one frame, checked and not yet taken apart.
struct FrameOperations {
    private let bytes: [UInt8]
    private let ranges: [Range<Int>]

    init(_ bytes: [UInt8], _ ranges: [Range<Int>]) { (self.bytes, self.ranges) = (bytes, ranges) }

    var count: Int { ranges.count }

    func forEach<E: Error>(_ body: (Span<UInt8>) throws(E) -> Void) throws(E) {
        let span = bytes.span
        for range in ranges { try body(span.extracting(range)) }
    }
}

extension FrameOperations {
    /// Takes the metadata of a frame apart that the key has made: what is unacceptable here no writer of this version has written.
    ///
    /// - Parameters:
    ///   - end: where the frame ends; no value of it lies behind that.
    ///   - plain: the opened metadata; nil when its box did not open.
    /// - Throws: `.unsupported`, `.damaged(.frame)`.
    init(of head: FrameHead, endingAt end: Int, generation: UInt64, _ plain: [UInt8]?) throws(StorageError) {
        do throws(FormatError) {
            try head.checkMeaning()
            guard let plain else { throw .invalid(.metadata) }
            let content = try Padding.content(of: plain.span, minimum: Layout.metadataMinimum)
            var reader = ByteReader(plain, content)
            let metadata = try FrameMetadata(parsing: &reader)
            guard metadata.generation == generation, metadata.sequence == head.sequence else { throw .invalid(.frameSequence) }
            var ranges: [Range<Int>] = []
            ranges.reserveCapacity(min(metadata.operationCount, reader.remaining / Layout.operationLength))
            for _ in 0..<metadata.operationCount {
                let range = try Operation.check(&reader)
                if let value = Operation.value(of: plain.span.extracting(range)), Int(value.offset) > end - Int(value.length) {
                    throw .outOfBounds(.value)
                }
                ranges.append(range)
            }
            guard reader.remaining == 0 else { throw .invalid(.metadata) }
            self.init(plain, ranges)
        } catch {
            if case .unsupported(let field) = error { throw .unsupported(field) }
            throw .damaged(.frame(sequence: head.sequence, error))
        }
    }
}

/// Walks the frames of one file: the recovery rule of the format, and nothing that writes.
struct LogReader {
    /// How much is looked at of the value areas, which nobody needs to read in order to know what the items are.
    enum Depth {
        /// Only those beyond the newest mark, which may be torn.
        case unsettled
        /// All of them.
        case everything
        /// All of them, and the metadata only as the chain has it: its boxes stay closed, and nobody hears of operations.
        case integrity
    }

    let file: any VaultFile
    let size: Int
    let generation: UInt64
    private var window: [UInt8] = []
    private var windowStart = 0
    private static let windowLength = 65_536

    /// - Parameter window: bytes that were read already, from `start` on; they are not read again.
    init(file: any VaultFile, size: Int, generation: UInt64, window: [UInt8] = [], at start: Int = 0) {
        self.file = file
        self.size = size
        self.generation = generation
        self.window = window
        windowStart = start
    }

    /// Walks from `start` to the first frame that is torn, or to `limit`.
    ///
    /// - Parameters:
    ///   - highest: the newest valid mark.
    ///   - limit: the sequence number of the last frame to look at.
    ///   - apply: takes the operations of each frame, once it is certain that its commit is complete.
    /// - Returns: the commits found after `start`, oldest first.
    /// - Throws: `.damaged`, `.unsupported` or `.inputOutput`; never for a torn tail.
    mutating func walk(
        from start: Commit, highest: LogPosition, through limit: UInt64 = .max, depth: Depth, keys: borrowing GenerationKeys,
        apply: (_ operations: FrameOperations, _ sequence: UInt64) throws(StorageError) -> Void
    ) throws(StorageError) -> [Commit] {
        if start.position.sequence == highest.sequence, start.position != highest {
            throw .damaged(.markMismatch(sequence: highest.sequence))
        }
        var position = start.position
        var frames = start.frames
        var commits: [Commit] = []
        var staged: [(operations: FrameOperations, sequence: UInt64)] = []
        var plain: [UInt8] = []
        while position.sequence < limit, let head = try head(at: position.end, after: position.sequence) {
            let covered = Layout.frameHeadLength + head.metadataLength
            let at = try load(position.end, covered + 32)
            let tag = keys.frameTag(after: position.tag, window.span.extracting(at..<at + covered))
            guard isEqualInConstantTime(tag.bytes.span, window.span.extracting(at + covered..<at + covered + 32)) else { break }
            // The box is opened before the values are looked at: that may move the window.
            let isOpen =
                depth != .integrity && open(window.span.extracting(at + Layout.frameHeadLength..<at + covered), head, keys, into: &plain)
            let isSettled = head.sequence <= highest.sequence
            if !isSettled || depth != .unsettled {
                let digest = try digest(of: position.end + covered + 32, count: head.valueLength, key: keys.digest)
                if !isEqualInConstantTime(digest.bytes.span, head.valueDigest.span) {
                    guard isSettled else { break }
                    throw .damaged(.values(sequence: head.sequence))
                }
            }
            // The chain tag holds, so a writer with the key made this frame: nothing may pass for a torn tail from here on.
            let end = position.end + head.length
            let operations =
                depth == .integrity
                ? FrameOperations([], []) : try FrameOperations(of: head, endingAt: end, generation: generation, isOpen ? plain : nil)
            position = LogPosition(sequence: head.sequence, end: end, tag: tag)
            frames += 1
            if isSettled {
                try apply(operations, head.sequence)
                if head.sequence == highest.sequence, !head.isCommit || position != highest {
                    throw .damaged(.markMismatch(sequence: highest.sequence))
                }
            } else {
                staged.append((operations, head.sequence))
                if head.isCommit {
                    for frame in staged { try apply(frame.operations, frame.sequence) }
                    staged.removeAll(keepingCapacity: true)
                }
            }
            if head.isCommit {
                let count = (commits.last ?? start).count + 1
                commits.append(Commit(position: position, tagOffset: position.end - head.valueLength - 32, count: count, frames: frames))
            }
        }
        let last = (commits.last ?? start).position.sequence
        if limit == .max, last < highest.sequence { throw .damaged(.missingCommits(found: last, expected: highest.sequence)) }
        return commits
    }

    /// The head of the frame at `offset`. Nil: torn, or the end.
    private mutating func head(at offset: Int, after sequence: UInt64) throws(StorageError) -> FrameHead? {
        guard size - offset >= Layout.frameLengths.lowerBound else { return nil }
        let start = try load(offset, Layout.frameHeadLength)
        let bytes = window.span.extracting(start..<start + Layout.frameHeadLength)
        guard let head = try? FrameHead(parsing: bytes, available: size - offset), head.sequence == sequence &+ 1 else { return nil }
        return head
    }

    private func open(_ box: Span<UInt8>, _ head: FrameHead, _ keys: borrowing GenerationKeys, into plain: inout [UInt8]) -> Bool {
        do throws(CryptoError) {
            try SecretBox.open(box, nonce: head.nonce.span, key: keys.metadata, into: &plain)
            return true
        } catch {
            return false
        }
    }

    private mutating func digest(of offset: Int, count: Int, key: borrowing SecretBytes) throws(StorageError) -> Digest {
        var hash = KeyedHash(key: key)
        var done = 0
        while done < count {
            let length = min(count - done, 1 << 20)
            let start = try load(offset + done, length)
            hash.update(window.span.extracting(start..<start + length))
            done += length
        }
        return hash.digest()
    }

    /// Brings bytes of the file into the window; returns where in it they begin.
    private mutating func load(_ offset: Int, _ count: Int) throws(StorageError) -> Int {
        if offset < windowStart || offset + count > windowStart + window.count {
            let length = min(max(count, LogReader.windowLength), size - offset)
            window = try attempt(.read) { () throws(Errno) in try file.read(length, at: offset) }
            windowStart = offset
            // The file became shorter than it was: what was there is torn or gone, and zeros are neither.
            if window.count < count { window.appendZeros(count - window.count) }
        }
        return offset - windowStart
    }
}
