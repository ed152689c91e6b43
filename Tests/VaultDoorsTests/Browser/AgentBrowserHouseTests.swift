// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultAgentServer

@testable import VaultBrowser
import VaultDoorKit

/// The questions of ceremonies, asked over an agent.
struct AgentBrowserHouseTests {
    private let question = PromptQuestion(["Sign in?"])

    private func withHouse(_ body: (TestHouse, AgentBrowserHouse) throws -> Void) throws {
        let directory = try TemporaryDirectory()
        let house = try TestHouse(directory.path)
        try house.makeVault()
        var settings = AgentSettings(vault: house.path, version: "test")
        settings.environment = house.environment
        let server = try AgentServer(settings)
        defer { server.stop() }
        let socket = try AgentSocket.make(house.address)
        try server.start(on: socket.descriptor)
        try house.unlockNow()
        let client = try #require(DoorClient(getpid()))
        let stop = try #require(PromptStop())
        let browser = AgentBrowserHouse(house, client: client, until: stop) {
            nil
        } isReplicated: { agent in
            (try? agent.status())?.state == .unlocked
        }
        try body(house, browser)
    }

    @Test func `a locked vault is not said to be replicated`() throws {
        try withHouse { house, browser in
            #expect(browser.isReplicated)
            try #require(try house.agent(for: nil)).lock()
            #expect(!browser.isReplicated)
        }
    }

    @Test func `a user is verified by the passphrase alone, in three tries`() throws {
        try withHouse { house, browser in
            #expect(browser.verify(question) == .unavailable)
            house.isAsked(to: .dismisses)
            #expect(browser.verify(question) == .dismissed)
            house.isAsked(to: .types)
            house.types(["wrong", "", "pass"])
            #expect(browser.verify(question) == .done)
            #expect(house.asked.suffix(2).allSatisfy { $0.hasSuffix("Wrong passphrase, once more.") })
            house.types(["a", "b", "c", "pass"])
            #expect(browser.verify(question) == .dismissed)
        }
    }

    @Test func `a locked vault verifies nobody without its passphrase`() throws {
        try withHouse { house, browser in
            try #require(try house.agent(for: nil)).lock()
            house.isAsked(to: .types)
            house.types(["x", "y", "z"])
            #expect(browser.verify(question) == .dismissed)
        }
    }

    @Test func `an account is chosen by a number that is shown`() throws {
        let choice = PromptChoice(["Which?"], options: ["a", "b"], prompt: "Number:")
        try withHouse { house, browser in
            var chosen: Int?
            #expect(browser.choose(choice, &chosen) == .unavailable && chosen == nil)
            house.isAsked(to: .types)
            for (typed, number) in [(["1"], 0), (["2"], 1), (["0", "two", "2"], 1)] {
                house.types(typed)
                #expect(browser.choose(choice, &chosen) == .done && chosen == number)
            }
            #expect(house.asked.last?.hasSuffix("A number from 1 to 2, please.") == true)
            house.types(["3", "-1", "99999999999999999999", "1"])
            #expect(browser.choose(choice, &chosen) == .dismissed && chosen == nil)
            house.isAsked(to: .dismisses)
            #expect(browser.choose(choice, &chosen) == .dismissed && chosen == nil)
        }
    }
}
