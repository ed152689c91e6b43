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
        var position = start.position
        var count = start.frames
        var commits: [Commit] = []
        var staged: [(operations: FrameOperations, sequence: UInt64)] = []
        var plain: [UInt8] = []
        while position.sequence < limit, let head = try frames.head(at: position.end),
            head.sequence == position.sequence &+ 1,
            let tag = try frames.tag(of: head, at: position.end, after: position.tag, keys)
        {
            // The box is opened before the values are checked, which may move the window.
            let isOpen = depth == .integrity ? false : try frames.open(head, at: position.end, keys, into: &plain)
            let isConfirmed = head.sequence <= highest.sequence
            if !isConfirmed || depth != .unconfirmed, try !frames.hasValues(head, at: position.end, keys) {
                guard isConfirmed else { break }
                throw .damaged(.values(sequence: head.sequence))
            }
            // The chain tag is valid, so a writer with the key made this frame: from here on nothing may be taken for a
            // torn tail.
            let end = position.end + head.length
            let operations =
                depth == .integrity
                ? FrameOperations([], [])
                : try FrameOperations(of: head, endingAt: end, generation: frames.generation, isOpen ? plain : nil)
            position = LogPosition(sequence: head.sequence, end: end, tag: tag)
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
            if head.isCommit {
                let ordinal = (commits.last ?? start).count + 1
                commits.append(
                    Commit(position: position, tagOffset: end - head.valueLength - 32, count: ordinal, frames: count))
            }
        }
        let last = (commits.last ?? start).position.sequence
        if limit == .max, last < highest.sequence {
            throw .damaged(.missingCommits(found: last, expected: highest.sequence))
        }
        return commits
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
