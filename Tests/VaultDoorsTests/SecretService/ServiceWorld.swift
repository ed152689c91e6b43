// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultAgentServer
import VaultBus
import VaultCrypto

@testable import VaultDoorKit
@testable import VaultSecretService

/// Limits concurrent tests with a bus, an agent and a service, so that their timeouts hold.
private let places = DispatchSemaphore(value: 8)

/// Runs a test that waits for answers on its own thread, not on a thread of the shared pool.
func aside(_ body: @escaping @Sendable () throws -> Void) async throws {
    let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
        Thread {
            places.wait()
            let result = Result(catching: body)
            places.signal()
            continuation.resume(returning: result)
        }.start()
    }
    try result.get()
}

/// A private message bus that ends with the value.
final class PrivateBus {
    let directory: TemporaryDirectory
    private let process = Process()

    var address: String { "unix:path=\(directory.path.string)/bus" }

    init() throws {
        directory = try TemporaryDirectory()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/dbus-daemon")
        process.arguments = ["--session", "--nofork", "--nopidfile", "--address=\(address)", "--print-address=1"]
        process.environment = ["PATH": "/usr/bin:/bin", "HOME": directory.path.string]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // The bus listens once it prints its address.
        #expect(try output.fileHandleForReading.read(upToCount: 1)?.count == 1)
    }

    func end() {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    deinit { end() }

    static let isThere = access("/usr/bin/dbus-daemon", X_OK) == 0
}

/// A scripted person and an agent.
final class TestHouse: DoorHouse {
    enum Person {
        case absent
        case types, dismisses
        /// Stays silent until the question ends.
        case hesitates
    }

    private struct State {
        var person = Person.absent
        var asked: [String] = []
        var typed: [String] = []
        var whenFound: (@Sendable () -> Void)?
    }

    private let directory: FilePath
    private let passphrase: Passphrase
    private let state = Mutex(State())
    private let begun = DispatchSemaphore(value: 0)
    private let given = DispatchSemaphore(value: 0)

    init(_ directory: FilePath) throws {
        self.directory = directory
        passphrase = try .of("pass")
    }

    var path: FilePath { directory.appending("v.vault") }
    var address: FilePath { directory.appending("run").appending("agent.sock") }

    /// The agent's policy file, if present.
    var policy: FilePath { directory.appending("policy.json") }

    func rule(_ rules: String) throws {
        try Data("{\"rules\": [\(rules)]}".utf8).write(to: URL(filePath: policy.string))
    }

    var environment: VaultEnvironment { .process(state: directory.appending("state")) }

