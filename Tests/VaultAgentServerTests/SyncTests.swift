// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultAgent
@testable import VaultAgentServer
@testable import VaultFleet
@testable import VaultSync

struct SyncTests {
    @Test func `a vault that was never unlocked, or belongs to no fleet, is not synced`() throws {
        let agent = try TestAgent()
        #expect(throws: VaultError.locked) { try agent.client().synced() }
        #expect(try agent.unlocked().synced() == SyncResult(failure: .notJoined))
    }

    @Test func `a client that may not do everything is refused`() throws {
        let pair = try Pair { settings in
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            let path = settings.vault.removingLastComponent().appending("policy.json")
            let rules = "{\"rules\": [{\"executable\": \"\(program)\", \"groups\": [\"app\"]}]}"
            try Data(rules.utf8).write(to: URL(filePath: path.string))
            settings.policy = path
        }
        let client = try pair.agent.unlocked(nil)
        #expect(throws: VaultError.agent(.refused)) { try client.synced() }
        for access in [AgentStatus.Access.none, .injectOnly, .full] {
            let caller = Caller(
                process: .own, access: access, groups: ["app"], confinement: access == .full ? ["app"] : nil,
                purpose: .use)
            #expect(!SyncRequest(withFingerprint: false).isPermitted(to: caller))
            #expect(!FleetRequest().isPermitted(to: caller) && !HistoryLimitRequest(1).isPermitted(to: caller))
            #expect(!FollowingRequest().isPermitted(to: caller) && !RemoveRemoteRequest("").isPermitted(to: caller))
            let code = try Secret(text: "")
            #expect(!AskingDeviceRequest(code).isPermitted(to: caller))
            #expect(!ApproveRequest(code: code, role: 1).isPermitted(to: caller))
            #expect(
                !DeviceSecretsRequest("").isPermitted(to: caller) && !ResolveRosterRequest().isPermitted(to: caller))
            #expect(!RemoveDeviceRequest("").isPermitted(to: caller))
            let member = NewMember(place: RemotePlace(url: ""), device: "")
            #expect(!RenewCodeRequest(nil).isPermitted(to: caller))
            #expect(!FoundRequest(member, code: nil).isPermitted(to: caller))
            #expect(!RecoverRequest(member, code: code).isPermitted(to: caller))
            #expect(!AskToJoinRequest(member, code: code).isPermitted(to: caller))
            #expect(!AnswerToJoinRequest(code).isPermitted(to: caller))
        }
    }

    @Test func `a folder that is not there, and another process that syncs, are told of as such`() throws {
        let pair = try Pair()
        let client = try pair.agent.unlocked()
        let folder = pair.url.folder.string
        try FileManager.default.moveItem(atPath: folder, toPath: folder + "-away")
        #expect(try client.synced().outcomes.map(\.error) == [.store(.unreachable(folder))])
        try FileManager.default.moveItem(atPath: folder + "-away", toPath: folder)
        let vault = try pair.agent.opened()
        defer { vault.close() }
        let fleet = try Fleet(vault, environment: pair.agent.environment)
        let result = try fleet.alone { _ throws(SyncError) in
            do throws(VaultError) { return try client.synced() } catch { throw .vault(error) }
        }
        #expect(result == SyncResult(failure: .busy))
        #expect(try client.synced().isWhole)
    }

    @Test func `an unlocked agent publishes and receives`() throws {
        let pair = try Pair()
        let client = try pair.agent.unlocked()
        try client.add(.generic("own"))
        try pair.tell("other")
        let result = try client.synced(withFingerprint: true)
        #expect(result.isWhole && result.outcomes.map(\.url) == [pair.url])
        #expect(result.report?.published == 1 && result.report?.isLocked == false)
        #expect(try pair.services(client) == ["other", "own"])
        try pair.sync()
        #expect(try pair.services(pair.other) == ["other", "own"])
        #expect(try client.synced(withFingerprint: true).fingerprint == pair.fleet.fingerprint())
        #expect(try client.synced().fingerprint == nil)
    }

    @Test func `an agent says how many conflicts there are`() throws {
        let pair = try Pair()
        let client = try pair.agent.unlocked()
        #expect(try client.synced().conflicts == 0)
        try client.add(.generic("same"))
        try pair.tell("same")
        #expect(try client.synced().conflicts == 1)
        try client.lock()
        #expect(try client.synced().conflicts == nil)
    }

    @Test func `what is wrong with a record is said with its author's name`() throws {
        let pair = try Pair()
        let client = try pair.agent.unlocked()
        try pair.tell("one")
        _ = try client.synced()
        try pair.tell("two")
        let membership = try pair.fleet.membership()
        let stream = RecordStream(.log, membership.state.log)
        let store = try pair.fleet.store(at: RemoteAccess(pair.url), realm: membership.identity.realmID)
        try store.remove(stream, below: .max)
        _ = try store.append([
            StoredRecord(RecordAddress(stream, membership.state.sequence), [UInt8](repeating: 1, count: 600))
        ])
        let result = try client.synced(withFingerprint: true)
        #expect(result.outcomes[0].alarms.contains { $0.kind == .damaged && $0.log == stream.name })
        #expect(result.deviceNames == [stream.name: "other"])
        #expect(result.fingerprint == nil)
        #expect(try pair.services(client) == ["one"])
    }

    @Test func `a locked agent fetches records, and merges them at the unlock`() throws {
        let pair = try Pair()
        let client = try pair.agent.unlocked()
        _ = try client.synced()
        try client.add(.generic("own"))
        try pair.tell("other")
        try client.lock()
        let result = try client.synced(withFingerprint: true)
        #expect(result.outcomes[0].error == nil && result.outcomes[0].alarms.isEmpty)
        #expect(result.report?.isLocked == true && result.report?.waiting == 1 && result.report?.untold == 1)
        #expect(result.fingerprint == nil)
        #expect(try client.status().state == .locked)
        try client.unlock(with: .passphrase(pair.agent.passphrase))
        #expect(try pair.services(client) == ["other", "own"])
        #expect(try client.synced().report?.published == 1)
        try pair.sync()
        #expect(try pair.services(pair.other) == ["other", "own"])
    }

    @Test func `while one sync is under way the others are served, a second one is not, and the agent locks`() throws {
        let pair = try Pair()
        let client = try pair.agent.unlocked()
        _ = try client.synced()
        try client.add(.generic("own"))
        pair.gate.close()
        let connection = try pair.agent.connection()
        _ = try connection.greet()
        connection.send(SyncRequest(withFingerprint: false), 2)
        pair.gate.awaitSync()
        #expect(try pair.services(client) == ["own"])
        try client.add(.generic("meanwhile"))
        #expect(try client.synced() == SyncResult(failure: .busy))
        try client.lock()
        #expect(try client.status().state == .locked)
        pair.gate.open()
        #expect(try connection.reply() is SyncReply)
        try client.unlock(with: .passphrase(pair.agent.passphrase))
        #expect(try client.synced().isWhole)
        try pair.sync()
        #expect(try pair.services(pair.other) == ["meanwhile", "own"])
    }

    @Test func `a sync whose client has gone is finished`() throws {
        let pair = try Pair()
        let client = try pair.agent.unlocked()
        _ = try client.synced()
        try client.add(.generic("own"))
        pair.gate.close()
        do {
            let connection = try pair.agent.connection()
            _ = try connection.greet()
            connection.send(SyncRequest(withFingerprint: false), 2)
            pair.gate.awaitSync()
        }
        pair.gate.open()
        var result = SyncResult(failure: .busy)
        while result.failure == .busy { result = try client.synced() }
        #expect(result.isWhole && result.report?.published == 0)
        try pair.sync()
        #expect(try pair.services(pair.other) == ["own"])
    }

    @Test func `an agent adds a remote and removes it, and says why not`() throws {
        let pair = try Pair()
        let client = try pair.agent.unlocked()
        let second = RemoteURL(folder: pair.agent.directory.path.appending("second"))
        func add(_ url: String) throws -> FleetChange {
            try client.value(of: AddRemoteRequest(RemotePlace(url: url)))
        }
        #expect(try add(second.text).failure == .store(.unreachable(second.folder.string)))
        try FileManager.default.createDirectory(atPath: second.folder.string, withIntermediateDirectories: true)
        #expect(try add(second.text).name == "own")
        #expect(try Set(client.synced().outcomes.map(\.url)) == [pair.url, second])
        var removed: FleetChange = try client.value(of: RemoveRemoteRequest(second.text))
        #expect(removed.failure == nil)
        removed = try client.value(of: RemoveRemoteRequest(second.text))
        #expect(removed.failure == .noSuchRemote)
        #expect(try client.synced().outcomes.map(\.url) == [pair.url])
        guard case .url? = try add("nonsense").failure else {
            Issue.record("that is no URL")
            return
        }
    }

    @Test func `an agent lets a device in whose code it is given`() throws {
        let pair = try Pair()
        let client = try pair.agent.unlocked()
        let environment = VaultEnvironment.process(state: pair.agent.directory.path.appending("third-state"))
        let third = try Vault.create(
            at: pair.agent.directory.path.appending("third.vault"), passphrase: pair.agent.passphrase, cost: .weakest,
            environment: environment, accessGroups: .standard)
        let attempt = try Fleet(third, environment: environment).requestToJoin(
            pair.url, deviceName: "third")
        func approve(_ code: Secret, _ role: UInt8) throws -> FleetChange {
            try client.value(of: ApproveRequest(code: code, role: role))
        }
        #expect(try approve(try Secret(text: "short"), 2).failure == .noAnswer)
        #expect(try approve(try RecoveryCode(SystemRandom()).secret, 2).failure == .noAnswer)
        #expect(try approve(attempt.code.secret, 9).failure == .noSuchDevice)
        let asking: FleetChange = try client.value(of: AskingDeviceRequest(attempt.code.secret))
        #expect(asking.name == "third")
        #expect(try approve(attempt.code.secret, 2).device?.role == .writer)
        #expect(try attempt.poll())
        let look: FleetLook = try client.value(of: FleetRequest())
        #expect(look.status?.devices.map(\.name).sorted() == ["other", "own", "third"])
    }

    @Test func `a sync is in the audit log, with a number and without a name`() throws {
        let pair = try Pair { $0.auditDirectory = $0.vault.removingLastComponent().appending("log") }
        let client = try pair.agent.unlocked()
        try pair.tell("service-name")
        _ = try client.synced()
        let directory = pair.agent.directory.path.appending("log").string
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".audit") })
        let log = try String(contentsOfFile: directory + "/" + name, encoding: .utf8)
        let line = try #require(log.split(separator: "\n").last)
        #expect(line.contains("\"verb\":\"sync\"") && line.contains("\"count\":1"))
        #expect(!log.contains("service-name"))
    }
}

