// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultBus
import VaultCrypto

@testable import VaultSecretService

/// A program that sends bytes that no library would.
private final class RawClient {
    private let process = Process()
    private let (input, output) = (Pipe(), Pipe())

    init(_ bus: PrivateBus, _ arguments: String...) throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "hostile.py").path()
        process.executableURL = URL(filePath: "/usr/bin/env")
        let socket = bus.directory.path.appending("bus").string
        process.arguments = ["--default-signal", "python3", script, socket] + arguments
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
    }

    /// Returns the program's final message.
    func outcome() throws -> String {
        var bytes: [UInt8] = []
        while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}

extension DoorWorld {
    private var directory: String { "/proc/\(doors.processIdentifier)/" }

    fileprivate var descriptorCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: directory + "fd").count) ?? 0
    }

    /// The resident memory in bytes, without swap.
    fileprivate var memory: Int {
        let status = (try? String(contentsOfFile: directory + "status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        return (Int(line.filter(\.isNumber)) ?? 0) << 10
    }
}

/// Malformed messages, too many messages, and an agent that disappears: the service continues.
@Suite(.enabled(if: PrivateBus.isThere)) struct HostileWireTests {
    @Test(arguments: [("large", "org.freedesktop.DBus.Error.LimitsExceeded"), ("longer", "cut"), ("text", "cut")])
    func `what no message may be reaches nobody else`(scenario: String, outcome: String) async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let path = try client.create(["k": "v"])
            let said = try RawClient(world.bus, scenario).outcome()
            #expect(said == outcome)
            #expect(try client.secret(path).text == "s3cret")
            #expect(try world.client().search(["k": "v"]).unlocked == [path])
        }
    }

    /// Every message may carry descriptors, which stay open until the answer.
    @Test(.enabled(if: getuid() == 0, "only root may count the descriptors of the doors"))
    func `searches of a locked vault that bring descriptors do not use them up`() async throws {
        try await aside {
            let world = try DoorWorld("of descriptors", pin: "read -r forever")
            let client = try world.client()
            let hostile = try RawClient(world.bus, "descriptors")
            #expect(try hostile.outcome() == "sent")
            Patience.look {
                world.descriptorCount >= 64 * 16
            } unless: {
                !world.doors.isRunning
            }
            #expect(world.descriptorCount >= 64 * 16)
            #expect(try client.flag("Collection", "Locked", at: BusClient.login))
            withExtendedLifetime(hostile) {}
        }
    }

    @Test(.enabled(if: getuid() == 0, "only root may look into the doors"))
    func `a client that reads no answer takes no memory of the doors, and keeps nobody waiting`() async throws {
        try await aside {
            let world = try DoorWorld("of silence")
            let client = try world.client()
            _ = try client.complete(try client.unlock([BusClient.login]).prompt)
            let path = try client.create(["k": "v"], String(repeating: "x", count: 100 << 10))
            let before = world.memory
            let hostile = try RawClient(world.bus, "silent", path)
            #expect(try hostile.outcome() == "sent")
            for _ in 0..<10 { #expect(try client.secret(path).text.utf8.count == 100 << 10) }
            #expect(before > 0 && world.memory - before < 32 << 20)
            withExtendedLifetime(hostile) {}
        }
    }

    @Test func `a hundred programs at once with sessions of both kinds read what is theirs`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let clients = try (0..<100).map { try world.program($0) }
            for (number, client) in clients.enumerated() { try client.create(["n": "\(number)"], "secret \(number)") }
            for client in clients {
                for algorithm in ["plain", ServiceSession.encryptedName, "rot13"] {
                    try client.send("Service", "OpenSession") { message throws(BusError) in
                        try message.append(algorithm)
                        if algorithm == "plain" {
                            try message.append(variantOf: "")
                        } else {
                            try message.append(variantOf: [UInt8](repeating: 2, count: 128).span)
                        }
                    }
                }
                try client.send("Service", "SearchItems") { message throws(BusError) in try message.append(.texts([:]))
                }
            }
            for client in clients { #expect(try client.answers(4).sorted() == ["aoao", "s", "vo", "vo"]) }
            for (number, client) in clients.enumerated() {
                let path = try #require(try client.search(["n": "\(number)"]).unlocked.first)
                #expect(try client.secret(path).text == "secret \(number)")
            }
        }
    }

    // MARK: The agent

    @Test func `an agent that is restarted between two calls is found again`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let path = try client.create(["k": "v"])
            for _ in 0..<3 {
                try world.restartAgent()
                #expect(
                    client.refusal { () throws(BusError) in _ = try client.secret(path) } == "Secret.Error.IsLocked")
                #expect(try client.flag("Item", "Locked", at: path))
                try world.house.unlockNow()
                #expect(try client.secret(path).text == "s3cret")
                #expect(try client.paths("Collection", "Items", at: BusClient.login) == [path])
            }
        }
    }

    @Test func `an agent that is restarted in the middle of calls leaves none without an answer`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            let path = try client.create(["k": "v"])
            let session = try client.plainSession()
            for _ in 0..<3 {
                for number in 0..<300 {
                    if number.isMultiple(of: 3) {
                        try client.send("Collection", "CreateItem", at: BusClient.login) { message throws(BusError) in
                            try message.append([
                                ("org.freedesktop.Secret.Item.Attributes", .texts(["number": "\(number)"]))
                            ])
                            try BusClient.append([1, 2, 3], session, "text/plain", to: message)
                            try message.append(true)
                        }
                    } else {
                        try client.send("Item", "GetSecret", at: path) { message throws(BusError) in
                            try message.append(path: session)
                        }
                    }
                }
                try world.restartAgent()
                #expect(try client.answers(300).count == 300)
                try world.house.unlockNow()
                #expect(try client.secret(path).text == "s3cret")
            }
        }
    }

    /// Returns the service's two connections to the agent.
    private func connections(_ world: ServiceWorld, _ client: BusClient) throws -> [Int32] {
        var (found, said): ([Int32], String) = ([], "")
        let end = Patience.end
        while found.count != 2, .now < end {
            // A call that needs the agent reconnects.
            said = client.refusal { () throws(BusError) in _ = try client.search(["k": "v"]) }
            found = try AcceptedConnections(world.house.address).descriptors
        }
        try #require(found.count == 2, "\(said)")
        return found
    }

    /// The agent lives and a connection to it breaks: the connection of the calls or that of the notices.
    @Test func `a connection to the agent that breaks leaves no list as it was`() async throws {
        try await aside {
            let world = try ServiceWorld()
            let client = try world.client()
            var paths = Set([try client.create(["k": "v"])])
            for turn in 0..<6 {
                #expect(try Set(client.paths("Collection", "Items", at: BusClient.login)) == paths)
                let accepted = try connections(world, client)
                shutdown(accepted[turn % 2], Int32(SHUT_RDWR))
                let item = Item(.genericPassword(service: "past", account: "\(turn)"), secret: "s3cret")
                try world.keep(item)
                let end = Patience.end
                var seen: Set<String> = []
                while seen.count != paths.count + 1, .now < end {
                    seen = (try? Set(client.paths("Collection", "Items", at: BusClient.login))) ?? []
                }
                #expect(seen.isStrictSuperset(of: paths), "\(turn)")
                paths = seen
            }
        }
    }
}

/// The accepted ends of connections to a socket, in this process, which runs the agent.
private struct AcceptedConnections {
    let descriptors: [Int32]

    init(_ path: FilePath) throws {
        var sockets: Set<String> = []
        let table = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/net/unix")).readToEnd() ?? Data()
        for line in String(decoding: table, as: UTF8.self).split(separator: "\n") {
            let fields = line.split(separator: " ")
            // Connected, and bound to the path.
            if fields.count == 8, fields[5] == "03", fields[7] == path.string {
                sockets.insert("socket:[\(fields[6])]")
            }
        }
        descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
            return target.map(sockets.contains) == true ? Int32(name) : nil
        }.sorted()
    }
}
