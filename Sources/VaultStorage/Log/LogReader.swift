// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat

/// Follows the frames of one file by the format's recovery rule, without writing.
struct LogReader {
    /// How much of the value areas is checked; they are not needed to know the items.
    enum Depth {
        /// Only those beyond the newest mark, which may be torn.
        case unconfirmed
        /// All value areas.
        case everything
        /// All value areas, and the metadata only by its chain tags: its boxes stay closed, and `apply` gets no
        /// operations.
        case integrity
    }

    private var frames: FrameParser

    /// - Parameter window: bytes already read, beginning at `start`, which are not read again.
    init(file: any VaultFile, size: Int, generation: UInt64, window: [UInt8] = [], at start: Int = 0) {
        frames = FrameParser(file: file, size: size, generation: generation, window: window, at: start)
    }

    /// Follows the frames from `start` to the first torn one, or to `limit`.
    ///
    /// - Parameters:
    ///   - highest: the newest valid mark.
    ///   - limit: the sequence number of the last frame to read.
    ///   - apply: takes the operations of each frame, once its commit is known to be complete.
    /// - Returns: the commits found after `start`, oldest first.
    /// - Throws: `.damaged`, `.unsupported` or `.inputOutput`; never for a torn tail.
    mutating func walk(
        from start: Commit, highest: LogPosition, through limit: UInt64 = .max, depth: Depth,
        keys: borrowing GenerationKeys,
        apply: (_ operations: FrameOperations, _ sequence: UInt64) throws(StorageError) -> Void
    ) throws(StorageError) -> [Commit] {
        if start.position.sequence == highest.sequence, start.position != highest {
            throw .damaged(.markMismatch(sequence: highest.sequence))
        }
        var progress = Progress(start, highest, depth)
        var batch = try nextFrames(after: (start.position.sequence, start.position.end), highest, through: limit, depth)
        var next = try nextFrames(after: batch.last, highest, through: limit, depth)
        let generation = frames.generation
        var contents = LogReader.contents(of: batch, after: start.position.tag, generation, depth, keys) {}
        while let last = batch.last {
            // The next frames are opened while these are applied, and those after them are read.
            var outcome = Result<Bool, StorageError>.success(true)
            var later: [FrameBytes] = []
            let following = LogReader.contents(of: next, after: last.storedTag, generation, depth, keys) {
                do throws(StorageError) {
                    for (frame, content) in zip(batch, contents) {
                        guard let content, try progress.take(frame, content, &frames, keys, apply) else {
                            return outcome = .success(false)
                        }
                    }
                    later = try nextFrames(after: next.last, highest, through: limit, depth)
                } catch { outcome = .failure(error) }
            }
            guard try outcome.get() else { break }
            (batch, contents, next) = (next, following, later)
        }
        let commits = progress.commits
        let last = (commits.last ?? start).position.sequence
        if limit == .max, last < highest.sequence {
            throw .damaged(.missingCommits(found: last, expected: highest.sequence))
        }
        return commits
    }

    /// The size of the frames that are checked together, in bytes as far as they are read.
    private static let batchLength = 1 << 20
    /// The number of frames for which another thread is worthwhile.
    private static let leastPerThread = 16

    /// The next frames by their heads, which may be torn or made without the key; empty at the end of the log.
    ///
    /// - Parameter highest: the last frame that a mark names. Those after it come one by one: the first whose values
    ///   are torn ends the log.
    private mutating func nextFrames(
        after previous: (sequence: UInt64, end: Int), _ highest: LogPosition, through limit: UInt64, _ depth: Depth
    ) throws(StorageError) -> [FrameBytes] {
        var found: [FrameBytes] = []
        var (sequence, offset, length) = (previous.sequence, previous.end, 0)
        while sequence < (found.isEmpty ? limit : min(limit, highest.sequence)), length < LogReader.batchLength,
            let head = try frames.head(at: offset, withValues: depth != .unconfirmed), head.sequence == sequence + 1
        {
            let isNew = depth != .unconfirmed || head.sequence > highest.sequence
            let withValues = isNew && head.length <= FrameParser.digestedAtOnce
            let frame = try frames.frame(head, at: offset, withValues: withValues)
            found.append(frame)
            sequence += 1
            offset = frame.end
            length += max(frame.length, min(head.length, FrameParser.windowLength))
        }
        return found
    }

    /// The frames after the last one of a batch; empty if it is empty.
    private mutating func nextFrames(
        after last: FrameBytes?, _ highest: LogPosition, through limit: UInt64, _ depth: Depth
    ) throws(StorageError) -> [FrameBytes] {
        guard let last else { return [] }
        return try nextFrames(after: (last.head.sequence, last.end), highest, through: limit, depth)
    }

