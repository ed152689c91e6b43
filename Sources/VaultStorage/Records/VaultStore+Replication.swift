// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The log that this device's writes are named after, as its record of class 0 `sync` says.
public struct OwnLog: Equatable, Sendable {
    /// The log's number in this file.
    public let number: UInt16
    /// Whether items stay here that are not synchronizable.
    public let onlySynchronizable: Bool

    public init(number: UInt16, onlySynchronizable: Bool) {
        (self.number, self.onlySynchronizable) = (number, onlySynchronizable)
    }

    static let (numberName, scopeName, clockName) = ("log", "scope", "clock")
    static let synchronizable = "synchronizable"

    /// What a record `sync` says beside other things.
    ///
    /// - Parameter clock: the greatest stamp that is known of.
    public func attributes(clock: UInt64) -> [String: String] {
        [OwnLog.numberName: String(number), OwnLog.clockName: String(clock)].merging(
            onlySynchronizable ? [OwnLog.scopeName: OwnLog.synchronizable] : [:]
        ) { $1 }
    }
}

/// What was read of the record `sync`, as long as that is the same.
struct KnownOwnLog {
    let id: ItemID
    let version: UInt64
    let log: OwnLog?
    let clock: UInt64
}

extension VaultStore {
    /// Nil: the vault belongs to no fleet.
    public var ownLog: OwnLog? {
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
            let isNarrow = user[OwnLog.scopeName] == OwnLog.synchronizable
            return KnownOwnLog(
                id: record.id, version: record.version,
                log: number.map { OwnLog(number: $0, onlySynchronizable: isNarrow) },
                clock: user[OwnLog.clockName].flatMap { UInt64($0) } ?? 0)
        }
        return knownOwnLog
    }

    /// The greatest stamp that this file knows to be taken.
    public var newestStamp: UInt64 { max(records.newestStamp, lastStamp, currentOwnLog()?.clock ?? 0) }

    /// Names the next write: milliseconds since 1970 << 16, and always more than the last one (a hybrid logical clock).
    public func nextStamp() -> UInt64 {
        lastStamp = max(newestStamp + 1, environment.clock.stamp)
        return lastStamp
    }
}
