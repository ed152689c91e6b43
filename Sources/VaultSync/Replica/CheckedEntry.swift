// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The content of an entry without its items, once its author is known.
struct CheckedEntry {
    let hash: Bytes32
    let device: DeviceID
    let previous: Bytes32
    let hlc: UInt64
    let ack: UInt64
    let logset: UInt64
    let at: UInt64
    let sum: UInt64
    let tips: [LogTip]
    let trims: [LogTrim]
    let closes: [LogHead]

    init(_ entry: LogEntry<Range<Int>>, hash: Bytes32) {
        self.hash = hash
        (device, previous, hlc, ack) = (entry.deviceID, entry.previous, entry.hlc, entry.ack)
        (logset, at, sum) = (entry.logset, entry.at, entry.sum)
        (tips, trims, closes) = (entry.tips, entry.trims, entry.closes)
    }
}

/// A missing prerequisite of an entry.
enum Missing: Hashable {
    case entry(LogID, UInt64)
    /// The entries after the head of a log, of which later ones are there.
    case entries(LogID, from: UInt64)
    case roster(UInt64)
    case epoch(UInt32)
    /// A part of a large value.
    case part(RecordAddress)

    /// The text for a person.
    var text: String {
        switch self {
        case .entry(let log, let sequence): "\(log.text) \(sequence)"
        case .entries(let log, let sequence): "\(log.text) from \(sequence)"
        case .roster(let sequence): "roster \(sequence)"
        case .epoch(let epoch): "roster of epoch \(epoch)"
        case .part(let address): "part \(address.sequence) of the large value \(address.stream.name.text)"
        }
    }
}

/// The reason why an entry cannot be applied.
enum Obstacle: Error {
    case waits(Missing)
    case stops(Alarm)
    case fails(SyncError)

    init(_ error: SyncError) {
        if case .alarm(let alarm) = error { self = .stops(alarm) } else { self = .fails(error) }
    }
}

func checking<R: ~Copyable>(_ body: () throws(SyncError) -> R) throws(Obstacle) -> R {
    do throws(SyncError) { return try body() } catch { throw Obstacle(error) }
}