    /// The checked content of a frame.
    private struct Content: Sendable {
        let tag: Digest
        /// `nil` if the values were not read with the frame.
        let hasValues: Bool?
        let operations: Result<FrameOperations, StorageError>
    }

    /// Opens frames; `nil` for one that does not follow the frame before.
    ///
    /// - Parameter other: runs meanwhile.
    private static func contents(
        of batch: [FrameBytes], after first: Digest, _ generation: UInt64, _ depth: Depth,
        _ keys: borrowing GenerationKeys, beside other: () -> Void
    ) -> [Content?] {
        Parallel.map(batch.count, atLeast: LogReader.leastPerThread) { number in
            let frame = batch[number]
            // If the tag before is wrong, the frame does not count whatever its own tag says.
            let previous = number == 0 ? first : batch[number - 1].storedTag
            guard let tag = frame.tag(after: previous, keys) else { return nil }
            let hasValues = frame.hasValues(keys)
            guard depth != .integrity else {
                return Content(tag: tag, hasValues: hasValues, operations: .success(FrameOperations([], [])))
            }
            do throws(StorageError) {
                let operations = try FrameOperations(
                    of: frame.head, endingAt: frame.end, generation: generation, frame.openMetadata(keys))
                return Content(tag: tag, hasValues: hasValues, operations: .success(operations))
            } catch { return Content(tag: tag, hasValues: hasValues, operations: .failure(error)) }
        } beside: {
            other()
        }
    }

    /// The part of the log that was applied.
    private struct Progress {
        let start: Commit
        let highest: LogPosition
        let depth: Depth
        private var count: Int
        private(set) var commits: [Commit] = []
        /// The frames of a transaction that no mark names, until its last one is there.
        private var staged: [(operations: FrameOperations, sequence: UInt64)] = []

        init(_ start: Commit, _ highest: LogPosition, _ depth: Depth) {
            (self.start, self.highest, self.depth, count) = (start, highest, depth, start.frames)
        }

        /// - Returns: `false` if the frame is torn and ends the log.
        mutating func take(
            _ frame: FrameBytes, _ content: Content, _ frames: inout FrameParser, _ keys: borrowing GenerationKeys,
            _ apply: (_ operations: FrameOperations, _ sequence: UInt64) throws(StorageError) -> Void
        ) throws(StorageError) -> Bool {
            let head = frame.head
            let isConfirmed = head.sequence <= highest.sequence
            if !isConfirmed || depth != .unconfirmed, try !Self.hasValues(frame, content, &frames, keys) {
                guard isConfirmed else { return false }
                throw .damaged(.values(sequence: head.sequence))
            }
            // The chain tag is valid, so a writer with the key made this frame: from here on nothing may be taken for a
            // torn tail.
            let operations = try content.operations.get()
            let position = LogPosition(sequence: head.sequence, end: frame.end, tag: content.tag)
            count += 1
            if isConfirmed {
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
            guard head.isCommit else { return true }
            let ordinal = (commits.last ?? start).count + 1
            let tagOffset = frame.end - head.valueLength - 32
            commits.append(Commit(position: position, tagOffset: tagOffset, count: ordinal, frames: count))
            return true
        }

        private static func hasValues(
            _ frame: FrameBytes, _ content: Content, _ frames: inout FrameParser, _ keys: borrowing GenerationKeys
        ) throws(StorageError) -> Bool {
            if let known = content.hasValues { return known }
            return try frames.hasValues(frame.head, at: frame.offset, keys)
        }
    }
}

extension LogReader {
    /// Checks every frame's values up to a commit, and so every box that may be copied: a rewrite never hides damage.
    ///
    /// - Returns: the commits of the file, preceded by its initial state.
    static func check(
        _ file: any VaultFile, _ page: HeaderPage, _ keys: borrowing GenerationKeys, through tip: Commit
    ) throws(StorageError) -> [Commit] {
        let generation = page.header.generation
        let marks: Marks?
        do throws(Errno) { marks = try Marks(of: file, generation: generation, keys: keys) } catch {
            throw .inputOutput(error, .read)
        }
        guard let marks else { throw .damaged(.notAVault) }
        guard let highest = marks.highest else { throw .damaged(.marks) }
        let start = Commit(genesisOf: page, keys: keys)
        var reader = LogReader(file: file, size: tip.position.end, generation: generation)
        let ignore = { (_: FrameOperations, _: UInt64) throws(StorageError) in }
        let commits =
            try [start]
            + reader.walk(
                from: start, highest: highest, through: tip.position.sequence, depth: .integrity, keys: keys,
                apply: ignore)
        let last = commits[commits.count - 1].position
        guard last == tip.position else {
            throw .damaged(.missingCommits(found: last.sequence, expected: tip.position.sequence))
        }
        return commits
    }
}
