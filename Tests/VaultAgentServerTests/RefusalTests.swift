// SPDX-License-Identifier: Apache-2.0
import CLinux
import Foundation
import Glibc
import SystemPackage
import TestSupport
import Testing
import Vault

@testable import VaultAgent
@testable import VaultAgentServer

/// Misbehaving clients: the agent refuses each and continues to serve the others.
struct RefusalTests {
    private static func isServing(_ agent: TestAgent) throws -> Bool { try agent.client().status().version == "test" }

    @Test(arguments: [
        [UInt8](repeating: 0xff, count: 16), Array("GET / HTTP/1.1\r\n\r\n".utf8),
        [0, 0, 0, 0, 0, 0, 0, 0, Frame.version - 1, 1, 0, 0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, Frame.version + 1, 1, 0, 0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, Frame.version, 99, 0, 0, 1, 0, 0, 0],
    ]) func `garbage, a length of 4 GiB, another version or an unknown request end the connection`(bytes: [UInt8])
        throws
    {
        let agent = try TestAgent()
        let connection = try agent.connection()
        connection.send(bytes)
        guard try connection.failure() == .agent(.protocolViolation) else {
            Issue.record("no refusal")
            return
        }
        #expect(connection.isClosed)
        #expect(try Self.isServing(agent))
    }

