// SPDX-License-Identifier: Apache-2.0

/// The content of a log's record, without its signature.
///
/// Size: each property is a field of the format.
///
/// - Parameter Secret: a secret's bytes, or their range in the body.
package struct LogEntry<Secret> {
    package var epoch: UInt32
    package var realmID: RealmID
    package var logID: LogID
    package var deviceID: DeviceID
    /// From 1.
    package var sequence: UInt64
    /// The hash of the previous entry; zeros for the first.
    package var previous: Bytes32
    /// The entry's stamp, greater than that of the previous entry.
    package var hlc: UInt64
    /// The stamp up to which the author has applied all other open logs.
    package var ack: UInt64
    /// The hash of the logs and devices that the author recognizes.
    package var logset: UInt64
    package var rosterSequence: UInt64
    package var rosterHash: Bytes32
    /// The sum of the heads that the author has applied, and the sum of its items; both 0 if not stated.
    package var at: UInt64
    package var sum: UInt64
    /// At most 32, of different logs, in the author's order.
    package var tips: [LogTip]
    /// Of different logs; written in the order of the logs.
    package var trims: [LogTrim]
    /// The last entries of logs that the author abandoned, of different logs; written in the order of the logs.
    package var closes: [LogHead]
    package var items: [ItemState<Secret>]

    package init(
        epoch: UInt32, realmID: RealmID, logID: LogID, deviceID: DeviceID, sequence: UInt64, previous: Bytes32,
        hlc: UInt64, ack: UInt64 = 0, logset: UInt64, rosterSequence: UInt64, rosterHash: Bytes32, at: UInt64 = 0,
        sum: UInt64 = 0, tips: [LogTip] = [], trims: [LogTrim] = [], closes: [LogHead] = [],
        items: [ItemState<Secret>] = []
    ) {
        (self.epoch, self.realmID, self.logID, self.deviceID) = (epoch, realmID, logID, deviceID)
        (self.sequence, self.previous, self.hlc, self.ack) = (sequence, previous, hlc, ack)
        (self.logset, self.rosterSequence, self.rosterHash) = (logset, rosterSequence, rosterHash)
        (self.at, self.sum) = (at, sum)
        (self.tips, self.trims, self.closes, self.items) = (tips, trims, closes, items)
    }

    /// The same entry with other secrets.
    package func map<T, E: Error>(_ body: (Secret) throws(E) -> T) throws(E) -> LogEntry<T> {
        var states: [ItemState<T>] = []
        states.reserveCapacity(items.count)
        for item in items { states.append(try item.map(body)) }
        return LogEntry<T>(
            epoch: epoch, realmID: realmID, logID: logID, deviceID: deviceID, sequence: sequence, previous: previous,
            hlc: hlc, ack: ack, logset: logset, rosterSequence: rosterSequence, rosterHash: rosterHash, at: at,
            sum: sum, tips: tips, trims: trims, closes: closes, items: states)
    }
}

extension LogEntry: Equatable where Secret: Equatable {}
extension LogEntry: Sendable where Secret: Sendable {}
