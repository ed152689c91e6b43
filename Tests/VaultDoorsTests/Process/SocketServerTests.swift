// SPDX-License-Identifier: Apache-2.0
import CLinux
import Foundation
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultDoorKit
import VaultLoop

/// A server whose clients wait at a gate while they are served.
private final class ServerWorld: Sendable {
    /// What happened to the clients, in order.
    private let events = Mutex<[String]>([])
    private let happened = DispatchSemaphore(value: 0)
    private let directory: TemporaryDirectory
    private let server: Mutex<SocketServer?>
    let gate = DispatchSemaphore(value: 0)

    private struct Client: SocketClient {
        let world: ServerWorld
        let descriptor: Int32

        func serve() -> Bool {
            var byte: UInt8 = 0
            guard recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) == 1 else {
                world.note("gone")
                return false
            }
            world.note("serves \(Unicode.Scalar(byte))")
            if byte == UInt8(ascii: "w") { world.gate.wait() }
            return send(descriptor, &byte, 1, Int32(MSG_NOSIGNAL)) == 1
        }

        func hangUp() { world.note("hangs up") }
    }

    init(
        _ places: Places = Places(most: 8, .ofMachine), refusesMore: Bool = true,
        chore: @escaping @Sendable () -> ContinuousClock.Instant? = { nil }
    ) throws {
        directory = try TemporaryDirectory()
        server = Mutex(nil)
        let bound = clinux_bind_unix(directory.path.appending("sock").string)
        try #require(bound >= 0)
        let rules = SocketServer.Rules(
            servesAtOnce: false, places, refusesMore: refusesMore, sendingPatience: 5)
        let made = SocketServer(Int32(bound), rules, chore: chore) { [unowned self] in
            Client(world: self, descriptor: $0.descriptor)
        }
        try #require(made != nil)
        server.withLock { $0 = made }
    }

    func end() { server.withLock { $0.take() }?.end() }

    var path: String { directory.path.appending("sock").string }

    func connect() throws(Errno) -> Int32 {
        let client = clinux_connect_unix(path, 5)
        guard client >= 0 else { throw Errno(rawValue: CInt(-client)) }
        return Int32(client)
    }

    private func note(_ event: String) {
        events.withLock { $0.append(event) }
        happened.signal()
    }

    func wait(for event: String) {
        while !events.withLock({ $0.contains(event) }) {
            guard happened.wait(timeout: .now() + 60) == .success else {
                Issue.record("no event: \(event)")
                return
            }
        }
    }

    /// Waits for a number of further events, and returns all.
    func next(_ count: Int) -> [String] {
        for _ in 0..<count { #expect(happened.wait(timeout: .now() + 60) == .success) }
        return events.withLock(\.self)
    }
}

/// Sends a byte and returns the answer; `nil` if the server has closed the connection.
private func exchange(_ client: Int32, _ byte: Unicode.Scalar) -> Unicode.Scalar? {
    var sent = UInt8(ascii: byte)
    _ = send(client, &sent, 1, Int32(MSG_NOSIGNAL))
    return answer(client)
}

private func answer(_ client: Int32) -> Unicode.Scalar? {
    var byte: UInt8 = 0
    return recv(client, &byte, 1, 0) == 1 ? Unicode.Scalar(byte) : nil
}

struct SocketServerTests {
    @Test func `a client that is waited for blocks no other`() throws {
        let world = try ServerWorld()
        let (slow, quick) = (try world.connect(), try world.connect())
        send(slow, "w", 1, 0)
        #expect(world.next(1) == ["serves w"])
        #expect(exchange(quick, "q") == "q")
        #expect(exchange(quick, "r") == "r")
        world.gate.signal()
        #expect(answer(slow) == "w")
        for client in [slow, quick] { close(client) }
        world.end()
    }

