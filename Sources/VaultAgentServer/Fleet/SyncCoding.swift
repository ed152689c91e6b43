// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
package import VaultAgent
internal import VaultFormat
package import VaultSync

// The encoding of a sync's result, from the agent to the command. The result names remotes and devices, but no item's
// content.

extension SyncResult: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(outcomes)
        writer.put(failure)
        writer.put(deviceNames.sorted { $0.key < $1.key }.map { DeviceName(log: $0.key, name: $0.value) })
        writer.put(fingerprint)
        writer.put(conflicts)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> SyncResult {
        let (outcomes, failure): ([SyncOutcome], SyncError?) = (try reader.read(), try reader.read())
        let names: [DeviceName] = try reader.read()
        guard zip(names, names.dropFirst()).allSatisfy({ $0.log < $1.log }) else { throw .invalid }
        return SyncResult(
            outcomes, failure: failure, deviceNames: Dictionary(uniqueKeysWithValues: names.map { ($0.log, $0.name) }),
            fingerprint: try reader.read(), conflicts: try reader.read())
    }
}

struct DeviceName: MessageValue {
    let log: LogID
    let name: String

    func write(to writer: inout MessageWriter) {
        writer.put(log)
        writer.put(name)
    }

    static func read(from reader: inout MessageReader) throws(MessageError) -> DeviceName {
        DeviceName(log: try reader.read(), name: try reader.read())
    }
}

extension SyncOutcome: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(url)
        writer.put(report)
        writer.put(alarms)
        writer.put(notes)
        writer.put(error)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> SyncOutcome {
        SyncOutcome(
            url: try reader.read(), report: try reader.read(), alarms: try reader.read(), notes: try reader.read(),
            error: try reader.read())
    }
}

extension SyncReport: MessageValue {
    private static let counts: [any WritableKeyPath<SyncReport, Int> & Sendable] = [
        \.applied, \.published, \.sent, \.received, \.items, \.comparedEqual, \.movedItems, \.waiting, \.untold,
    ]

    package func write(to writer: inout MessageWriter) {
        for count in SyncReport.counts { writer.put(UInt64(self[keyPath: count])) }
        writer.put(revived)
        writer.put(newLog)
        writer.put(isLocked)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> SyncReport {
        var report = SyncReport()
        for count in counts {
            guard let number = Int(exactly: try reader.read() as UInt64) else { throw .invalid }
            report[keyPath: count] = number
        }
        report.revived = try reader.read()
        report.newLog = try reader.read()
        report.isLocked = try reader.read()
        return report
    }
}

extension Alarm: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(kind)
        writer.put(log)
        writer.put(sequence)
        writer.put(what)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Alarm {
        Alarm(try reader.read(), try reader.read(), try reader.read(), try reader.read())
    }
}

extension Alarm.Kind: MessageValue {}

extension SyncError: MessageValue {
    package func write(to writer: inout MessageWriter) {
        func put(_ number: UInt8) { writer.put(number) }
        func put(_ number: UInt8, _ detail: some MessageValue) {
            writer.put(number)
            writer.put(detail)
        }
        switch self {
        case .store(let error): put(1, error)
        case .vault(let error): put(2, error)
        case .format(let error): put(3, error)
        case .removed: put(4)
        case .notJoined: put(5)
        case .alreadyJoined: put(6)
        case .alarm(let alarm): put(7, alarm)
        case .notAnOwner: put(8)
        case .noSuchDevice: put(9)
        case .noSuchRemote: put(10)
        case .remoteInUse: put(11)
        case .noAnswer: put(12)
        case .wrongRecoveryCode: put(13)
        case .busy, .overtaken: put(14)
        case .tooLarge: put(15)
        case .tooManyLogs: put(16)
        case .url(let what):
            put(17)
            writer.put(what)
        case .isFiltered: put(19)
        case .ambiguousDevice(let devices):
            put(18)
            writer.put(devices)
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

extension NamedDevice: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(id)
        writer.put(isRemoved)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> NamedDevice {
        NamedDevice(id: try reader.read(), isRemoved: try reader.read())
    }
}

extension RecordStoreError: MessageValue {
    package func write(to writer: inout MessageWriter) {
        switch self {
        case .unreachable(let place):
            writer.put(1 as UInt8)
            writer.put(place)
        case .inputOutput(let errno, let place):
            writer.put(2 as UInt8)
            writer.put(errno)
            writer.put(place)
        case .invalid(let what):
            writer.put(3 as UInt8)
            writer.put(what)
        case .stopped: writer.put(4 as UInt8)
        case .refused(let what, let hint):
            writer.put(5 as UInt8)
            writer.put(what)
            writer.put(hint)
        case .denied(let what):
            writer.put(6 as UInt8)
            writer.put(what)
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

extension RemoteURL: MessageValue {
    package func write(to writer: inout MessageWriter) { writer.put(text) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> RemoteURL {
        let text: String = try reader.read()
        guard let url = try? RemoteURL(text), url.text == text else { throw .invalid }
        return url
    }
}