/// The encoding of a sync's result from the agent to the command.
struct SyncCodingTests {
    private static let log = Bytes16([UInt8](repeating: 7, count: 16))

    private static let errors: [SyncError] = [
        .store(.unreachable("/x")), .store(.inputOutput(.noSpace, "/y")), .store(.invalid("z")), .url("u"),
        .store(.stopped), .store(.refused("r", hint: "h")), .store(.refused("r", hint: nil)), .store(.denied("d")),
        .isFiltered,
        .vault(.locked),
        .vault(.storage(.inputOutput(.ioError, .write))), .format(.invalid(.device)), .removed, .notJoined,
        .alreadyJoined, .alarm(Alarm(.forked, nil, 3, "what")), .notAnOwner, .noSuchDevice, .noSuchRemote,
        .remoteInUse, .noAnswer, .wrongRecoveryCode, .busy, .tooLarge, .tooManyLogs,
        .ambiguousDevice([NamedDevice(id: log, isRemoved: false), NamedDevice(id: .zero, isRemoved: true)]),
    ]

    /// Does not compile without every case of an error: a new case needs an example above, and so a number.
    private static func isKnown(_ error: SyncError) -> Bool {
        switch error {
        case .vault, .format, .removed, .notJoined, .alreadyJoined, .alarm, .notAnOwner, .noSuchDevice, .noSuchRemote,
            .remoteInUse, .noAnswer, .wrongRecoveryCode, .busy, .overtaken, .tooLarge, .tooManyLogs, .url,
            .ambiguousDevice, .isFiltered:
            true
        case .store(let error):
            switch error {
            case .unreachable, .inputOutput, .invalid, .stopped, .refused, .denied: true
            }
        }
    }

