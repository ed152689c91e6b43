// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import Vault
@testable import VaultAgent
@testable import VaultAgentServer
@testable import VaultFleet
@testable import VaultSync

/// Admission of a vault to a fleet, and removal of a device, through an agent that has the vault open.
struct MembershipTests {
    private func code() throws -> RecoveryCode { try RecoveryCode(SystemRandom()) }

    private func member(_ url: RemoteURL, _ device: String) -> NewMember {
        NewMember(place: RemotePlace(url: url.text), device: device)
    }

    private func change<Request: AgentRequest>(
        _ client: AgentClient, _ request: Request
    ) throws(VaultError) -> FleetChange where Request.Reply == SyncReply { try client.value(of: request) }

    /// Makes a folder, and agents whose vaults belong to no fleet.
    private func strangers(
        _ count: Int, _ change: (inout AgentSettings) throws -> Void = { _ in }
    ) throws -> (agents: [TestAgent], url: RemoteURL) {
        let agents = try (0..<count).map { _ in try TestAgent(change) }
        let folder = agents[0].directory.path.appending("share")
        try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
        return (agents, RemoteURL(folder: folder))
    }

    private func services(_ client: AgentClient) throws -> [String] {
        try client.allMatching(Query(.genericPassword)).compactMap { $0[.service]?.text }.sorted()
    }

    // MARK: Refusals

    @Test func `a client that asks while the vault is locked changes nothing of the fleet`() throws {
        let pair = try Pair()
        let client = try pair.agent.unlocked()
        let environment = VaultEnvironment.process(state: pair.agent.directory.path.appending("third-state"))
        let third = try Vault.create(
            at: pair.agent.directory.path.appending("third.vault"), passphrase: pair.agent.passphrase, cost: .weakest,
            environment: environment)
        let attempt = try Fleet(third, environment: environment).requestToJoin(
            pair.url, deviceName: "third")
        try client.lock()
        let (secret, member) = (attempt.code.secret, member(pair.url, "x"))
        let requests: [any AgentRequest] = [
            AddRemoteRequest(RemotePlace(url: pair.url.text)), RemoveRemoteRequest(pair.url.text),
            AskingDeviceRequest(secret), ApproveRequest(code: secret, role: 1), DeviceSecretsRequest("other"),
            RemoveDeviceRequest("other"), ResolveRosterRequest(), FoundRequest(member, code: nil),
            FoundRequest(member, code: secret), RecoverRequest(member, code: secret),
            AskToJoinRequest(member, code: secret), AnswerToJoinRequest(secret), RenewCodeRequest(nil),
            RenewCodeRequest(secret),
        ]
        let connection = try pair.agent.connection()
        _ = try connection.greet()
        for request in requests {
            connection.send(request, 2)
            #expect(try connection.failure() == .locked, "\(type(of: request))")
        }
        #expect(try !attempt.poll())
        let look: FleetLook = try client.value(of: FleetRequest())
        #expect(look.status?.devices.map(\.name).sorted() == ["other", "own"])
        #expect(look.status?.remotes.map(\.url) == [pair.url] && look.status?.removals == [])
    }

    @Test func `where a person has to allow the reading of an item, nobody is let in without a person`() throws {
        let pair = try Pair()
        let client = try pair.agent.unlocked()
        var item = try Item.generic("s", "protected")
        item.attributes[.accessControl] = .data(AccessControl(.whenUnlocked, constraints: 1).encoded)
        try client.add(item)
        let environment = VaultEnvironment.process(state: pair.agent.directory.path.appending("third-state"))
        let third = try Vault.create(
            at: pair.agent.directory.path.appending("third.vault"), passphrase: pair.agent.passphrase, cost: .weakest,
            environment: environment)
        let attempt = try Fleet(third, environment: environment).requestToJoin(
            pair.url, deviceName: "third")
        let secret = attempt.code.secret
        for _ in 0..<2 {
            #expect(throws: VaultError.presenceRequired) { try change(client, AskingDeviceRequest(secret)) }
            #expect(throws: VaultError.presenceRequired) { try change(client, ApproveRequest(code: secret, role: 2)) }
            #expect(throws: VaultError.presenceRequired) { try change(client, DeviceSecretsRequest("other")) }
            #expect(throws: VaultError.presenceRequired) { try change(client, RenewCodeRequest(nil)) }
            #expect(throws: VaultError.presenceRequired) { try change(client, RenewCodeRequest(secret)) }
        }
        #expect(try !attempt.poll())
        try client.authenticate(with: pair.agent.passphrase)
        #expect(try change(client, ApproveRequest(code: secret, role: 2)).device?.name == "third")
        #expect(try attempt.poll())
    }

