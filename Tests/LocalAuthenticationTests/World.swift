// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultAgentServer
import VaultCrypto
import VaultStorage

/// The vault and the agent that this process finds by its environment, and a person.
final class World {
    private let directory: TemporaryDirectory
    let passphrase: Passphrase
    private let server = Running()
    private let clock = Clock()
    private var socket: AgentSocket?
    private var door: Door?

    private var path: FilePath { directory.path.appending("v.vault") }
    private var address: FilePath { directory.path.appending("run").appending("agent.sock") }

    /// A door that asks the person and records each reason.
    final class Door: Sendable {
        private let state = Mutex<[String]>([])
        let call = AgentCall()

        var count: Int { state.withLock { $0.count } }
        var reasons: [String] { state.withLock { $0 } }

        func note(_ question: PersonQuestion) { state.withLock { $0.append(question.reason) } }
    }

    init() throws {
        directory = try TemporaryDirectory()
        passphrase = try .of("pass")
        Vault.setDefault(nil)
        setenv("VAULT_FILE", directory.path.appending("v.vault").string, 1)
        setenv("VAULT_AGENT_SOCK", directory.path.appending("run").appending("agent.sock").string, 1)
        setenv("XDG_STATE_HOME", directory.path.appending("state").string, 1)
    }

    deinit {
        door?.call.end()
        server.stop()
        Vault.setDefault(nil)
    }

    /// Opens a vault that its agent has unlocked, with a person at the door.
    ///
    /// - Parameter answer: Returns the person's answer, given the passphrase.
    static func open(
        _ answer: @escaping @Sendable (Passphrase) -> PersonAnswer = { .passphrase($0) }
    ) throws -> (World, Door) {
        let world = try World()
        try world.makeVault()
        let passphrase = world.passphrase
        let door = try world.startAgent { _ in answer(passphrase) }
        try world.unlock()
        return (world, door)
    }

    func unlock() throws {
        let client = try required(AgentClient(vault: nil, accessGroups: nil))
        try client.unlock(with: .passphrase(passphrase))
    }

    func makeVault() throws { try Vault.create(at: path, passphrase: passphrase, cost: .weakest).close() }

    func startAgent() throws {
        var settings = AgentSettings(vault: path, version: "test")
        settings.clock = clock
        settings.environment.strengthensSlots = false
        let server = try AgentServer(settings)
        // Removes the socket of the previous agent.
        self.socket = nil
        let socket = try AgentSocket.make(address)
        try server.start(on: socket.descriptor)
        self.server.agent.withLock { $0 = server }
        self.socket = consume socket
    }

    /// Advances the agent's clock until a person who declined may be asked again.
    func rest() { clock.passed.withLock { $0 += .seconds(125) } }

    private final class Clock: AgentClock {
        let passed = Mutex(Duration.zero)

        var now: Duration { BootClock().now + passed.withLock { $0 } }

        func sleep(for duration: Duration) { passed.withLock { $0 += duration } }
    }

    /// Ends the agent. Callable from any thread except the agent's own.
    var ending: @Sendable () -> Void { server.stop }

    /// An agent that stops at most once.
    private final class Running: Sendable {
        let agent = Mutex<AgentServer?>(nil)

        @Sendable func stop() { agent.withLock { $0.take() }?.stop() }
    }

    /// Starts the agent and a door.
    ///
    /// - Parameter answer: Returns the person's answer, repeated until the question is over; `nil` for no answer.
    @discardableResult
    func startAgent(_ answer: @escaping @Sendable (PersonQuestion) -> PersonAnswer?) throws -> Door {
        try startAgent()
        let (door, begun) = (Door(), DispatchSemaphore(value: 0))
        let client = try required(try AgentClient(at: address, vault: path, accessGroups: nil))
        DispatchQueue(label: "door").async {
            try? client.offerToAsk(door.call, begins: { begun.signal() }) { event in
                guard case .asked(let question) = event else { return }
                door.note(question)
                DispatchQueue(label: "person").async {
                    while let answer = answer(question) {
                        do throws(VaultError) { try client.answer(question.id, answer) } catch {
                            if error == .storage(.wrongPassphrase) { continue }
                        }
                        return
                    }
                }
            }
        }
        try check(begun.wait(timeout: Patience.deadline) == .success)
        self.door = door
        return door
    }
}

/// The failure of an exit test, whose only way to fail is to end the process.
struct Failed: Error {}

func check(_ condition: Bool, line: Int = #line) throws {
    guard !condition else { return }
    FileHandle.standardError.write(Data("line \(line)\n".utf8))
    throw Failed()
}

func required<R>(_ value: R?) throws -> R {
    guard let value else { throw Failed() }
    return value
}