    @Test func `the examples have every case of an error`() {
        #expect(Self.errors.allSatisfy(Self.isKnown))
        #expect(Set(Self.errors.map { Self.bytes($0)[0] }) == Set(SyncError.cases.map(\.number)))
    }

    /// Returns a result with an outcome for each error.
    private static func result(_ errors: [SyncError]) -> SyncResult {
        var report = SyncReport()
        (report.applied, report.published, report.sent, report.received, report.items) = (1, 2, 3, 4, 5)
        (report.comparedEqual, report.movedItems, report.waiting, report.untold) = (6, 7, 8, 9)
        report.revived = [ItemID(high: 1, low: 2)]
        (report.newLog, report.isLocked) = (true, true)
        let kinds: [Alarm.Kind] = [.damaged, .forged, .forked, .withheld, .rolledBack, .diverged]
        let outcomes = errors.map { error in
            SyncOutcome(
                url: RemoteURL(folder: "/sh%re d"), report: report,
                alarms: kinds.map { Alarm($0, log, .max, "\u{1B}[2J") }, notes: [Alarm(.rolledBack, nil, 0, "")],
                error: error)
        }
        return SyncResult(
            outcomes, failure: .busy, deviceNames: [log: "phone", .zero: ""], fingerprint: "0123 4567",
            conflicts: 3)
    }

