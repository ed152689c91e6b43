// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import VaultFormat
internal import VaultSystem

/// A file that has replaced another, with all data that a handle on the old one needs to continue without reading it.
struct Handover {
    let file: any VaultFile
    let identity: FileStatus
    let page: HeaderPage
    /// The last commit of the old file.
    let source: LogPosition
    /// The only commit of the new one.
    let tip: Commit
    let moved: MovedValues
}

/// Holds the result of a concurrent rewrite, for the handle to take when it finds its file replaced.
final class HandoverSlot: Sendable {
    private let slot = Mutex<Handover?>(nil)

    func offer(_ handover: Handover) { slot.withLock { $0 = handover } }

    func withdraw() { slot.withLock { $0 = nil } }

    /// - Parameter status: of the present file; the result is dropped if it is another.
    func take(for status: FileStatus) -> Handover? {
        guard let handover = slot.withLock({ $0.take() }), handover.identity.isSameFile(as: status) else { return nil }
        return handover
    }
}

/// The new locations of the values of a table's records after a rewrite.
struct MovedValues {
    /// The old and the new offset of the value, by the record's place; 0 for none.
    var places: [(old: UInt64, new: UInt64)] = []
    private(set) var past: [VersionKey: (old: UInt64, new: UInt64)] = [:]
    /// Values committed while the file was copied.
    private(set) var later: [ItemID: (version: UInt64, offset: UInt64)] = [:]
    /// Items deleted meanwhile.
    private(set) var deleted: Set<ItemID> = []
    /// Whether the new file contains the box of a value that was replaced meanwhile.
    private(set) var hasSuperseded = false

    /// - Parameter operation: as in the old file.
    mutating func note(_ operation: Span<UInt8>, _ origin: NewFile.Origin, isAt offset: UInt64) {
        let way = (old: Operation.offset(of: operation), new: offset)
        switch origin {
        case .none: break
        case .current(let place): places[place] = way
        case .past: past[VersionKey(Operation(checked: operation))] = way
        case .later where Operation.kind(of: operation) == .past: past[VersionKey(Operation(checked: operation))] = way
        case .later: later[Operation.id(of: operation)] = (Operation.valueVersion(of: operation), offset)
        }
    }

    /// Accounts for a change made while the file was copied.
    mutating func noteLater(_ operation: Span<UInt8>) {
        switch Operation.kind(of: operation) {
        case .past: break
        case .put: hasSuperseded = true
        case .delete:
            hasSuperseded = true
            deleted.insert(Operation.id(of: operation))
        }
    }
}
