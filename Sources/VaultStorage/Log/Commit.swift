// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// A state of the log, as named by a mark.
struct LogPosition: Equatable {
    var sequence: UInt64
    var end: Int
    var tag: Digest
}

/// A commit in the log, or the state before the first.
struct Commit {
    var position: LogPosition
    /// The offset of its chain tag; 0 for the state before the first commit, whose tag is in no file.
    var tagOffset: Int
    /// The number of commits in this file up to and including this one.
    var count: Int
    /// The number of frames in this file up to the end of this commit.
    var frames: Int

    init(position: LogPosition, tagOffset: Int, count: Int, frames: Int) {
        self.position = position
        self.tagOffset = tagOffset
        self.count = count
        self.frames = frames
    }

    /// The state before the first commit of a file with this header.
    init(genesisOf page: HeaderPage, keys: borrowing GenerationKeys) {
        let tag = keys.genesisTag(page.bytes.span)
        position = LogPosition(sequence: page.header.baseSequence, end: Layout.firstFrame, tag: tag)
        (tagOffset, count, frames) = (0, 0, 0)
    }
}
