// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// What a device knows of one log.
package struct LogState: Equatable, Sendable {
    package struct Head: Equatable, Sendable {
        package var sequence: UInt64
        package var hash: Bytes32
        package var hlc: UInt64 = 0
        package var ack: UInt64 = 0
        package var logset: UInt64 = 0
    }

    /// Who writes it; nil: that is not known yet.
    package var device: DeviceID?
    /// The last entry that was applied.
    package var head: Head?
    /// The first entry that is retained.
    package var first: (sequence: UInt64, hlc: UInt64)?
    /// Where the log begins; 0: at its first entry.
    package var base: UInt64 = 0
    package var baseHash = Bytes32.zero
    /// The last entry that counts of a log that has ended.
    package var end: UInt64?
    package var endHash = Bytes32.zero
    /// The base at which this device entered the log.
    package var entered: UInt64?
    /// The base that the log's own device has said in an entry that was applied.
    package var said: UInt64 = 0
    /// What the head states.
    package var at: UInt64 = 0
    package var sum: UInt64 = 0
    /// What the head cites.
    package var tips: [LogID: UInt64] = [:]
    /// The last entry that the own log has cited, and the head when it last published.
    package var cited: UInt64 = 0
    package var published: UInt64 = 0
    /// When its sum was first found to differ, in milliseconds since 1970; 0: it does not.
    package var differsSince: UInt64 = 0

    package init() {}

    package static func == (a: LogState, b: LogState) -> Bool { a.encoded() == b.encoded() }
}

/// What a device has told its fleet, and what it knows of it: with the items, all that must be kept.
package struct ReplicaState: Equatable, Sendable {
    /// The own log, and its last entry.
    package var log: LogID
    package var sequence: UInt64 = 0
    package var hash = Bytes32.zero
    /// All writes with this stamp and below are told.
    package var through: UInt64 = 0
    /// The same as far as some remote has it.
    package var ackedSequence: UInt64 = 0
    package var ackedThrough: UInt64 = 0
    package var ackedHash = Bytes32.zero
    /// What was told by entries that no remote has acknowledged.
    package var unacknowledged: [UInt64: UInt64] = [:]
    package var clock: UInt64 = 0
    /// Every member has applied all up to here.
    package var stable: UInt64 = 0
    package var logs: [LogID: LogState] = [:]
    /// Own logs that were left behind.
    package var ownEnds: [LogID: UInt64] = [:]
    package var rosterSequence: UInt64 = 0
    package var rosterHash = Bytes32.zero
    package var epoch: UInt32 = 0
    /// Devices that an owner wants to be removed, and that no remote has taken the record for yet.
    package var removals: Set<DeviceID> = []
    /// Items are to be published again whose context names an ended log; all items are.
    package var retellsEnded = false
    package var retellsAll = false
    /// When all items are published again, and when they were last, in milliseconds since 1970; 0: never.
    package var healsAt: UInt64 = 0
    package var healedAt: UInt64 = 0
    package var publishedAt: UInt64 = 0
    /// What could not be applied, and since when.
    package var suspects: [String: UInt64] = [:]
    /// When a sum was last found equal.
    package var equalAt: UInt64 = 0
    /// The size of the own log when it was last looked at for a trim, in bytes.
    package var weighed: UInt64 = 0

    package init(log: LogID) { self.log = log }
}
