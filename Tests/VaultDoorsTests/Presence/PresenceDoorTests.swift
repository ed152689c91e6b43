// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultAgent
import VaultAgentServer
import VaultCrypto

@testable import Vault
@testable import VaultDoorKit

/// A door that asks a person when an item requires consent.
struct PresenceDoorTests {
    /// A vault with a protected item, its agent, and a door with a person.
    private final class World {
        let directory: TemporaryDirectory
        let house: TestHouse
        let door: PresenceDoor
        private let hasOffered: DispatchSemaphore
        private let server: AgentServer
        private var socket: AgentSocket?

        init(_ person: TestHouse.Person, types: [String] = []) throws {
            directory = try TemporaryDirectory()
            house = try TestHouse(directory.path)
            house.isAsked(to: person)
            house.types(types)
            try house.makeVault()
            var settings = AgentSettings(vault: house.path, version: "test")
            settings.environment = house.environment
            server = try AgentServer(settings)
            let socket = try AgentSocket.make(house.address)
            try server.start(on: socket.descriptor)
            self.socket = consume socket
            try house.unlockNow()
            let hasOffered = DispatchSemaphore(value: 0)
            self.hasOffered = hasOffered
            door = PresenceDoor(house, patience: .milliseconds(1)) { hasOffered.signal() }
            let client = try client()
            var item = Item(.genericPassword(service: "s"), secret: try Secret(text: "protected"))
            item.attributes[.accessControl] = .data(AccessControl(.whenUnlocked, constraints: 1).encoded)
            try client.add(item)
        }

        deinit {
            door.close()
            server.stop()
        }

        /// Returns a client that is a program without a door.
        func client() throws -> AgentClient {
            try #require(try AgentClient(at: house.address, vault: house.path, accessGroups: ["default", "*"]))
        }

        /// Waits until the door has offered to ask.
        func offered() throws -> AgentClient {
            try #require(hasOffered.wait(timeout: Patience.deadline) == .success)
            hasOffered.signal()
            return try client()
        }
    }

    private let query = Query(.genericPassword, service: "s")

    @Test func `a person who says no, or never the right thing, allows nothing`() async throws {
        try await aside {
            let dismissing = try World(.dismisses)
            #expect(throws: VaultError.cancelled) { try dismissing.offered().copyMatching(query) }
            let mistyping = try World(.types, types: ["one", "", "two", "three", "pass"])
            #expect(throws: VaultError.storage(.wrongPassphrase)) { try mistyping.offered().copyMatching(query) }
            // An unacceptable passphrase did not count as a try.
            #expect(mistyping.house.asked.count == 4)
            #expect(
                mistyping.house.asked.map { $0.split(separator: "\n").last ?? "" }.dropFirst() == [
                    "Wrong passphrase, once more.", "That is no passphrase, once more.", "Wrong passphrase, once more.",
                ])
        }
    }

    @Test func `a door without a place to ask at offers nothing`() async throws {
        try await aside {
            let world = try World(.absent)
            let client = try world.client()
            #expect(try !client.status().asksPeople)
            #expect(throws: VaultError.presenceRequired) { try client.copyMatching(query) }
            // The door looks again for a place to ask.
            world.house.isAsked(to: .types)
            #expect(try world.offered().copyMatching(query).count == 1)
        }
    }

    @Test func `a question ends with its client, and with its door`() async throws {
        try await aside {
            for endsDoor in [false, true] {
                // A world of its own: a process whose question ended without an answer is ignored for a while.
                let world = try World(.hesitates)
                let (client, call) = (try world.offered(), AgentCall())
                let ended = DispatchSemaphore(value: 0)
                let failure = Mutex<VaultError?>(nil)
                DispatchQueue(label: "asker").async {
                    do throws(VaultError) { _ = try client.attended(reason: nil, call) } catch {
                        failure.withLock { $0 = error }
                    }
                    ended.signal()
                }
                world.house.hasBegun()
                if endsDoor { world.door.close() } else { call.end() }
                world.house.hasGiven()
                #expect(ended.wait(timeout: Patience.deadline) == .success)
                #expect(failure.withLock { $0 } == (endsDoor ? .presenceRequired : .agent(.gone)))
            }
        }
    }

    @Test func `what the person allows is read, and what they read names the program and quotes it`() async throws {
        try await aside {
            let world = try World(.types, types: ["wrong"])
            var query = query
            query.presence = .asked(reason: "to pay\n'vault' (process 1) is the vault itself\u{202E}")
            query.returnsSecrets = true
            let found = try world.offered().copyMatching(query)
            #expect(found.first?.secret?.count == 9)
            let shown = try #require(world.house.asked.first)
            #expect(shown.contains("(process \(getpid()))") && shown.contains("It says: \u{201C}to pay"))
        }
    }

    @Test func `nothing that a program says makes a line or hides one`() {
        let reason = "a\nb\r\u{1B}[2Jc\u{202E}d%0Ae\u{2028}f" + String(repeating: "g", count: 10_000)
        let question = PersonQuestion(
            .random(SystemRandom()), process: 1, program: "p\n%0Aq" + String(repeating: "r", count: 999), reason: reason
        )
        let line = Assuan.escaped(PresenceDoor.lines(question))
        #expect(line.hasSuffix("\u{201D}") && line.utf8.count < 1000 && line.ranges(of: "%0A").count == 1)
        #expect(!line.unicodeScalars.contains { [.control, .format].contains($0.properties.generalCategory) })
    }

    @Test func `what a program says ends no quotation`() {
        let question = PersonQuestion(
            .random(SystemRandom()), process: 1, program: "p' (process 2) x",
            reason: "x\u{201D} Approved by vault. It says: \u{201C}y")
        let lines = PresenceDoor.lines(question)
        #expect(lines[0].count { $0 == "'" } == 2)
        #expect(lines[1].count { "\u{201C}\u{201D}".contains($0) } == 2 && lines[1].hasSuffix("\u{201D}"))
    }

    @Test(.enabled(if: PrivateBus.isThere))
    func `the command's own doors ask with pinentry`() async throws {
        try await aside {
            let world = try DoorWorld("a long passphrase")
            let program = try world.client()
            #expect(try !program.complete(program.unlock([BusClient.login]).prompt).isDismissed)
            let directory = world.bus.directory.path
            let address = directory.appending("run").appending("vault").appending("agent.sock")
            let client = try #require(try AgentClient(at: address, vault: nil, accessGroups: ["default"]))
            // The doors make the offer besides the secret service, and do not signal it.
            try Patience.look {
                try client.status().asksPeople
            } unless: {
                !world.doors.isRunning
            }
            let before = world.pinentry.heard.count
            _ = try client.attended(reason: "to\npay")
            let heard = world.pinentry.heard.dropFirst(before)
            let description = try #require(heard.first { $0.hasPrefix("SETDESC ") })
            #expect(
                description.contains("(process \(getpid()))") && description.contains("\u{201C}to\u{FFFD}pay\u{201D}"))
            #expect(heard.contains("SETKEYINFO --clear") && heard.contains("SETTIMEOUT 60"))
        }
    }
}
