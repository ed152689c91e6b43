// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The log that names this device's writes, from its record `sync` of class 0.
package struct OwnLog: Equatable, Sendable {
    /// The log's number in this file.
    package let number: UInt16
    /// Whether an earlier release has joined the fleet with only a part of the items. The filter took an edit of any
    /// other item for its deletion, on all devices. A device that has it therefore sends and takes nothing.
    package let isFiltered: Bool

    package init(number: UInt16, isFiltered: Bool = false) { (self.number, self.isFiltered) = (number, isFiltered) }

    static let (numberName, scopeName, clockName) = ("log", "scope", "clock")

    /// The attributes of a record `sync` for this log, without the mark of a filter.
    ///
    /// - Parameter clock: the greatest known stamp.
    package func attributes(clock: UInt64) -> [String: String] {
        [OwnLog.numberName: String(number), OwnLog.clockName: String(clock)]
    }
}

/// The last read contents of the record `sync`, valid for its version.
struct KnownOwnLog {
    let id: ItemID
    let version: UInt64
    let log: OwnLog?
    let clock: UInt64
}

extension VaultStore {
    /// `nil` if the vault belongs to no fleet.
    package var ownLog: OwnLog? {
        guard header.isReplicated else { return nil }
        return currentOwnLog()?.log
    }

    private func currentOwnLog() -> KnownOwnLog? {
        if let known = knownOwnLog, let place = records.place(of: known.id),
            records.read(place, { Operation.version(of: $0) }) == known.version
        {
            return known
        }
        knownOwnLog = record(of: .sync).map { record in
            let user = record.attributes.user
            let number = user[OwnLog.numberName].flatMap { UInt16($0) }
            let isFiltered = user[OwnLog.scopeName] == "synchronizable"
            return KnownOwnLog(
                id: record.id, version: record.version,
                log: number.map { OwnLog(number: $0, isFiltered: isFiltered) },
                clock: user[OwnLog.clockName].flatMap { UInt64($0) } ?? 0)
        }
        return knownOwnLog
    }

    /// The greatest stamp known to be used in this file.
    package var newestStamp: UInt64 { max(records.newestStamp, lastStamp, currentOwnLog()?.clock ?? 0) }

    /// Returns the stamp of the next write: milliseconds since 1970 << 16, but always greater than the last (a hybrid
    /// logical clock).
    package func nextStamp() -> UInt64 {
        lastStamp = max(newestStamp + 1, environment.clock.stamp)
        return lastStamp
    }
}
