// SPDX-License-Identifier: Apache-2.0
import CLinux
import Foundation
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultStorage

@testable import VaultAgent
@testable import VaultAgentServer

/// A clock that advances on request and when a caller sleeps.
final class HeldClock: AgentClock {
    private let state = Mutex<(now: Duration, waited: [Duration])>((.seconds(1000), []))

    var now: Duration { state.withLock { $0.now } }

    func sleep(for duration: Duration) {
        state.withLock { state in
            state.now += duration
            state.waited.append(duration)
        }
    }

    func pass(_ duration: Duration) { state.withLock { $0.now += duration } }

    var waited: [Duration] { state.withLock { $0.waited } }
}

/// An agent in this process, with its own vault and socket.
final class TestAgent {
    let directory: TemporaryDirectory
    let clock = HeldClock()
    let passphrase: Passphrase
    let server: AgentServer
    let address: FilePath
    let environment: VaultEnvironment
    private var socket: AgentSocket?

    var path: FilePath { directory.path.appending("v.vault") }

    init(makesVault: Bool = true, _ change: (inout AgentSettings) throws -> Void = { _ in }) throws {
        directory = try TemporaryDirectory()
        passphrase = try .of("pass")
        environment = .process(state: directory.path.appending("state"))
        address = directory.path.appending("run").appending("agent.sock")
        if makesVault {
            try Vault.create(
                at: directory.path.appending("v.vault"), passphrase: passphrase, cost: .weakest,
                environment: environment
            ).close()
        }
        var settings = AgentSettings(vault: directory.path.appending("v.vault"), version: "test")
        settings.clock = clock
        settings.environment = environment
        try change(&settings)
        server = try AgentServer(settings)
        let socket = try AgentSocket.make(address)
        try server.start(on: socket.descriptor)
        self.socket = consume socket
    }

    deinit { server.stop() }

    func client(
        _ groups: AccessGroups? = .standard, _ purpose: AgentClient.Purpose = .reveal, behalf: Behalf? = nil
    ) throws -> AgentClient {
        try #require(
            try AgentClient(at: address, vault: path, accessGroups: groups, purpose: purpose, behalf: behalf))
    }

    /// A client of the agent that has unlocked the vault.
    func unlocked(_ groups: AccessGroups? = .standard, _ purpose: AgentClient.Purpose = .reveal) throws -> AgentClient {
        let client = try client(groups, purpose)
        try client.unlock(with: .passphrase(passphrase))
        return client
    }

    /// The same file, opened beside the agent.
    func opened() throws -> Vault {
        try Vault.open(at: path, unlockingWith: passphrase, environment: environment, accessGroups: .standard)
    }

    /// A connection that sends arbitrary bytes.
    func connection() throws -> RawConnection { try RawConnection(address) }
}

/// A raw socket without the client's checks.
final class RawConnection: Sendable {
    let descriptor: Int32

    init(_ path: FilePath) throws {
        let opened = clinux_connect_unix(path.string, 20)
        guard opened >= 0 else { throw Errno(rawValue: CInt(-opened)) }
        descriptor = Int32(opened)
    }

    deinit { close(descriptor) }

    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool { clinux_send(descriptor, bytes, bytes.count, 0) == 0 }

    func send(_ request: some AgentRequest, _ number: UInt32 = 1) {
        let frame = request.frame(number)
        send(frame.open)
        for secret in frame.secrets {
            secret.withBytes { bytes in
                _ = bytes.withUnsafeBytes { clinux_send(descriptor, $0.baseAddress, $0.count, 0) }
            }
        }
    }

    /// Reads the next reply; `nil` if the agent has closed the connection.
    func reply() throws -> (any AgentReply)? {
        guard let head = read(Frame.headLength), let body = read(try MessageHead(head.span).bodyLength) else {
            return nil
        }
        let parsed = try MessageHead(head.span)
        let secrets = parsed.secretsLength > 0 ? read(parsed.secretsLength).flatMap { try? Secret(bytes: $0) } : nil
        let frame = Frame(parsed, body: body, secrets: secrets)
        let types: [any AgentReply.Type] = [
            FailureReply.self, StatusReply.self, DoneReply.self, ItemsReply.self, ChangesReply.self, SyncReply.self,
            TicketReply.self, QuestionReply.self,
        ]
        return try #require(types.first { $0.kind == frame.kind }).init(frame)
    }

    /// Reads the error in the next reply; `nil` if the reply is not a failure.
    func failure() throws -> VaultError? { (try reply() as? FailureReply)?.value }

    /// Sends a greeting and reads the reply.
    func greet(_ groups: [String]? = nil) throws -> (any AgentReply)? {
        send(HelloRequest(Greeting(vault: "", groups: groups, purpose: .reveal)))
        return try reply()
    }

    private func read(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let received = bytes.withUnsafeMutableBytes {
                clinux_receive_some(descriptor, $0.baseAddress.map { $0 + done }, count - done)
            }
            guard received > 0 else { return nil }
            done += received
        }
        return bytes
    }

    /// Waits for the agent to close the connection.
    var isClosed: Bool {
        var byte: [UInt8] = [0]
        return clinux_receive_some(descriptor, &byte, 1) <= 0
    }
}

extension Item {
    static func generic(_ service: String, _ secret: String = "x", accessible: Accessibility? = nil) throws -> Item {
        Item(.genericPassword(service: service), accessible: accessible, secret: try Secret(text: secret))
    }
}

extension Secret {
    var text: String { withBytes { span in String(decoding: span.indices.map { span[$0] }, as: UTF8.self) } }
}