    @Test func `nothing is answered before the client has said which vault it wants`() throws {
        let agent = try TestAgent()
        let connection = try agent.connection()
        connection.send(StatusRequest())
        guard try connection.failure() == .agent(.protocolViolation) else {
            Issue.record("no refusal")
            return
        }
        #expect(throws: VaultError.agent(.otherVault)) {
            try AgentClient(at: agent.address, vault: "/another.vault", accessGroups: nil)
        }
    }

    @Test func `any number of requests at once are answered one after the other`() throws {
        let agent = try TestAgent()
        let connection = try agent.connection()
        _ = try connection.greet()
        let one = StatusRequest().frame(9).open
        let all = Array((0..<5000).map { _ in one }.joined())
        let sender = Thread { connection.send(all) }
        sender.start()
        for _ in 0..<5000 {
            guard try connection.reply() is StatusReply else {
                Issue.record("no answer")
                return
            }
        }
        #expect(try Self.isServing(agent))
    }

    @Test func `a thousand connections of a process take no more than the places, its oldest ending first`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        try client.add(.generic("s"))
        var connections: [RawConnection] = []
        for _ in 0..<1000 {
            let connection = try agent.connection()
            #expect(try connection.greet() is StatusReply)
            connections.append(connection)
        }
        #expect(try client.copyMatching(Query(.genericPassword)).count == 1)
        #expect(try client.status().clients <= UInt32(AgentServer.mostClients))
        #expect(connections[0].isClosed)
        connections[999].send(StatusRequest(), 2)
        #expect(try connections[999].reply() is StatusReply)
    }

    @Test func `a program that keeps using every place keeps no other program out`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        try client.add(.generic("s"))
        let hello = HelloRequest(Greeting(vault: "", groups: nil, purpose: .reveal)).frame(1).open
        func hexadecimal(_ bytes: [UInt8]) -> String {
            bytes.map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()
        }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/perl")
        process.arguments = [
            "-MIO::Socket::UNIX", "-e",
            """
            $SIG{PIPE} = 'IGNORE'; $| = 1; my ($hello, $use) = map { pack 'H*', $_ } @ARGV[1, 2]; my @all;
            sub answer { my $s = shift; my ($head, $body) = ('', ''); \
            while (length $head < 16) { $s->sysread($head, 16 - length $head, length $head) or return 0 } \
            my $n = unpack 'V', $head; while (length $body < $n) { $s->sysread($body, $n - length $body, length $body) \
            or return 0 } return 1 }
            sub one { my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or return; $s->syswrite($hello); answer($s); $s }
            @all = map { one() } 1..64;
            for (my $round = 0; ; $round++) { print 'ready' if $round == 1;
            for (@all) { $_ && $_->syswrite($use) && answer($_) or $_ = one() } }
            """,
            agent.address.string, hexadecimal(hello), hexadecimal(TurnRequest().frame(2).open),
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        // The thread that starts a process may block other signals, and the process inherits the mask.
        defer { kill(process.processIdentifier, SIGKILL) }
        #expect(try output.fileHandleForReading.read(upToCount: 5) == Data("ready".utf8))
        for _ in 0..<20 { #expect(try agent.client().copyMatching(Query(.genericPassword)).count == 1) }
        #expect(try client.copyMatching(Query(.genericPassword)).count == 1)
    }

    @Test func `a client that asks for much and reads nothing keeps nobody waiting`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        try client.add(Item(.genericPassword(service: "large"), secret: Secret(SecretBytes(random: 8 << 20))))
        var query = Query(.genericPassword)
        query.returnsSecrets = true
        let deaf = try (0..<4).map { _ in try agent.connection() }
        for connection in deaf {
            connection.send(HelloRequest(Greeting(vault: "", groups: nil, purpose: .reveal)))
            for number in 2...4 { connection.send(CopyMatchingRequest(query), UInt32(number)) }
        }
        for _ in 0..<20 { #expect(try client.copyMatching(Query(.genericPassword)).count == 1) }
        #expect(deaf.count == 4)
    }

    @Test func `a half message is waited for without keeping others waiting`() throws {
        let agent = try TestAgent()
        let slow = try agent.connection()
        slow.send(Array(HelloRequest(Greeting(vault: "", groups: nil, purpose: .reveal)).frame(1).open.prefix(7)))
        #expect(try Self.isServing(agent))
        slow.send(Array(HelloRequest(Greeting(vault: "", groups: nil, purpose: .reveal)).frame(1).open.dropFirst(7)))
        guard try slow.reply() is StatusReply else {
            Issue.record("no answer")
            return
        }
        slow.send([1, 2, 3])
        // The rest does not arrive within the timeout of five seconds.
        #expect(slow.isClosed)
    }

    @Test func `sixty-four that send one byte each keep nobody from being served`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        try client.add(.generic("s"))
        var slow: [RawConnection] = []
        for round in 0..<20 {
            // New connections keep arriving, so the agent never has a free place.
            for _ in 0..<(round == 0 ? AgentServer.mostClients : 8) {
                let connection = try agent.connection()
                connection.send([1])
                slow.append(connection)
            }
            #expect(try agent.client().copyMatching(Query(.genericPassword)).count == 1)
            #expect(try client.copyMatching(Query(.genericPassword)).count == 1)
        }
        #expect(slow.count > 200)
    }

    @Test func `whoever may do nothing takes nobody's place, however often it asks for the state`() throws {
        let agent = try TestAgent { settings in
            let path = settings.vault.removingLastComponent().appending("policy.json")
            let rules = "{\"rules\": [{\"executable\": \"/usr/bin/perl\", \"access\": \"none\"}]}"
            try Data(rules.utf8).write(to: URL(filePath: path.string))
            settings.policy = path
        }
        let client = try agent.unlocked()
        try client.add(.generic("s"))
        let hello = HelloRequest(Greeting(vault: "", groups: nil, purpose: .reveal)).frame(1).open
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/perl")
        process.arguments = [
            "-MIO::Socket::UNIX", "-e",
            """
            $SIG{PIPE} = 'IGNORE'; $| = 1; my @all; for (1..200) { my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or \
            next; 
            """
                + "$s->syswrite(pack('H*', $ARGV[1])); push @all, $s } print 'ready'; sleep 60",
            agent.address.string, hello.map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined(),
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        defer { process.terminate() }
        #expect(try output.fileHandleForReading.read(upToCount: 5) == Data("ready".utf8))
        for _ in 0..<20 { #expect(try agent.client().copyMatching(Query(.genericPassword)).count == 1) }
        #expect(try client.copyMatching(Query(.genericPassword)).count == 1)
    }

    @Test func `a flood of greetings that wait for their answers turns nobody away`() throws {
        let agent = try TestAgent()
        let address = agent.directory.path.appending("flood").appending("agent.sock")
        let socket = try AgentSocket.make(address)
        let connections = try Connections(of: agent.server, on: socket.descriptor)
        connections.start()
        defer { connections.end() }
        let hello = HelloRequest(Greeting(vault: "", groups: nil, purpose: .reveal))
        let flood = try (0..<AgentServer.mostClients).map { _ in try RawConnection(address) }
        // The agent reads all greetings and accepts the next client in one turn of the loop, before any answer.
        let (held, letGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let client = try agent.client()
        while try client.status().clients <= flood.count {}
        connections.execute { _ in
            held.signal()
            letGo.wait()
        }
        held.wait()
        for connection in flood { connection.send(hello) }
        let next = try RawConnection(address)
        next.send(hello)
        letGo.signal()
        #expect(try next.reply() is StatusReply)
        #expect(try flood.count { try $0.reply() is StatusReply } == flood.count - 1)
    }

    @Test func `a store that is not finished ends with the lock, and with patience`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        for ends in [true, false] {
            let connection = try agent.connection()
            _ = try connection.greet(["default"])
            connection.send(StoreRequest([try .generic("part")], replacing: true, isLast: false), 2)
            // The agent takes up a later request only after this connection's earlier bytes.
            while agent.server.staged == 0 { _ = try client.status() }
            if ends {
                try client.lock()
                while agent.server.staged > 0 { _ = try client.status() }
                connection.send(StoreRequest([try .generic("last")], replacing: true, isLast: true), 3)
                guard try connection.failure() == .locked else {
                    Issue.record("stored half of it")
                    return
                }
                try client.unlock(with: .passphrase(agent.passphrase))
                #expect(try !client.contains("last") && !client.contains("part"))
            } else {
                // The next part does not arrive within the timeout of five seconds.
                #expect(connection.isClosed)
                while agent.server.staged > 0 { _ = try client.status() }
            }
        }
    }

    @Test func `all unfinished stores together hold no more than one may`() throws {
        let agent = try TestAgent { $0.mostStaged = 5 << 20 }
        _ = try agent.unlocked()
        let large = try Secret(SecretBytes(zeroed: 1 << 20))
        var refused = 0
        let connections = try (0..<3).map { _ in try agent.connection() }
        for connection in connections {
            _ = try connection.greet(["default"])
            for number in 0..<2 {
                let item = Item(.genericPassword(service: "\(number)"), secret: large)
                connection.send(StoreRequest([item], replacing: true, isLast: false))
            }
        }
        while agent.server.staged < 4 << 20 { _ = try agent.client().status() }
        for connection in connections.reversed() {
            connection.send(StoreRequest([], replacing: true, isLast: true))
            if try connection.failure() == .agent(.busy) { refused += 1 }
        }
        #expect(refused == 1)
        #expect(agent.server.staged == 0)
    }

    @Test(.enabled(if: getuid() == 0))
    func `another user is disconnected without an answer, whatever the mode of the socket`() throws {
        let agent = try TestAgent()
        let directory = agent.address.removingLastComponent().string
        for path in [agent.directory.path.string, directory, agent.address.string] { #expect(chmod(path, 0o777) == 0) }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/setpriv")
        process.arguments = [
            "--reuid=65534", "--clear-groups", "/usr/bin/perl", "-MIO::Socket::UNIX", "-e",
            """
            my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or exit 2; alarm 20; exit($s->sysread(my $answer, 1) ? 1 : \
            0)
            """,
            agent.address.string,
        ]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(try Self.isServing(agent))
    }

    @Test(.enabled(if: getuid() == 0)) func `a client does not speak to an agent of another user`() throws {
        let directory = try TemporaryDirectory()
        let address = directory.path.appending("sock")
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/setpriv")
        process.arguments = [
            "--reuid=65534", "--clear-groups", "/usr/bin/perl", "-MIO::Socket::UNIX", "-e",
            """
            my $s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1) or exit 2; $| = 1; print 1; alarm 20; \
            $s->accept->sysread(my $said, 1)
            """,
            address.string,
        ]
        let output = Pipe()
        process.standardOutput = output
        #expect(chmod(directory.path.string, 0o777) == 0)
        try process.run()
        _ = output.fileHandleForReading.readData(ofLength: 1)
        #expect(throws: VaultError.agent(.refused)) { try AgentClient(at: address, vault: nil, accessGroups: nil) }
        process.terminate()
        process.waitUntilExit()
    }

    @Test func `two agents, a foreign file and an open directory are refused, and a stale socket is replaced`() throws {
        let agent = try TestAgent()
        #expect(throws: AgentSocketError.running) { _ = try AgentSocket.make(agent.address) }
        let directory = try TemporaryDirectory()
        let place = directory.path.appending("d")
        let address = place.appending("sock")
        do {
            // A stale socket, as a killed agent leaves it.
            #expect(mkdir(place.string, 0o700) == 0)
            let stale = clinux_bind_unix(address.string)
            #expect(stale >= 0)
            close(Int32(stale))
            let socket = try AgentSocket.make(address)
            #expect(socket.descriptor >= 0)
        }
        #expect(access(address.string, F_OK) != 0)
        do {
            // The directory is removed at logout.
            let socket = try AgentSocket.make(address)
            #expect(socket.location.isTaken)
            #expect(unlink(address.string) == 0)
            #expect(!socket.location.isTaken)
            try Data().write(to: URL(filePath: address.string))
            #expect(!socket.location.isTaken)
        }
        // A file that another program created at the address stays.
        #expect(unlink(address.string) == 0)
        try Data().write(to: URL(filePath: address.string))
        #expect(throws: AgentSocketError.inTheWay(address)) { _ = try AgentSocket.make(address) }
        #expect(access(address.string, F_OK) == 0)
        #expect(unlink(address.string) == 0)
        #expect(chmod(place.string, 0o755) == 0)
        #expect(throws: AgentSocketError.directory(place)) { _ = try AgentSocket.make(address) }
        #expect(throws: AgentSocketError.system(.fileNameTooLong)) {
            #expect(chmod(place.string, 0o700) == 0)
            _ = try AgentSocket.make(place.appending(String(repeating: "s", count: 120)))
        }
    }
}

extension AgentClient {
    fileprivate func contains(_ service: String) throws -> Bool {
        var query = Query(.genericPassword, service: service)
        query.leavesOutLocked = true
        do throws(VaultError) { return try !copyMatching(query).isEmpty } catch {
            guard error == .itemNotFound else { throw error }
            return false
        }
    }
}