    /// Waits until the person is asked.
    func hasBegun() { #expect(begun.wait(timeout: Patience.deadline) == .success) }

    /// Waits until the person is no longer asked.
    func hasGiven() { #expect(given.wait(timeout: Patience.deadline) == .success) }

    func isAsked(to person: Person) { state.withLock { $0.person = person } }

    /// The programs for which the person was asked.
    var asked: [String] { state.withLock { $0.asked } }

    var hasVault: Bool { FileManager.default.fileExists(atPath: path.string) }

    var canAsk: Bool { state.withLock { $0.person != .absent } }

    func agent(for client: DoorClient?, in groups: AccessGroups?) throws(VaultError) -> AgentClient? {
        guard hasVault else { return nil }
        let agent = try AgentClient.forDoor(at: address, vault: path, client, in: groups)
        state.withLock { $0.whenFound.take() }?()
        return agent
    }

    /// Runs once, between the agent's greeting and the service's use of it.
    func whenFound(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.whenFound = body } }

    func makeVault() throws {
        try Vault.create(at: path, passphrase: passphrase, cost: .weakest, environment: environment).close()
    }

    func unlockNow() throws {
        let client = try #require(try AgentClient(at: address, vault: path, accessGroups: ["default", "*"]))
        try client.unlock(with: .passphrase(passphrase))
    }

    func unlock(for client: DoorClient, isForwarded: Bool, until stop: PromptStop) -> PromptOutcome {
        answer(client, stop) { try unlockNow() }
    }

    func makeVault(for client: DoorClient, until stop: PromptStop) -> PromptOutcome {
        answer(client, stop) {
            try makeVault()
            try unlockNow()
        }
    }

    func confirm(_ question: PromptQuestion, until stop: PromptStop) -> PromptOutcome {
        answer(question.description.joined(separator: "\n"), stop) {}
    }

    func ask(_ question: PromptQuestion, until stop: PromptStop) throws(PromptError) -> SecretBytes {
        switch answer((question.description + [question.error ?? ""]).joined(separator: "\n"), stop, {}) {
        case .done: return try typed()
        case .dismissed: throw .dismissed
        case .unavailable: throw .unavailable
        case .failed: throw .timedOut
        }
    }

    /// Sets the person's input; the default is the vault's passphrase.
    func types(_ text: [String]) { state.withLock { $0.typed = text } }

    private func typed() throws(PromptError) -> SecretBytes {
        let text = state.withLock { $0.typed.isEmpty ? "pass" : $0.typed.removeFirst() }
        do throws(CryptoError) { return try SecretBytes(copying: Array(text.utf8).span) } catch {
            throw .failed("no memory")
        }
    }

    private func answer(_ client: DoorClient, _ stop: PromptStop, _ done: () throws -> Void) -> PromptOutcome {
        answer(client.program, stop, done)
    }

    private func answer(_ asked: String, _ stop: PromptStop, _ done: () throws -> Void) -> PromptOutcome {
        let person = state.withLock { state in
            state.asked.append(asked)
            return state.person
        }
        begun.signal()
        defer { given.signal() }
        switch person {
        case .absent: return .unavailable
        case .dismisses: return .dismissed
        case .types: return (try? done()) != nil ? .done : .failed
        case .hesitates:
            var waiting = pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&waiting, 1, 60_000) == 1 && stop.isStopped ? .dismissed : .failed
        }
    }
}

/// A vault, its agent, a bus and the service on the bus.
final class ServiceWorld {
    let bus: PrivateBus
    let house: TestHouse
    private(set) var server: AgentServer
    private(set) var service: SecretService?
    let ended = DispatchSemaphore(value: 0)
    private var socket: AgentSocket?

    /// - Parameter rules: The rules of the agent's policy file.
    init(hasVault: Bool = true, isUnlocked: Bool = true, portal: Bool = false, rules: String? = nil) throws {
        bus = try PrivateBus()
        house = try TestHouse(bus.directory.path)
        if let rules { try house.rule(rules) }
        if hasVault { try house.makeVault() }
        server = try Self.agent(of: house)
        let socket = try AgentSocket.make(house.address)
        try server.start(on: socket.descriptor)
        self.socket = consume socket
        if hasVault, isUnlocked { try house.unlockNow() }
        let ended = ended
        service = try SecretService.start(
            portal ? [.secretService, .portal] : [.secretService], at: bus.address, house: house
        ) { _ in ended.signal() }
    }

    deinit {
        service = nil
        server.stop()
    }

    private static func agent(of house: TestHouse) throws -> AgentServer {
        var settings = AgentSettings(vault: house.path, version: "test")
        settings.environment = house.environment
        settings.policy = house.policy
        return try AgentServer(settings)
    }

    /// Ends the agent and starts another one, which is locked.
    func restartAgent() throws {
        server.stop()
        socket = nil
        server = try Self.agent(of: house)
        let socket = try makeSocket()
        try server.start(on: socket.descriptor)
        self.socket = consume socket
    }

    /// Makes the socket. A process being started by another test also holds the old socket's lock until it executes.
    private func makeSocket() throws(AgentSocketError) -> AgentSocket {
        let end = Patience.end
        while true {
            do throws(AgentSocketError) { return try AgentSocket.make(house.address) } catch {
                guard error == .running, .now < end else { throw error }
            }
        }
    }

    func client() throws -> BusClient { try BusClient(bus.address) }

    /// Adds an item, bypassing the service.
    func keep(_ item: Item) throws { try store().add(item) }

    /// Deletes items, bypassing the service.
    func remove(_ query: Query) throws { try store().delete(matching: query) }

    /// The vault's items, bypassing the service.
    func store() throws -> AgentClient { try #require(try house.agent(for: nil)) }
}
