// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import TestSupport
import Testing
import Vault
import VaultAgent
import VaultBus
import VaultCrypto

@testable import VaultSecretService

extension SecretService {
    fileprivate var isIdle: Bool { turns.underWay == 0 }
    fileprivate var leftOver: [Int] { [holdings.prompts.count, holdings.searches.count, holdings.sessions.count] }
    fileprivate var isAsking: Bool { asking.question != nil }
    fileprivate var heldQuestion: WeakQuestion { WeakQuestion(asking.question) }
}

private final class WeakQuestion: @unchecked Sendable {
    weak var question: Question?

    init(_ question: Question?) { self.question = question }
}

extension ServiceWorld {
    /// Waits until the bus, and then the service, know that a connection is gone.
    fileprivate func hasGone(_ name: String, _ other: BusClient) throws {
        try other.awaitName(name, hasOwner: false)
        try other.call("DBus.Introspectable", "Introspect")
    }
}

/// Programs that want other programs' items, provoke failures, or exhaust resources.
@Suite(.enabled(if: PrivateBus.isThere)) struct HostileTests {
    // MARK: Sandboxes

    @Test func `a sandbox hears nothing of what others have, whether it has called or not`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let (client, listener) = (try world.client(), try world.client())
            try listener.listenToAll()
            let path = try client.create(["k": "v"], label: "Mail")
            let sandbox = try world.sandboxed("org.example.App")
            try sandbox.listenToAll()
            #expect(try sandbox.search(["k": "v"]) == ([], []))
            _ = try client.paths("Collection", "Items", at: BusClient.login)
            try client.listenToAll()
            try client.set("Item", "Label", .text("Private"), at: path)
            try client.set("Collection", "Label", .text("Mine"), at: BusClient.login)
            try client.create(["of": "memory"], in: BusClient.session)
            try client.create(["k": "w"])
            #expect(try client.heard("DBus.Properties", "PropertiesChanged", at: path) != nil)
            #expect(try client.heard("Secret.Collection", "ItemCreated", at: BusClient.login) != nil)
            #expect(try client.heard("DBus.Properties", "PropertiesChanged", at: BusClient.login) != nil)
            try client.lock()
            #expect(try sandbox.signals().allSatisfy { $0 != "ItemCreated" && $0 != "ItemChanged" })
            #expect(try listener.signals() == [])
        }
    }

    @Test func `a sandbox has a collection, a memory and no names of its own`() async throws {
        try await aside {
            let world = try ServiceWorld(portal: true)
            let client = try world.client()
            let (mine, memory) = (
                try client.create(["k": "v"]), try client.create(["k": "v"], in: BusClient.session)
            )
            let sandbox = try world.sandboxed("org.example.App")
            let home = BusClient.root + "/collection/org_2eexample_2eApp"
            #expect(try sandbox.alias("default") == home)
            let path = try sandbox.create(["k": "v"], "app")
            let remembered = try sandbox.create(["k": "v"], "app", in: BusClient.session)
            #expect(path.hasPrefix(home + "/i"))
            #expect(try Set(sandbox.search(["k": "v"]).unlocked) == [path, remembered])
            #expect(try Set(sandbox.search([:]).unlocked) == [path, remembered])
            #expect(try sandbox.secrets([mine, memory, path]) == [path: "app"])
            #expect(try sandbox.paths("Service", "Collections") == [home, BusClient.session])
            #expect(try sandbox.paths("Collection", "Items", at: BusClient.session) == [remembered])
            for other in [mine, memory] {
                #expect(
                    sandbox.refusal { () throws(BusError) in _ = try sandbox.secret(other) }
                        == "Secret.Error.NoSuchObject")
                #expect(
                    sandbox.refusal { () throws(BusError) in try sandbox.delete(other) } == "Secret.Error.NoSuchObject")
            }
            // An alias is shared by all programs; a sandbox's alias for its own collection would receive their items.
            for alias in ["work", "login", "x"] where alias != "login" {
                let refusal = sandbox.refusal { () throws(BusError) in
                    try sandbox.call("Service", "SetAlias") { message throws(BusError) in
                        try message.append(alias)
                        try message.append(path: home)
                    }
                }
                #expect(refusal == "DBus.Error.AccessDenied")
                #expect(try client.alias(alias) == "/")
            }
            let refusal = sandbox.refusal { () throws(BusError) in
                _ = try sandbox.connection.call(
                    BusMember(interface: Portal.interface, name: "RetrieveSecret"), at: Portal.path,
                    of: "org.freedesktop.impl.portal.desktop.vault")
            }
            #expect(refusal == "DBus.Error.AccessDenied")
            // Another sandbox, and a sandbox without a known application.
            for application in ["org.example.Other", ""] {
                let other = try world.sandboxed(application)
                #expect(
                    other.refusal { () throws(BusError) in _ = try other.secret(remembered) }
                        == "Secret.Error.NoSuchObject")
            }
            #expect(try client.secrets([mine, memory]) == [mine: "s3cret", memory: "s3cret"])
        }
    }

    // MARK: Disconnecting clients

    @Test func `what a client asked for before it went is not kept`() async throws {
        try await aside {
            let world = try ServiceWorld(isUnlocked: false)
            world.house.isAsked(to: .hesitates)
            let other = try world.client()
            for method in ["Unlock", "SearchItems"] {
                let (reached, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
                world.house.whenFound {
                    reached.signal()
                    gate.wait()
                }
                try world.look { service in await service.forgetViews() }
                var client: BusClient? = try world.client()
                let name = try #require(client?.connection.uniqueName)
                try client?.send("Service", method) { message throws(BusError) in
                    if method == "Unlock" {
                        try message.append(paths: [BusClient.login])
                    } else {
                        try message.append(.texts(["k": "v"]))
                    }
                }
                reached.wait()
                client = nil
                try world.hasGone(name, other)
                gate.signal()
                try Patience.look { try world.look { await $0.isIdle } }
                #expect(try world.look { await $0.leftOver } == [0, 0, 0])
                #expect(try !world.look { await $0.isAsking })
            }
        }
    }

    @Test func `a question that has ended is not kept until its time is up`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            try client.lock()
            world.house.isAsked(to: .hesitates)
            let prompt = try client.unlock([BusClient.login]).prompt
            try client.listen(to: "Secret.Prompt", "Completed")
            try client.call("Prompt", "Prompt", at: prompt) { message throws(BusError) in try message.append("") }
            world.house.hasBegun()
            let held = try world.look { await $0.heldQuestion }
            #expect(held.question != nil)
            try client.call("Prompt", "Dismiss", at: prompt)
            world.house.hasGiven()
            #expect(try client.heard("Secret.Prompt", "Completed", at: prompt) != nil)
            Patience.look { held.question == nil }
            #expect(held.question == nil)
        }
    }

    // MARK: Races

    @Test func `calls that come together get no more sessions than those that come one by one`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            for _ in 0..<300 {
                try client.send("Service", "OpenSession") { message throws(BusError) in
                    try message.append(ServiceSession.encryptedName)
                    try message.append(variantOf: [UInt8](repeating: 2, count: 128).span)
                }
            }
            let answers = try client.answers(300)
            #expect(answers.count { $0 == "vo" } == 256 && answers.count == 300)
        }
    }

    @Test func `two that replace the same item at once leave one`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let session = try client.plainSession()
            for _ in 0..<20 {
                try client.send("Collection", "CreateItem", at: BusClient.login) { message throws(BusError) in
                    try message.append([
                        ("org.freedesktop.Secret.Item.Attributes", .texts(["service": "mail", "username": "ada"]))
                    ])
                    try BusClient.append(Array("s3cret".utf8), session, "text/plain", to: message)
                    try message.append(true)
                }
            }
            #expect(try client.answers(20) == [String](repeating: "oo", count: 20))
            #expect(try client.search(["service": "mail"]).unlocked.count == 1)
        }
    }

    @Test func `no secret is sent after a client was told that the vault is locked`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let (client, other) = (try world.client(), try world.client())
            let path = try client.create(["k": "v"])
            let session = try client.plainSession()
            try client.listenToAll()
            for _ in 0..<10 {
                for _ in 0..<100 {
                    try client.send("Item", "GetSecret", at: path) { message throws(BusError) in
                        try message.append(path: session)
                    }
                }
                try other.lock()
                var (answers, isLocked, late) = (0, false, 0)
                _ = try client.connection.signal(until: Patience.end) { message throws(BusError) in
                    if let told = try client.tellsOfLock(message) { isLocked = told }
                    if message.member.isEmpty {
                        answers += 1
                        if isLocked, message.signature == "(oayays)" { late += 1 }
                    }
                    // Only a service that has announced the lock announces the unlocking below.
                    return answers == 100 && isLocked
                }
                #expect(answers == 100 && isLocked && late == 0)
                try world.house.unlockNow()
                #expect(try client.secret(path).text == "s3cret")
                // A secret may arrive before the notice of the unlocking.
                let unlock = try client.connection.signal(until: Patience.end) { message throws(BusError) in
                    try client.tellsOfLock(message) == false
                }
                #expect(unlock != nil)
            }
        }
    }

    @Test func `a lock that overtakes the unlocking before it is told last`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            try client.create(["k": "v"])
            try client.listenToAll()
            try client.lock()
            var told: [Bool] = []
            // The service learned of an unlocking that is no longer true.
            try world.look { await $0.believeUnlocked() }
            // Earlier messages of the service arrive before the answer to a later call.
            try client.call("DBus.Introspectable", "Introspect")
            while true {
                let next = try client.connection.next()
                if case .nothing = next { break }
                if case .message(let message) = next, let isLocked = try client.tellsOfLock(message) {
                    told.append(isLocked)
                }
            }
            #expect(told == [true, true])
        }
    }

    @Test func `a vault that is locked while the service meets its agent is locked`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let store = try world.store()
            world.house.whenFound { #expect(throws: Never.self) { try store.lock() } }
            let client = try world.client()
            try Patience.look { try client.unlock([BusClient.login]).prompt != "/" }
            #expect(try client.unlock([BusClient.login]).prompt != "/")
        }
    }

    @Test func `an item that is deleted as soon as a client has found it is reported`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            try client.listen(to: "Secret.Collection", "ItemDeleted")
            for number in 0..<20 {
                try world.keep(Item(.genericPassword(service: "mail", account: "\(number)"), secret: "secret"))
                try world.look { await $0.forgetViews() }
                let path = try #require(try client.search(["service": "mail"]).unlocked.first)
                try world.remove(Query(.genericPassword, service: "mail"))
                let deleted = try client.heard("Secret.Collection", "ItemDeleted", at: BusClient.login)
                #expect(try #require(deleted).path() == path)
            }
        }
    }

    // MARK: Excess

    @Test func `secrets that are too many for a message are refused, and the bus stays`() async throws {
        try await aside {
            let world = try ServiceWorld()
            for number in 0..<5 {
                try world.keep(
                    Item(
                        .genericPassword(service: "large", account: "\(number)"),
                        secret: Secret(try SecretBytes(zeroed: 15 << 20))))
            }
            let client = try world.client()
            let paths = try client.search(["service": "large"]).unlocked
            #expect(paths.count == 5)
            #expect(
                client.refusal { () throws(BusError) in _ = try client.secrets(paths) } == "DBus.Error.LimitsExceeded")
            #expect(try client.secrets([String](repeating: paths[0], count: 5)).count == 1)
            #expect(try client.secrets(Array(paths.prefix(3))).count == 3)
        }
    }

    @Test func `a client that searches without end keeps no other from its answer`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let (client, other) = (try world.client(), try world.client())
            let path = try client.create(["k": "v"])
            try client.lock()
            world.house.isAsked(to: .hesitates)
            for number in 0..<2000 {
                try client.send("Service", "SearchItems") { message throws(BusError) in
                    try message.append(.texts(["k": number.isMultiple(of: 2) ? "v" : "\(number)"]))
                }
            }
            world.house.hasBegun()
            #expect(try other.flag("Item", "Locked", at: path))
            #expect(try other.unlock([BusClient.login]).prompt != "/")
            try world.house.unlockNow()
            #expect(try client.answers(2000).allSatisfy { $0 == "aoao" })
            #expect(try client.search(["k": "v"]).unlocked == [path])
        }
    }

    @Test func `more objects than anybody unlocks are refused`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let paths = (0..<20_000).map { BusClient.root + "/collection/g\($0)" }
            #expect(
                client.refusal { () throws(BusError) in _ = try client.unlock(paths) } == "DBus.Error.LimitsExceeded")
            let long = BusClient.root + "/collection/" + String(repeating: "x", count: 5000)
            #expect(try client.unlock([long]).unlocked == [])
        }
    }

    @Test func `no item is made that the service takes for a collection`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            for name in ["service", "server", "xdg:schema"] {
                #expect(
                    client.refusal { () throws(BusError) in try client.create([name: CollectionRecord.service]) }
                        == "DBus.Error.InvalidArgs")
            }
            let path = try client.create([:], label: CollectionRecord.service)
            #expect(try client.text("Item", "Label", at: path) == CollectionRecord.service)
            #expect(try client.text("Collection", "Label", at: BusClient.login) == "Login")
        }
    }
}

extension SecretService {
    fileprivate func believeUnlocked() async { for view in views.all { await noteUnlocked(view).value } }

    /// Makes the next call look for the agent.
    fileprivate func forgetViews() { for view in views.all { drop(view) } }
}
