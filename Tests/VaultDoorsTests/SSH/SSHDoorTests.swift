// SPDX-License-Identifier: Apache-2.0
import CLinux
import Foundation
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultAgentServer
import VaultCrypto

@testable import VaultSSHAgent
import VaultDoorKit
import VaultLoop

/// A door on a socket of its own, for the vault of an agent.
final class SSHDoorWorld {
    let directory: TemporaryDirectory
    let house: TestHouse
    private let server: AgentServer
    private var agentSocket: AgentSocket?
    private var socket: AgentSocket?
    private(set) var door: SSHDoor?

    var path: FilePath { directory.path.appending("run").appending("ssh.sock") }

    init(keepsKeys: Bool = false, isUnlocked: Bool = true) throws {
        directory = try TemporaryDirectory()
        house = try TestHouse(directory.path)
        try house.makeVault()
        var settings = AgentSettings(vault: house.path, version: "test")
        (settings.environment, settings.policy) = (house.environment, house.policy)
        server = try AgentServer(settings)
        let agentSocket = try AgentSocket.make(house.address)
        try server.start(on: agentSocket.descriptor)
        self.agentSocket = consume agentSocket
        if isUnlocked { try house.unlockNow() }
        let socket = try AgentSocket.make(path)
        door = SSHDoor(socket.descriptor, house, keepsKeys: keepsKeys)
        #expect(door != nil)
        self.socket = consume socket
    }

    deinit {
        door?.close()
        server.stop()
    }

    func lockNow() throws { try #require(try house.agent(for: nil)).lock() }

    func connect() throws -> SSHClient { try SSHClient(path) }

    /// Runs a program of OpenSSH's in the directory, with copies of the sample keys.
    @discardableResult
    func run(_ arguments: String..., input: String = "") throws -> (status: Int32, output: String) {
        try run(arguments, input: input)
    }

    func run(_ arguments: [String], input: String = "") throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["--default-signal=PIPE", "setsid", "--wait"] + arguments
        process.currentDirectoryURL = URL(filePath: directory.path.string)
        process.environment = [
            "PATH": "/usr/bin:/bin", "HOME": directory.path.string, "SSH_AUTH_SOCK": path.string,
            "SSH_ASKPASS": directory.path.appending("ask").string, "SSH_ASKPASS_REQUIRE": "force",
        ]
        try directory.write(Array(input.utf8), to: "input")
        let output = directory.path.appending("output").string
        _ = FileManager.default.createFile(atPath: output, contents: nil)
        process.standardInput = try FileHandle(forReadingFrom: URL(filePath: directory.path.appending("input").string))
        let handle = try FileHandle(forWritingTo: URL(filePath: output))
        (process.standardOutput, process.standardError) = (handle, handle)
        try process.run()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: try directory.read("output"), as: UTF8.self))
    }

    func copySamples(_ names: [String]) throws {
        for name in names {
            try directory.write(SSHSamples.file(name), to: name)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: directory.path.appending(name).string)
        }
    }

    /// Sets the answer to ssh-add's question for a passphrase.
    func says(_ passphrase: String) throws {
        try directory.write(Array("#!/bin/sh\necho '\(passphrase)'\n".utf8), to: "ask")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o700], ofItemAtPath: directory.path.appending("ask").string)
    }

    static let hasClients = ["ssh-add", "ssh-keygen"].allSatisfy { access("/usr/bin/" + $0, X_OK) == 0 }
}

/// A connection that sends raw bytes.
final class SSHClient {
    private let descriptor: Int32

    init(_ path: FilePath) throws {
        let connected = clinux_connect_unix(path.string, 60)
        guard connected >= 0 else { throw Errno(rawValue: CInt(-connected)) }
        descriptor = Int32(connected)
    }

    deinit { close(descriptor) }

    /// Writes bytes unchanged.
    ///
    /// - Returns: Whether the socket accepted them.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool { clinux_send(descriptor, bytes, bytes.count, 0) == 0 }

    static func frame(_ request: [UInt8]) -> [UInt8] {
        var frame: [UInt8] = []
        frame.put(bytes: request)
        return frame
    }