    @Test func `a client beyond its process's share takes the place of the oldest idle one`() throws {
        let world = try ServerWorld(Places(most: 2, share: 1, .ofMachine))
        let clients = [try world.connect(), try world.connect()]
        for client in clients { #expect(exchange(client, "a") == "a") }
        let third = try world.connect()
        #expect(exchange(third, "c") == "c")
        #expect(answer(clients[0]) == nil)
        #expect(exchange(clients[1], "b") == "b")
        for client in clients + [third] { close(client) }
        world.end()
    }

    @Test func `a client beyond the maximum is disconnected where every other is served`() throws {
        let world = try ServerWorld(Places(most: 1, .ofMachine))
        let first = try world.connect()
        send(first, "w", 1, 0)
        world.wait(for: "serves w")
        let second = try world.connect()
        #expect(answer(second) == nil)
        world.gate.signal()
        #expect(answer(first) == "w")
        for client in [first, second] { close(client) }
        world.end()
    }

    @Test func `a client beyond the maximum waits where the rules say so`() throws {
        let world = try ServerWorld(Places(most: 1, share: 2, .ofMachine), refusesMore: false)
        let first = try world.connect()
        send(first, "w", 1, 0)
        world.wait(for: "serves w")
        let second = try world.connect()
        send(second, "b", 1, 0)
        world.gate.signal()
        #expect(answer(first) == "w")
        #expect(answer(second) == "b")
        // The first client has had its answer, and gives way.
        #expect(answer(first) == nil)
        for client in [first, second] { close(client) }
        world.end()
    }

    @Test func `a silent process keeps no other process out, with any number of connections`() throws {
        let world = try ServerWorld(Places(most: 40, .ofMachine))
        let silent = try (0..<60).map { _ in try world.connect() }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/perl")
        process.arguments = [
            "-MIO::Socket::UNIX", "-e",
            """
            for (1..8) { my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or exit 2; $s->syswrite('o'); \
            $s->sysread(my $answer, 1) or exit 3 }
            """,
            world.path,
        ]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        for client in silent { close(client) }
        world.end()
    }

    @Test func `a process beyond its share loses even a client that is served`() throws {
        let world = try ServerWorld(Places(most: 2, share: 1, .ofMachine))
        let busy = [try world.connect(), try world.connect()]
        // One after the other: the newest of both gives way.
        for client in busy {
            send(client, "w", 1, 0)
            _ = world.next(1)
        }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/perl")
        process.arguments = [
            "-MIO::Socket::UNIX", "-e",
            """
            my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or exit 2; $s->syswrite('o'); \
            exit($s->sysread(my $answer, 1) ? 0 : 3)
            """,
            world.path,
        ]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        world.wait(for: "hangs up")
        #expect(answer(busy[1]) == nil)
        for _ in busy { world.gate.signal() }
        #expect(answer(busy[0]) == "w")
        for client in busy { close(client) }
        world.end()
    }

    @Test func `a client that disconnects while it is served is told of once`() throws {
        let world = try ServerWorld()
        let client = try world.connect()
        send(client, "w", 1, 0)
        world.wait(for: "serves w")
        close(client)
        world.wait(for: "hangs up")
        let other = try world.connect()
        #expect(exchange(other, "o") == "o")
        world.gate.signal()
        #expect(exchange(other, "p") == "p")
        #expect(world.next(0).filter { $0 == "hangs up" } == ["hangs up"])
        close(other)
        world.end()
    }

    @Test func `a client that has sent more, and disconnects while it is served, is read to its end`() throws {
        let world = try ServerWorld(Places(most: 1, .ofMachine))
        let client = try world.connect()
        send(client, "wx", 2, 0)
        shutdown(client, Int32(SHUT_WR))
        world.wait(for: "hangs up")
        world.gate.signal()
        #expect(answer(client) == "w")
        #expect(answer(client) == "x")
        #expect(answer(client) == nil)
        world.wait(for: "gone")
        close(client)
        world.end()
    }

    @Test func `the end disconnects idle clients, and tells the others`() throws {
        let world = try ServerWorld()
        let (idle, busy) = (try world.connect(), try world.connect())
        #expect(exchange(idle, "i") == "i")
        send(busy, "w", 1, 0)
        #expect(world.next(2) == ["serves i", "serves w"])
        world.end()
        #expect(answer(idle) == nil)
        #expect(world.next(1).last == "hangs up")
        world.gate.signal()
        // The answer is still sent, and then the connection is closed.
        #expect(answer(busy) == "w")
        #expect(answer(busy) == nil)
        #expect(throws: Errno.connectionRefused) { try world.connect() }
        for client in [idle, busy] { close(client) }
    }

    @Test func `the chore comes at its time, without a client`() throws {
        let (came, start) = (DispatchSemaphore(value: 0), ContinuousClock.now)
        let world = try ServerWorld {
            if .now - start < .milliseconds(50) { return start + .milliseconds(50) }
            came.signal()
            return nil
        }
        #expect(came.wait(timeout: .now() + 60) == .success)
        world.end()
    }

    @Test func `a descriptor that cannot listen is closed`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let rules = SocketServer.Rules(
            servesAtOnce: true, Places(most: 1, .ofMachine), refusesMore: true, sendingPatience: 1)
        #expect(SocketServer(ends[1], rules) { _ in nil } == nil)
        // The only writing end has been closed.
        var byte: UInt8 = 0
        #expect(read(ends[0], &byte, 1) == 0)
        close(ends[0])
    }
}