    private static func bytes(_ value: some MessageValue) -> [UInt8] { SyncReply.parts(of: value).flatMap(\.part) }

    private static func parse(_ bytes: [UInt8]) throws -> SyncResult {
        var reader = MessageReader(bytes, secrets: nil)
        let result: SyncResult = try reader.read()
        try reader.end()
        return result
    }

    @Test(arguments: errors) func `a result that is cut off anywhere is refused`(error: SyncError) throws {
        let bytes = Self.bytes(Self.result([error]))
        for length in bytes.indices { #expect(throws: MessageError.self) { try Self.parse(Array(bytes[..<length])) } }
    }

    @Test(arguments: errors)
    func `a result has one form, and whatever is read is written again byte for byte`(error: SyncError) throws {
        let bytes = Self.bytes(Self.result([error]))
        for index in bytes.indices {
            for change in [1, 0x80] as [UInt8] {
                var changed = bytes
                changed[index] ^= change
                if let read = try? Self.parse(changed) { #expect(Self.bytes(read) == changed) }
            }
        }
    }

    @Test func `every result comes back as it was sent`() throws {
        let full = Self.result(Self.errors)
        #expect(try Self.parse(Self.bytes(full)) == full)
        #expect(try Self.parse(Self.bytes(SyncResult())) == SyncResult())
    }

    @Test func `however much was found, it goes in frames`() throws {
        let alarms = (0..<5000).map { Alarm(.damaged, Self.log, $0, String(repeating: "x", count: 100)) }
        let outcome = SyncOutcome(
            url: RemoteURL(folder: "/s"), report: SyncReport(), alarms: alarms, notes: [], error: nil)
        let parts = SyncReply.parts(of: SyncResult([outcome]))
        #expect(parts.count > 1)
        #expect(parts.map(\.isLast) == parts.indices.map { $0 == parts.count - 1 })
        for part in parts { #expect(part.frame(1).body.count <= Frame.longestBody) }
        #expect(try Self.parse(parts.flatMap(\.part)).outcomes == [outcome])
    }
}
