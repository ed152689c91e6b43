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

extension SyncReport: MessageValue, Formed {
    package static let form = MessageForm<Self>({
        var report = SyncReport()
        (report.applied, report.published, report.sent, report.received, report.items) = ($0, $1, $2, $3, $4)
        (report.comparedEqual, report.movedItems, report.waiting, report.untold) = ($5, $6, $7, $8)
        (report.revived, report.newLog, report.isLocked) = ($9, $10, $11)
        return report
    }) {
        (
            $0.applied, $0.published, $0.sent, $0.received, $0.items, $0.comparedEqual, $0.movedItems, $0.waiting,
            $0.untold, $0.revived, $0.newLog, $0.isLocked
        )
    }
}

extension Alarm: MessageValue, Formed {
    package static let form = MessageForm(Self.init) { ($0.kind, $0.log, $0.sequence, $0.what) }
}

extension Alarm.Kind: MessageValue {}

extension SyncError: FormedCases {
    package static let cases: [CaseForm<UInt8, Self>] = [
        .init(1, Self.store) { if case .store(let error) = $0 { error } else { nil } },
        .init(2, Self.vault) { if case .vault(let error) = $0 { error } else { nil } },
        .init(3, Self.format) { if case .format(let error) = $0 { error } else { nil } },
        .init(4, .removed), .init(5, .notJoined), .init(6, .alreadyJoined),
        .init(7, Self.alarm) { if case .alarm(let alarm) = $0 { alarm } else { nil } },
        .init(8, .notAnOwner), .init(9, .noSuchDevice), .init(10, .noSuchRemote), .init(11, .remoteInUse),
        .init(12, .noAnswer), .init(13, .wrongRecoveryCode),
        .init(14, { .busy }) { $0 == .busy || $0 == .overtaken ? () : nil },
        .init(15, .tooLarge), .init(16, .tooManyLogs),
        .init(17, Self.url) { if case .url(let what) = $0 { what } else { nil } },
        .init(18, Self.ambiguousDevice) { if case .ambiguousDevice(let devices) = $0 { devices } else { nil } },
        .init(19, .isFiltered),
    ]
}

extension NamedDevice: MessageValue, Formed {
    package static let form = MessageForm(Self.init) { ($0.id, $0.isRemoved) }
}

extension RecordStoreError: FormedCases {
    package static let cases: [CaseForm<UInt8, Self>] = [
        .init(1, Self.unreachable) { if case .unreachable(let place) = $0 { place } else { nil } },
        .init(2, Self.inputOutput) { if case .inputOutput(let errno, let place) = $0 { (errno, place) } else { nil } },
        .init(3, Self.invalid) { if case .invalid(let what) = $0 { what } else { nil } },
        .init(4, .stopped),
        .init(5, Self.refused) { if case .refused(let what, let hint) = $0 { (what, hint) } else { nil } },
        .init(6, Self.denied) { if case .denied(let what) = $0 { what } else { nil } },
    ]
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
