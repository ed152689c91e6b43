// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// A device's knowledge of one log.
///
/// Size: each property is a field of its encoding.
package struct LogState: Equatable, Sendable {
    package struct Head: Equatable, Sendable {
        package var sequence: UInt64
        package var hash: Bytes32
        package var hlc: UInt64 = 0
        package var ack: UInt64 = 0
        package var logset: UInt64 = 0
    }

    /// The device that writes the log; `nil` while unknown.
    package var device: DeviceID?
    /// The last entry that was applied.
    package var head: Head?
    /// The first entry that is retained.
    package var first: (sequence: UInt64, hlc: UInt64)?
    /// The number of the log's first entry after a trim; 0 if it was never trimmed.
    package var base: UInt64 = 0
    package var baseHash = Bytes32.zero
    /// The last valid entry of a log that has ended.
    package var end: UInt64?
    package var endHash = Bytes32.zero
    /// The base at which this device entered the log.
    package var entered: UInt64?
    /// The base that the log's own device has stated in an applied entry.
    package var said: UInt64 = 0
    /// The statement of the head: a sum over heads, and the sum of the items at these heads.
    package var at: UInt64 = 0
    package var sum: UInt64 = 0
    /// The citations of the head.
    package var tips: [LogID: UInt64] = [:]
    /// The last entry that the own log has cited, and the head at the time of the last publication.
    package var cited: UInt64 = 0
    package var published: UInt64 = 0
    /// The time when its sum was first found to differ, in milliseconds since 1970; 0 if it does not.
    package var differsSince: UInt64 = 0

    package init() {}

    package static func == (a: LogState, b: LogState) -> Bool { a.encoded() == b.encoded() }
}

/// The state of a device in its fleet. Together with the items, this is everything that must be kept.
///
/// Size: each property is a field of its encoding.
package struct ReplicaState: Equatable, Sendable {
    /// The own log, and its last entry.
    package var log: LogID
    package var sequence: UInt64 = 0
    package var hash = Bytes32.zero
    /// The stamp up to which all own writes are published.
    package var through: UInt64 = 0
    /// The same three values, for the entries that some remote has.
    package var ackedSequence: UInt64 = 0
    package var ackedThrough: UInt64 = 0
    package var ackedHash = Bytes32.zero
    /// The value of ``through`` after each entry that no remote has acknowledged.
    package var unacknowledged: [UInt64: UInt64] = [:]
    package var clock: UInt64 = 0
    /// The stamp up to which every member has applied all entries.
    package var stable: UInt64 = 0
    package var logs: [LogID: LogState] = [:]
    /// The ends of own logs that were abandoned.
    package var ownEnds: [LogID: UInt64] = [:]
    package var rosterSequence: UInt64 = 0
    package var rosterHash = Bytes32.zero
    package var epoch: UInt32 = 0
    /// The devices that an owner wants to remove, while no remote has taken the record.
    package var removals: Set<DeviceID> = []
    /// Whether the items whose context names an ended log are to be published again, and whether all items are.
    package var retellsEnded = false
    package var retellsAll = false
    /// The times of the next and the last publication of all items, in milliseconds since 1970; 0 for none.
    package var healsAt: UInt64 = 0
    package var healedAt: UInt64 = 0
    package var publishedAt: UInt64 = 0
    /// The missing prerequisites of entries, each with the time since when.
    package var suspects: [String: UInt64] = [:]
    /// The time when a sum was last found equal.
    package var equalAt: UInt64 = 0
    /// The number of records of the own log at the last consideration of a trim.
    package var weighed: UInt64 = 0

    package init(log: LogID) { self.log = log }
}
