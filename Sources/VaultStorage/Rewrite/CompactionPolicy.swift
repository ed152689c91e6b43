// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The conditions for rewriting a file.
struct CompactionPolicy {
    private static let leastFrames = 4096
    private static let leastWaste = 256 << 10
    /// Above this size, a replaced secret waits for the next compaction that is due for another reason.
    private static let quickLength = 4 << 20

    /// Whether this handle ever made a change: a handle that only read has nothing to clean up.
    var isWriter = false
    /// The size at which a compaction failed; the next attempt follows when the file has grown by half.
    private var failedSize = 0
    /// The number of frames that makes the next compaction due.
    private var mostFrames = CompactionPolicy.leastFrames

    /// Whether the file contains more dead than live data, too many frames, or the box of a replaced secret.
    ///
    /// - Parameter isLeaving: whether the vault is about to be closed or locked, when superseded secrets are removed.
    func isWorthIt(_ log: borrowing Log, _ records: borrowing RecordTable, isLeaving: Bool) -> Bool {
        let (size, frames) = (log.size, log.tip.frames)
        let dead = size - Layout.firstFrame - records.liveBytes
        let isMostlyDead = dead > CompactionPolicy.leastWaste && dead * 2 > size
        let hasManyFrames = frames > mostFrames && frames * 2 > records.count
        let holdsSuperseded = isLeaving && records.hasSuperseded && size < CompactionPolicy.quickLength
        guard isWriter, isMostlyDead || hasManyFrames || holdsSuperseded else { return false }
        return isLeaving || size > failedSize + failedSize / 2
    }

    mutating func noteFailure(_ log: borrowing Log) {
        failedSize = log.size
        mostFrames = max(CompactionPolicy.leastFrames, log.tip.frames) * 2
    }

    mutating func noteSuccess(_ log: borrowing Log) {
        failedSize = 0
        mostFrames = max(CompactionPolicy.leastFrames, log.tip.frames * 2)
    }

    mutating func noteOtherFile() { mostFrames = CompactionPolicy.leastFrames }
}
