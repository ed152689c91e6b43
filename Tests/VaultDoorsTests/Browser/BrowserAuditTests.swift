// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultAgentServer
import VaultCrypto

@testable import VaultBrowser

/// A browser served by an agent that logs every secret that it hands out.
struct BrowserAuditTests {
    private let agent: AuditingAgent
    private let client: BrowserClient

    init() throws {
        agent = try AuditingAgent()
        client = try BrowserClient(TestBrowserHouse(TemporaryDirectory()))
        client.house.serves(try agent.client())
        try client.exchangeKeys()
        try client.associate()
    }

    @Test func `a one-time password that an association may not have is not decrypted for it`() throws {
        let store = try agent.client()
        let added = try store.add(
            Item(
                .internetPassword(server: "shop.example", account: "ada", protocol: "htps"),
                secret: try Secret(text: "password"), fields: ["otp": try Secret(text: "JBSWY3DPEHPK3PXP")]))
        let id = try #require(added.record?.id)
        let uuid = try #require(added.record).shortID(digits: 32)
        #expect(try client.send("get-totp", ["uuid": uuid]).errorCode == "6")
        #expect(try agent.handedOut(id) == 0)
        #expect(try client.getLogins("https://shop.example/").logins == ["ada"])
        let before = try agent.handedOut(id)
        #expect(before > 0)
        #expect(try client.send("get-totp", ["uuid": uuid])["totp"]?.count == 6)
        #expect(try agent.handedOut(id) == before + 1)
    }
}

/// An agent with an audit log.
private final class AuditingAgent {
    private let directory: TemporaryDirectory
    private let house: TestHouse
    private let server: AgentServer
    private var socket: AgentSocket?

    init() throws {
        directory = try TemporaryDirectory()
        house = try TestHouse(directory.path)
        try house.makeVault()
        var settings = AgentSettings(vault: house.path, version: "test")
        settings.environment = house.environment
        settings.auditDirectory = directory.path.appending("log")
        server = try AgentServer(settings)
        let socket = try AgentSocket.make(house.address)
        try server.start(on: socket.descriptor)
        self.socket = consume socket
        try house.unlockNow()
    }

    deinit { server.stop() }

    func client() throws -> AgentClient {
        try #require(try AgentClient(at: house.address, vault: house.path, accessGroups: ["default"]))
    }

    /// Counts the log's entries about handing out a secret of an item.
    func handedOut(_ id: UUID) throws -> Int {
        let log = directory.path.appending("log").string
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: log).first { $0.hasSuffix(".audit") })
        return try String(contentsOfFile: log + "/" + name, encoding: .utf8).split(separator: "\n").count {
            $0.contains("\"verb\":\"reveal\"") && $0.contains(id.uuidString.lowercased())
        }
    }
}