    /// Reads `count` bytes; `nil` if the connection has ended.
    func read(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var part = [UInt8](repeating: 0, count: count - bytes.count)
            let received = clinux_receive_some(descriptor, &part, part.count)
            guard received > 0 else { return nil }
            bytes += part[..<received]
        }
        return bytes
    }

    /// Reads an answer; `nil` if the connection has ended.
    func answer() -> [UInt8]? {
        guard let head = read(4) else { return nil }
        return read(head.reduce(0) { $0 << 8 | Int($1) })
    }

    func ask(_ request: [UInt8]) -> [UInt8]? {
        write(Self.frame(request))
        return answer()
    }

    func stopWriting() { shutdown(descriptor, Int32(SHUT_WR)) }
}

struct SSHDoorTests {
    // MARK: Refusals

    @Test func `a frame of 4 GiB, of none, or of more than 256 KiB ends the connection, and no other`() async throws {
        try await aside {
            let world = try SSHDoorWorld()
            let other = try world.connect()
            for length in [0, 262_145, .max] as [UInt32] {
                let client = try world.connect()
                var head: [UInt8] = []
                head.put(length)
                client.write(head)
                #expect(client.answer() == nil)
            }
            #expect(other.ask([11]) == [12, 0, 0, 0, 0])
            // A request of the greatest length is read completely.
            #expect(other.ask([UInt8](repeating: 22, count: 262_144)) == SSHSamples.failure)
            #expect(other.ask([11]) == [12, 0, 0, 0, 0])
        }
    }

