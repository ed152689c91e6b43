// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultAgentServer
import VaultCrypto

@testable import VaultCredentials
import VaultDoorKit

/// A vault, its agent, and the socket from which units read their credentials.
private final class CredentialWorld: @unchecked Sendable {
    private let directory: TemporaryDirectory
    let house: TestHouse
    private let server: AgentServer
    private var agent: AgentSocket?
    private var socket: CredentialSocket?

    init(isUnlocked: Bool = true, rules: String? = nil) throws {
        directory = try TemporaryDirectory()
        house = try TestHouse(directory.path)
        if let rules { try house.rule(rules) }
        try house.makeVault()
        var settings = AgentSettings(vault: house.path, version: "test")
        settings.environment = house.environment
        settings.policy = house.policy
        server = try AgentServer(settings)
        let agent = try AgentSocket.make(house.address)
        try server.start(on: agent.descriptor)
        self.agent = consume agent
        if isUnlocked { try house.unlockNow() }
        let listener = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        try #require(Self.withAddress(Array(path.utf8)) { bind(listener, $0, $1) } == 0)
        socket = CredentialSocket(listener, house: house) { _ in }
        #expect(socket != nil)
    }

    deinit {
        socket = nil
        server.stop()
    }

    private var path: String { directory.path.appending("credentials.sock").string }

    private static func withAddress(
        _ name: [UInt8], _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    func keep(_ service: String, _ id: String, _ secret: Secret?, group: String = "systemd") throws {
        let store = try #require(
            try AgentClient(at: house.address, vault: house.path, accessGroups: ["default", "*"]))
        try store.add(
            Item(
                .genericPassword(service: service, account: id), attributes: [.accessGroup: .string(group)],
                secret: secret))
    }

    func lock() throws { try #require(try house.agent(for: nil)).lock() }

    /// Connects a peer bound to `name`; a `nil` name leaves the peer unbound.
    private func connect(_ name: String?) throws -> Int32 {
        let peer = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        if let name {
            try #require(Self.withAddress([0] + Array(name.utf8)) { bind(peer, $0, $1) } == 0)
        }
        try #require(Self.withAddress(Array(path.utf8)) { Glibc.connect(peer, $0, $1) } == 0)
        return peer
    }

    /// Returns a name by which a unit asks, which no other test uses.
    private static func name(_ unit: String, _ id: String) -> String {
        "\(String(UInt64.random(in: 1...UInt64.max), radix: 16))/unit/\(unit)/\(id)"
    }

    func connect(as unit: String, _ id: String) throws -> Int32 { try connect(Self.name(unit, id)) }

    func answer(to name: String?) throws -> [UInt8] {
        let peer = try connect(name)
        defer { close(peer) }
        // systemd also shuts down its sending side.
        shutdown(peer, Int32(SHUT_WR))
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(peer, &part, part.count)
            guard count > 0 else { return bytes }
            bytes += part[..<count]
        }
    }

    /// Returns the answer to another program that is bound to a unit's name.
    func answer(of program: String, to unit: String, _ id: String) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = [
            "-MSocket", "-e",
            """
            socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die; \
            bind($s, pack_sockaddr_un("\\x{0}\(Self.name(unit, id))")) or die; \
            connect($s, pack_sockaddr_un("\(path)")) or die; shutdown($s, 1); local $/; print <$s>
            """,
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = [UInt8](try output.fileHandleForReading.readToEnd() ?? Data())
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return bytes
    }

    /// Returns the answer to a request of a unit's instance, from a name that no other test uses.
    func answer(to unit: String, _ id: String) throws -> [UInt8] {
        try answer(to: Self.name(unit, id))
    }
}

/// A byte more than a credential may have, so the unit fails.
private let refusal = [UInt8](repeating: 0, count: (1 << 20) + 1)