    @Test func `where a person has to allow the reading of an item, no fleet is founded or joined without one`() throws
    {
        let (agents, url) = try strangers(1)
        let client = try agents[0].unlocked()
        var item = try Item.generic("s", "protected")
        item.attributes[.accessControl] = .data(AccessControl(.whenUnlocked, constraints: 1).encoded)
        try client.add(item)
        let (secret, member) = (try code().secret, member(url, "x"))
        #expect(throws: VaultError.presenceRequired) { try change(client, FoundRequest(member, code: nil)) }
        #expect(throws: VaultError.presenceRequired) { try change(client, FoundRequest(member, code: secret)) }
        #expect(throws: VaultError.presenceRequired) { try change(client, RecoverRequest(member, code: secret)) }
        #expect(throws: VaultError.presenceRequired) { try change(client, AskToJoinRequest(member, code: secret)) }
        let look: FleetLook = try client.value(of: FleetRequest())
        #expect(look.failure == .notJoined)
        try client.authenticate(with: agents[0].passphrase)
        #expect(try change(client, FoundRequest(member, code: secret)).name == "x")
    }

    @Test func `codes that are none, names that none are and places that are taken are refused`() throws {
        let (agents, url) = try strangers(2)
        let clients = try agents.map { try $0.unlocked() }
        let (good, short) = (try code().secret, try Secret(text: "short"))
        #expect(try change(clients[0], FoundRequest(member(url, "a"), code: short)).failure == .noAnswer)
        #expect(try change(clients[0], AskToJoinRequest(member(url, "a"), code: short)).failure == .noAnswer)
        #expect(try change(clients[0], RecoverRequest(member(url, "a"), code: good)).failure == .wrongRecoveryCode)
        #expect(try change(clients[0], AnswerToJoinRequest(good)).failure == .noAnswer)
        #expect(try change(clients[0], ResolveRosterRequest()).failure == .notJoined)
        #expect(try change(clients[0], RemoveDeviceRequest("a")).failure == .notJoined)
        for name in ["", "a\u{1B}[2J", String(repeating: "x", count: 256)] {
            for code in [nil, good] {
                let failure = try change(clients[0], FoundRequest(member(url, name), code: code)).failure
                #expect(failure == .format(.invalid(.device)))
            }
            let failure = try change(clients[0], AskToJoinRequest(member(url, name), code: good)).failure
            #expect(failure == .format(.invalid(.device)))
        }
        let nowhere = RemoteURL(folder: url.folder.appending("nowhere"))
        for code in [nil, good] {
            let failure = try change(clients[0], FoundRequest(member(nowhere, "a"), code: code)).failure
            #expect(failure == .store(.unreachable(nowhere.folder.string)))
        }
        #expect(try change(clients[0], FoundRequest(member(url, "a"), code: good)).name == "a")
        for code in [nil, good] {
            #expect(try change(clients[1], FoundRequest(member(url, "b"), code: code)).failure == .remoteInUse)
            #expect(try change(clients[0], FoundRequest(member(url, "b"), code: code)).failure == .alreadyJoined)
        }
        #expect(try change(clients[0], AskToJoinRequest(member(url, "a"), code: good)).failure == .alreadyJoined)
    }

    @Test func `only an owner's agent that reaches a remote renews the recovery code, and the old one lets nobody in`()
        throws
    {
        let (agents, url) = try strangers(3)
        let clients = try agents.map { try $0.unlocked() }
        let codes = try (0..<3).map { _ in try code() }
        for code in [nil, codes[1].secret] {
            #expect(try change(clients[0], RenewCodeRequest(code)).failure == .notJoined)
        }
        _ = try change(clients[0], FoundRequest(member(url, "a"), code: codes[0].secret))
        #expect(try change(clients[0], RenewCodeRequest(try Secret(text: "short"))).failure == .noAnswer)
        // A look changes nothing.
        #expect(try change(clients[0], RenewCodeRequest(nil)).failure == nil)
        #expect(try change(clients[1], RecoverRequest(member(url, "b"), code: codes[0].secret)).name == "b")

        let folder = url.folder.string
        try FileManager.default.moveItem(atPath: folder, toPath: folder + "-away")
        for code in [nil, codes[1].secret] {
            #expect(try change(clients[0], RenewCodeRequest(code)).failure == .store(.unreachable(folder)))
        }
        try FileManager.default.moveItem(atPath: folder + "-away", toPath: folder)
        #expect(try change(clients[0], RenewCodeRequest(codes[2].secret)).outcomes.map(\.url) == [url])
        for (number, code) in codes.enumerated() {
            let joined = try change(clients[2], RecoverRequest(member(url, "c"), code: code.secret))
            #expect(joined.failure == (number < 2 ? .wrongRecoveryCode : nil), "\(number)")
        }
    }

