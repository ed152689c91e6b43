// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// When a file is worth writing anew.
struct CompactionPolicy {
    private static let leastFrames = 4096
    private static let leastWaste = 256 << 10
    /// Above this a secret that was replaced waits for the next compaction that is due for another reason.
    private static let quickLength = 4 << 20

    /// Whether this handle ever changed something: one that only read has nothing to tidy up when it goes.
    var isWriter = false
    /// The size at which a compaction failed; the next try comes when the file has grown by half.
    private var failedSize = 0
    /// The number of frames at which the next compaction for their number is due.
    private var mostFrames = CompactionPolicy.leastFrames

    /// Whether the file holds more that is dead than alive, or too many frames, or the box of a secret that was
    /// replaced.
    ///
    /// - Parameter isLeaving: the vault is about to be closed or locked: superseded secrets go then.
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