struct CredentialSocketTests {
    @Test func `what is no unit is disconnected without an answer`() async throws {
        try await aside {
            let world = try CredentialWorld()
            try world.keep("*", "api", "s3cret")
            #expect(try world.answer(to: nil).isEmpty)
            #expect(try world.answer(to: "evil-\(UUID())").isEmpty)
            #expect(try world.answer(to: "1/unit/../\(UUID())").isEmpty)
        }
    }

    @Test func `an absent, empty, too long or locked credential fails the unit`() async throws {
        try await aside {
            let world = try CredentialWorld()
            try world.keep("a.service", "none", nil)
            try world.keep("a.service", "empty", Secret(try SecretBytes(zeroed: 0)))
            try world.keep("a.service", "long", Secret(try SecretBytes(zeroed: 1 << 20)))
            try world.keep("a.service", "here", "s3cret")
            try world.keep("a.service", "elsewhere", "s3cret", group: "default")
            for id in ["absent", "none", "empty", "long", "elsewhere"] {
                #expect(try world.answer(to: "a.service", id) == refusal, "\(id)")
            }
            #expect(try world.answer(to: "b.service", "here") == refusal)
            try world.lock()
            #expect(try world.answer(to: "a.service", "here") == refusal)
        }
    }

    @Test func `a unit gets its own credential, else its template's, else that of all`() async throws {
        try await aside {
            let world = try CredentialWorld()
            try world.keep("*", "api", "of all")
            #expect(try world.answer(to: "x@1.service", "api") == Array("of all".utf8))
            try world.keep("x@.service", "api", "of the template")
            #expect(try world.answer(to: "x@1.service", "api") == Array("of the template".utf8))
            try world.keep("x@1.service", "api", "its own")
            #expect(try world.answer(to: "x@1.service", "api") == Array("its own".utf8))
            #expect(try world.answer(to: "x@2.service", "api") == Array("of the template".utf8))
            #expect(try world.answer(to: "y.service", "api") == Array("of all".utf8))
        }
    }

    @Test(
        arguments: [
            (nil, true), ("\"access\": \"none\"", false), ("\"access\": \"inject-only\"", false),
            ("\"groups\": [\"default\"]", false), ("\"groups\": [\"systemd\"]", true),
        ] as [(String?, Bool)])
    func `a program of the user that says it is a unit gets what the agent would give it`(
        rule: String?, isGiven: Bool
    ) async throws {
        try await aside {
            let program = "/usr/bin/perl"
            let world = try CredentialWorld(rules: rule.map { "{\"executable\": \"\(program)\", \($0)}" })
            try world.keep("*", "api", "s3cret")
            #expect(try world.answer(of: program, to: "a.service", "api") == (isGiven ? Array("s3cret".utf8) : refusal))
            // The rule covers only that program.
            #expect(try world.answer(to: "a.service", "api") == Array("s3cret".utf8))
        }
    }

    @Test func `the longest and a binary credential arrive whole`() async throws {
        try await aside {
            let world = try CredentialWorld()
            let long = (0..<(1 << 20) - 1).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            try world.keep("a.service", "long", try Secret(bytes: long))
            #expect(try world.answer(to: "a.service", "long") == long)
        }
    }

    @Test func `programs that claim to be units, and read nothing, keep no unit from its credential`() async throws {
        try await aside {
            let world = try CredentialWorld()
            try world.keep("a.service", "api", "s3cret")
            let deaf = try (0..<100).map { _ in try world.connect(as: "evil.service", "x") }
            #expect(try world.answer(of: "/usr/bin/perl", to: "a.service", "api") == Array("s3cret".utf8))
            // Where every connection of a process waits for its reader, a further one is let go.
            var byte: UInt8 = 1
            #expect(recv(try #require(deaf.last), &byte, 1, 0) == 0)
            for peer in deaf { close(peer) }
            // Connections that this process has just closed may still count as its own.
            #expect(try world.answer(of: "/usr/bin/perl", to: "a.service", "api") == Array("s3cret".utf8))
        }
    }
}