    @Test func `a client that says half of a request, or reads no answer, keeps no other waiting`() async throws {
        try await aside {
            let world = try SSHDoorWorld()
            let request = SSHClient.frame(try SSHSamples.adding("ed25519"))
            let (slow, path) = (try world.connect(), world.path)
            slow.write(Array(request[..<50]))
            // More than both sides' buffers hold.
            let asking = Worker {
                let deaf = try SSHClient(path)
                for _ in 0..<60_000 where !deaf.write(SSHClient.frame([11])) { return }
            }
            for _ in 0..<50 { #expect(try world.connect().ask([11]) == [12, 0, 0, 0, 0]) }
            slow.write(Array(request[50...]))
            #expect(slow.answer() == SSHSamples.success)
            world.door?.close()
            try asking.value()
        }
    }

    @Test func `five hundred clients are served, and one more takes the place of its process's oldest`() async throws {
        try await aside {
            let world = try SSHDoorWorld()
            let clients = try (0..<SSHDoor.places.most).map { _ in try world.connect() }
            for client in clients { #expect(client.ask([11]) != nil) }
            let more = try world.connect()
            #expect(more.ask([11]) != nil)
            #expect(clients[0].ask([11]) == nil)
            #expect(clients[1].ask([11]) != nil)
        }
    }

    @Test func `silent clients of a process keep no other process's client out`() async throws {
        try await aside {
            let world = try SSHDoorWorld()
            let client = try world.connect()
            #expect(client.ask([11]) != nil)
            let silent = try SilentProcess(at: world.path.string, connections: 700)
            for _ in 0..<5 { #expect(try world.connect().ask([11]) != nil) }
            #expect(client.ask([11]) != nil)
            silent.end()
        }
    }

    @Test func `a client that goes while a person is asked ends the question`() async throws {
        try await aside {
            let world = try SSHDoorWorld(isUnlocked: false)
            world.house.isAsked(to: .hesitates)
            var client: SSHClient? = try world.connect()
            client?.write(SSHClient.frame([11]))
            world.house.hasBegun()
            client = nil
            world.house.hasGiven()
        }
    }

    @Test func `a door that closes ends what is asked, and its connections`() async throws {
        try await aside {
            let world = try SSHDoorWorld(isUnlocked: false)
            world.house.isAsked(to: .hesitates)
            let client = try world.connect()
            client.write(SSHClient.frame([11]))
            world.house.hasBegun()
            let door = try #require(world.door)
            door.close()
            world.house.hasGiven()
            while client.answer() != nil {}
        }
    }

    // MARK: Serving

    @Test func `requests that come at once, in any pieces, are answered in their order`() async throws {
        try await aside {
            let world = try SSHDoorWorld()
            let client = try world.connect()
            let requests = [try SSHSamples.adding("ed25519", comment: "a"), [11], [19], [11], [3]] as [[UInt8]]
            let bytes = requests.flatMap { SSHClient.frame($0) }
            for start in stride(from: 0, to: bytes.count, by: 7) {
                client.write(Array(bytes[start..<min(start + 7, bytes.count)]))
            }
            #expect(client.answer() == SSHSamples.success)
            #expect(try SSHWorld.identities(client.answer() ?? []).map(\.comment) == ["a"])
            #expect(client.answer() == SSHSamples.success)
            #expect(client.answer() == [12, 0, 0, 0, 0])
            #expect(client.answer() == SSHSamples.failure)
        }
    }

    @Test func `a key is an item of the vault, which serves it while it is unlocked`() async throws {
        try await aside {
            let world = try SSHDoorWorld(keepsKeys: true)
            let client = try world.connect()
            #expect(client.ask(try SSHSamples.adding("ed25519", comment: "mine")) == SSHSamples.success)
            #expect(client.ask(try SSHSamples.adding("ed25519", certificate: "ed25519-cert.pub")) == [6])
            let store = try #require(try world.house.agent(for: nil))
            let item = try #require(try store.allMatching(Query(.genericPassword, service: "ssh")).first)
            #expect(item.account == "SHA256:6qXDKf6vyOVBXaHO61kbFBFLoan3Otd9O9cCiqBDgWA")
            #expect(item.userAttributes["ssh.type"] == "ssh-ed25519")
            let line = String(decoding: try SSHSamples.file("ed25519.pub"), as: UTF8.self)
            #expect(item.userAttributes["ssh.public"].map { line.hasPrefix($0 + " ") } == true)
            #expect(item.userAttributes["ssh.certificate"]?.hasPrefix("ssh-ed25519-cert-v01@openssh.com ") == true)
            #expect(item.userAttributes["ssh.confirm"] == "false")
            let file = try #require(try item.openedSecret())
            #expect(try SSHPrivateKey.read(bytes: file.exposed).publicKey == SSHSamples.key("ed25519").publicKey)
            // The door serves neither an item that is not a key nor a key that claims another identity.
            try store.add(Item(.genericPassword(service: "ssh", account: "ada"), secret: try Secret(text: "pw")))
            try store.add(
                Item(
                    .genericPassword(service: "ssh", account: "SHA256:x"), userAttributes: item.userAttributes,
                    secret: file))
            #expect(try SSHWorld.identities(client.ask([11]) ?? []).count == 2)
            let answer = try #require(client.ask(try SSHSamples.signing("ed25519-cert.pub")))
            #expect(try SSHWorld.isSignature(answer, by: "ed25519.pub", of: SSHSamples.message))
            try world.lockNow()
            #expect(client.ask([11]) == [12, 0, 0, 0, 0])
            #expect(client.ask(try SSHSamples.signing("ed25519.pub")) == SSHSamples.failure)
            try world.house.unlockNow()
            #expect(try SSHWorld.identities(client.ask([11]) ?? []).count == 2)
            #expect(client.ask(try SSHSamples.removing("ed25519-cert.pub")) == SSHSamples.success)
            #expect(try SSHWorld.identities(client.ask([11]) ?? []).count == 1)
            #expect(client.ask(try SSHSamples.removing("ed25519.pub")) == SSHSamples.success)
            #expect(try store.allMatching(Query(.genericPassword, service: "ssh")).count == 2)
        }
    }

    @Test func `an item whose secret is another key's signs nothing`() async throws {
        try await aside {
            let world = try SSHDoorWorld(keepsKeys: true)
            let client = try world.connect()
            #expect(client.ask(try SSHSamples.adding("ed25519")) == SSHSamples.success)
            let store = try #require(try world.house.agent(for: nil))
            for file in [try SSHSamples.file("authority"), try SSHSamples.file("encrypted"), Array("x".utf8)] {
                try store.update(
                    matching: Query(.genericPassword, service: "ssh"),
                    with: ItemChanges(secret: try Secret(bytes: file)))
                #expect(client.ask(try SSHSamples.signing("ed25519.pub")) == SSHSamples.failure)
            }
        }
    }

    @Test func `a hundred clients at once add, look, sign and remove`() async throws {
        try await aside {
            let world = try SSHDoorWorld()
            let path = world.path
            try atOnce(100) { number in
                let client = try SSHClient(path)
                let name = SSHSamples.keys[number % 4]
                for _ in 0..<5 {
                    #expect(client.ask(try SSHSamples.adding(name)) == SSHSamples.success)
                    #expect(try SSHWorld.identities(client.ask([11]) ?? []).count <= 4)
                    let answer = try #require(client.ask(try SSHSamples.signing(name + ".pub")))
                    // Another thread may just have removed the key.
                    if answer != SSHSamples.failure {
                        #expect(try SSHWorld.isSignature(answer, by: name + ".pub", of: SSHSamples.message))
                    }
                    _ = client.ask(try SSHSamples.removing(name + ".pub"))
                }
            }
        }
    }
}
