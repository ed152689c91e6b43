// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
package import VaultAgent
package import VaultFormat
package import VaultSync

// The encoding of a sync's result, from the agent to the command. The result names remotes and devices, but no item's
// content.

extension SyncResult: MessageValue, Formed {
    package static let form = MessageForm<Self>({
        SyncResult($0, failure: $1, deviceNames: $2, fingerprint: $3, conflicts: $4)
    }) { ($0.outcomes, $0.failure, $0.deviceNames, $0.fingerprint, $0.conflicts) }
}

/// The names of devices are in the order of their logs.
extension LogID: MessageKey {
    package static func precedes(_ a: LogID, _ b: LogID) -> Bool { a < b }
}

extension SyncOutcome: MessageValue, Formed {
    package static let form = MessageForm(Self.init(url:report:alarms:notes:error:)) {
        ($0.url, $0.report, $0.alarms, $0.notes, $0.error)
    }
}

extension SyncReport: MessageValue {
    private static let counts: [any WritableKeyPath<SyncReport, Int> & Sendable] = [
        \.applied, \.published, \.sent, \.received, \.items, \.comparedEqual, \.movedItems, \.waiting, \.untold,
    ]

    package func write(to writer: inout MessageWriter) {
        for count in SyncReport.counts { writer.put(self[keyPath: count]) }
        writer.put(revived)
        writer.put(newLog)
        writer.put(isLocked)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> SyncReport {
        var report = SyncReport()
        for count in counts { report[keyPath: count] = try reader.read() }
        report.revived = try reader.read()
        report.newLog = try reader.read()
        report.isLocked = try reader.read()
        return report
    }
}

extension Alarm: MessageValue, Formed {
    package static let form = MessageForm(Self.init) { ($0.kind, $0.log, $0.sequence, $0.what) }
}

extension Alarm.Kind: MessageValue {}

extension SyncError: MessageValue {
    package func write(to writer: inout MessageWriter) {
        switch self {
        case .store(let error): writer.put(case: 1, error)
        case .vault(let error): writer.put(case: 2, error)
        case .format(let error): writer.put(case: 3, error)
        case .removed: writer.put(case: 4)
        case .notJoined: writer.put(case: 5)
        case .alreadyJoined: writer.put(case: 6)
        case .alarm(let alarm): writer.put(case: 7, alarm)
        case .notAnOwner: writer.put(case: 8)
        case .noSuchDevice: writer.put(case: 9)
        case .noSuchRemote: writer.put(case: 10)
        case .remoteInUse: writer.put(case: 11)
        case .noAnswer: writer.put(case: 12)
        case .wrongRecoveryCode: writer.put(case: 13)
        case .busy, .overtaken: writer.put(case: 14)
        case .tooLarge: writer.put(case: 15)
        case .tooManyLogs: writer.put(case: 16)
        case .url(let what): writer.put(case: 17, what)
        case .ambiguousDevice(let devices): writer.put(case: 18, devices)
        case .isFiltered: writer.put(case: 19)
        }
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> SyncError {
        switch try reader.read(UInt8.self) {
        case 1: .store(try reader.read())
        case 2: .vault(try reader.read())
        case 3: .format(try reader.read())
        case 4: .removed
        case 5: .notJoined
        case 6: .alreadyJoined
        case 7: .alarm(try reader.read())
        case 8: .notAnOwner
        case 9: .noSuchDevice
        case 10: .noSuchRemote
        case 11: .remoteInUse
        case 12: .noAnswer
        case 13: .wrongRecoveryCode
        case 14: .busy
        case 15: .tooLarge
        case 16: .tooManyLogs
        case 17: .url(try reader.read())
        case 18: .ambiguousDevice(try reader.read())
        case 19: .isFiltered
        default: throw .invalid
        }
    }
}

extension NamedDevice: MessageValue, Formed {
    package static let form = MessageForm(Self.init) { ($0.id, $0.isRemoved) }
}

extension RecordStoreError: MessageValue {
    package func write(to writer: inout MessageWriter) {
        switch self {
        case .unreachable(let place): writer.put(case: 1, place)
        case .inputOutput(let errno, let place): writer.put(case: 2, errno, place)
        case .invalid(let what): writer.put(case: 3, what)
        case .stopped: writer.put(case: 4)
        case .refused(let what, let hint): writer.put(case: 5, what, hint)
        case .denied(let what): writer.put(case: 6, what)
        }
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> RecordStoreError {
        switch try reader.read(UInt8.self) {
        case 1: .unreachable(try reader.read())
        case 2: .inputOutput(try reader.read(), try reader.read())
        case 3: .invalid(try reader.read())
        case 4: .stopped
        case 5: .refused(try reader.read(), hint: try reader.read())
        case 6: .denied(try reader.read())
        default: throw .invalid
        }
    }
}

extension RemoteURL: MessageValue, Formed {
    package static let form = MessageForm<Self>(checking: { text in
        (try? RemoteURL(text)).flatMap { $0.text == text ? $0 : nil }
    }) { $0.text }
}

// MARK: The state of a fleet

extension FleetLook: MessageValue, Formed {
    package static let form = MessageForm(Self.init(status:failure:deviceNames:)) {
        ($0.status, $0.failure, $0.deviceNames)
    }
}

extension FleetStatus: MessageValue, Formed {
    package static let form = MessageForm(Self.init) {
        (
            $0.realmID, $0.deviceName, $0.remotes, $0.isFiltered, $0.pending, $0.conflicts, $0.isRemoved, $0.removals,
            $0.lastEqual, $0.devices, $0.alarms
        )
    }
}

extension FleetStatus.Remote: MessageValue, Formed {
    package static let form = MessageForm(Self.init) { ($0.url, $0.lastSync) }
}

extension FleetDevice: MessageValue, Formed {
    package static let form = MessageForm(Self.init) {
        ($0.id, $0.name, $0.role, $0.isThis, $0.lastHeard, $0.isSilent)
    }
}

extension DeviceRole: MessageValue {}

extension DeviceSecrets: MessageValue, Formed {
    package static let form = MessageForm(Self.init) { ($0.device, $0.isRemoved, $0.readable) }
}

extension RemoteCheck: MessageValue, Formed {
    package static let form = MessageForm<Self>({
        var check = RemoteCheck(url: $0, isByTLS: $1, failure: $2)
        (check.mayAppend, check.mayRemove, check.waitingTrims) = ($3, $4, $5)
        return check
    }) { ($0.url, $0.isByTLS, $0.failure, $0.mayAppend, $0.mayRemove, $0.waitingTrims) }
}

// MARK: The state of automatic syncs

extension RemoteFollowing: MessageValue, Formed {
    package static let form = MessageForm(Self.init) {
        ($0.url, $0.isWatched, $0.heard, $0.next, $0.failure, $0.mended)
    }
}

extension RemoteFollowing.Mended: MessageValue, Formed {
    package static let form = MessageForm<Self>(checking: { $1 > 0 ? Self($0, count: $1, ago: $2) : nil }) {
        ($0.alarm, $0.count, $0.ago)
    }
}

/// A time in whole milliseconds.
extension Duration: MessageValue, Formed {
    package static let form = MessageForm<Self>(checking: { Int64(exactly: $0 as UInt64).map { .milliseconds($0) } }) {
        let (seconds, attoseconds) = $0.components
        return UInt64(clamping: seconds) * 1000 + UInt64(clamping: attoseconds / 1_000_000_000_000_000)
    }
}
