// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import VaultFormat

/// What names a version of an item.
struct VersionKey: Hashable {
    let id: ItemID
    let version: UInt64

    init(_ id: ItemID, _ version: UInt64) { (self.id, self.version) = (id, version) }

    init(_ operation: Operation) { self.init(operation.id, operation.version) }
}

/// Where a rewrite has laid the values of a table's records.
struct MovedValues {
    /// By the record's place: where its value lay, and where it lies; 0 for none.
    var places: [(old: UInt64, new: UInt64)] = []
    var past: [VersionKey: (old: UInt64, new: UInt64)] = [:]
    /// What was committed while the file was copied.
    var later: [ItemID: (version: UInt64, offset: UInt64)] = [:]
    /// Items that were deleted meanwhile.
    var deleted: Set<ItemID> = []
    /// Whether the new file has the box of a value that was replaced meanwhile.
    var hasSuperseded = false
}

/// A file that has taken the place of another, with all that a handle on the old one needs to go on without reading it.
struct Rewritten {
    let file: any VaultFile
    let identity: FileStatus
    let page: HeaderPage
    /// The last commit of the old file.
    let source: LogPosition
    /// The only commit of the new one.
    let tip: Commit
    let moved: MovedValues
}

/// Where a rewrite leaves its result for the handle that it was made for, which takes it when it finds its file replaced.
final class Handover: Sendable {
    private let slot = Mutex<Rewritten?>(nil)

    func offer(_ rewritten: Rewritten) { slot.withLock { $0 = rewritten } }

    func withdraw() { slot.withLock { $0 = nil } }

    /// - Parameter status: of the file that is there now; the result is dropped when it is another.
    func take(for status: FileStatus) -> Rewritten? {
        guard let rewritten = slot.withLock({ $0.take() }), rewritten.identity.isSameFile(as: status) else { return nil }
        return rewritten
    }
}