    // MARK: Founding, joining, removing

    @Test func `agents found a fleet, join it by both kinds of codes, and shut a device out`() throws {
        let (agents, url) = try strangers(3)
        let clients = try agents.map { try $0.unlocked() }
        for (number, client) in clients.enumerated() { try client.add(.generic("\(number)")) }
        let recovery = try code()
        #expect(try change(clients[0], FoundRequest(member(url, "a"), code: nil)).failure == nil)
        var look: FleetLook = try clients[0].value(of: FleetRequest())
        #expect(look.failure == .notJoined)
        #expect(try change(clients[0], FoundRequest(member(url, "a"), code: recovery.secret)).name == "a")
        #expect(try change(clients[1], RecoverRequest(member(url, "a"), code: recovery.secret)).name == "a 2")
        let join = try code()
        #expect(try change(clients[2], AskToJoinRequest(member(url, "c"), code: join.secret)).failure == nil)
        let waits = try change(clients[2], AnswerToJoinRequest(join.secret))
        #expect(waits.failure == nil && waits.name == nil)
        #expect(try change(clients[1], AskingDeviceRequest(join.secret)).name == "c")
        #expect(try change(clients[1], ApproveRequest(code: join.secret, role: 2)).device?.name == "c")
        #expect(try change(clients[2], AnswerToJoinRequest(join.secret)).name == "c")
        #expect(try change(clients[2], AnswerToJoinRequest(join.secret)).failure == .noAnswer)
        for client in clients + clients { #expect(try client.synced().isWhole) }
        for client in clients { #expect(try services(client) == ["0", "1", "2"]) }

        let secrets = try #require(try change(clients[0], DeviceSecretsRequest("c")).secrets)
        #expect(secrets.readable.count == 3 && !secrets.isRemoved && secrets.device.role == .writer)
        #expect(try change(clients[2], RemoveDeviceRequest("a")).failure == .notAnOwner)
        #expect(try change(clients[0], RemoveDeviceRequest("z")).failure == .noSuchDevice)
        let removed = try change(clients[0], RemoveDeviceRequest("c"))
        #expect(removed.delay == nil && removed.secrets?.isRemoved == true && removed.secrets?.readable.count == 3)
        #expect(removed.outcomes.map(\.url) == [url] && removed.outcomes[0].error == nil)
        #expect(try change(clients[0], DeviceSecretsRequest("c")).secrets?.isRemoved == true)
        #expect(try clients[2].synced().outcomes.map(\.error) == [.removed])
        look = try clients[0].value(of: FleetRequest())
        #expect(look.status?.devices.map(\.name).sorted() == ["a", "a 2"])
    }

    @Test func `a removal that no remote takes waits, and the next sync carries it out`() throws {
        let pair = try Pair()
        let client = try pair.agent.unlocked()
        let folder = pair.url.folder.string
        try FileManager.default.moveItem(atPath: folder, toPath: folder + "-away")
        let removed = try change(client, RemoveDeviceRequest("other"))
        #expect(removed.delay == .store(.unreachable(folder)) && removed.secrets?.isRemoved == false)
        try FileManager.default.moveItem(atPath: folder + "-away", toPath: folder)
        #expect(try client.synced().outcomes.map(\.error) == [nil])
        #expect(throws: SyncError.removed) { try pair.sync() }
    }

    @Test func `a roster that was changed in two ways is resolved`() throws {
        let pair = try Pair()
        let client = try pair.agent.unlocked()
        let (folder, split) = (pair.url.folder.string, pair.url.folder.string + "-split")
        try FileManager.default.copyItem(atPath: folder, toPath: split)
        _ = try pair.fleet.renewRecoveryCode { _ throws(SyncError) in }
        try FileManager.default.moveItem(atPath: folder, toPath: folder + "-other")
        try FileManager.default.moveItem(atPath: split, toPath: folder)
        let own = try pair.agent.opened()
        _ = try Fleet(own, environment: pair.agent.environment).renewRecoveryCode { _ throws(SyncError) in }
        own.close()
        try FileManager.default.removeItem(atPath: folder)
        try FileManager.default.moveItem(atPath: folder + "-other", toPath: folder)
        guard case .alarm(let alarm)? = try client.synced().outcomes[0].error else {
            Issue.record("the roster is forked")
            return
        }
        #expect(alarm.kind == .forked && alarm.log == nil)
        #expect(try change(client, ResolveRosterRequest()).failure == nil)
        #expect(try client.synced().isWhole)
    }

    // MARK: Waiting for an owner

    @Test func `waiting for an owner keeps no vault open, and a locked one joins once it is unlocked`() throws {
        let pair = try Pair()
        let agent = try TestAgent()
        let client = try agent.unlocked()
        let join = try code()
        #expect(try change(client, AskToJoinRequest(member(pair.url, "late"), code: join.secret)).failure == nil)
        agent.clock.pass(.seconds(599))
        #expect(try change(client, AnswerToJoinRequest(join.secret)).failure == nil)
        agent.clock.pass(.seconds(2))
        #expect(throws: VaultError.locked) { try change(client, AnswerToJoinRequest(join.secret)) }
        _ = try pair.fleet.approve(join, role: .reader)
        #expect(throws: VaultError.locked) { try change(client, AnswerToJoinRequest(join.secret)) }
        try client.unlock(with: .passphrase(agent.passphrase))
        #expect(try change(client, AnswerToJoinRequest(join.secret)).name == "late")
    }

    @Test func `an answer that comes after an hour, or to a wish before the newest, is none`() throws {
        let pair = try Pair()
        let agent = try TestAgent { $0.idleLimit = .zero }
        let client = try agent.unlocked()
        let (old, new) = (try code(), try code())
        for code in [old, new] {
            #expect(try change(client, AskToJoinRequest(member(pair.url, "late"), code: code.secret)).failure == nil)
        }
        for code in [old, new] { _ = try pair.fleet.approve(code, role: .reader) }
        #expect(try change(client, AnswerToJoinRequest(old.secret)).failure == .noAnswer)
        agent.clock.pass(.seconds(3601))
        #expect(try change(client, AnswerToJoinRequest(new.secret)).failure == .noAnswer)
    }

    // MARK: What is written down

    @Test func `the log says that the fleet was changed, and has no code`() throws {
        let (agents, url) = try strangers(2) { settings in
            settings.auditDirectory = settings.vault.removingLastComponent().appending("log")
        }
        let clients = try agents.map { try $0.unlocked() }
        let (recovery, join) = (try code(), try code())
        _ = try change(clients[0], FoundRequest(member(url, "a"), code: nil))
        _ = try change(clients[0], FoundRequest(member(url, "a"), code: recovery.secret))
        _ = try change(clients[1], AskToJoinRequest(member(url, "b"), code: join.secret))
        _ = try change(clients[0], ApproveRequest(code: join.secret, role: 2))
        _ = try change(clients[1], AnswerToJoinRequest(join.secret))
        _ = try change(clients[0], RemoveDeviceRequest("b"))
        for (agent, changes) in zip(agents, [3, 1]) {
            let directory = agent.directory.path.appending("log").string
            let name = try #require(
                try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".audit") })
            let log = try String(contentsOfFile: directory + "/" + name, encoding: .utf8)
            #expect(log.split(separator: "\n").count { $0.contains("\"verb\":\"set\"") } == changes)
            for code in [recovery, join] {
                let text = try code.text().withBytes { bytes in
                    String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
                }
                let digits = code.secret.withBytes { bytes in
                    bytes.indices.map { String(bytes[$0], radix: 16) }.joined()
                }
                #expect(!log.contains(text) && !log.contains(digits))
            }
        }
    }

    @Test func `a change has one form, and cut off anywhere it is refused`() throws {
        let device = FleetDevice(
            id: .zero, name: "lap\u{1B}top", role: .owner, isThis: true, lastHeard: 1.5, isSilent: false)
        var sent = FleetChange(failure: .busy, name: "\u{202E}", device: device, delay: .store(.unreachable("/x")))
        sent.deviceNames = [.zero: "phone"]
        sent.secrets = DeviceSecrets(device: device, isRemoved: true, readable: [ItemID(high: 1, low: 2)])
        sent.outcomes = [
            SyncOutcome(url: RemoteURL(folder: "/s"), report: SyncReport(), alarms: [], notes: [], error: .removed)
        ]
        let bytes = SyncReply.parts(of: sent).flatMap(\.part)
        for length in bytes.indices {
            var reader = MessageReader(Array(bytes[..<length]), secrets: nil)
            #expect(throws: MessageError.self) {
                let _: FleetChange = try reader.read()
                try reader.end()
            }
        }
        var reader = MessageReader(bytes, secrets: nil)
        let read: FleetChange = try reader.read()
        try reader.end()
        #expect(SyncReply.parts(of: read).flatMap(\.part) == bytes)
    }
}
