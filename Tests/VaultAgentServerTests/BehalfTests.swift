// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import TestSupport
import Testing
import Vault

@testable import VaultAgent
@testable import VaultAgentServer

/// A door speaks for other processes: each gets the intersection of both rights, and only while the process exists.
struct BehalfTests {
    /// Starts an agent with rules for the process behind the door and for the test, which is the door.
    private static func agent(behind: String? = nil, door: String? = nil) throws -> TestAgent {
        try TestAgent { settings in
            let path = settings.vault.removingLastComponent().appending("policy.json")
            try Data(rules(behind: behind, door: door).utf8).write(to: URL(filePath: path.string))
            settings.policy = path
            settings.auditDirectory = settings.vault.removingLastComponent().appending("log")
        }
    }

    /// Returns the rules. The process behind the door descends from the test, so its own rule must come first.
    private static func rules(behind: String?, door: String?) throws -> String {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let rules = [
            behind.map { "{\"executable\": \"\(OtherProcess.program)\", \($0)}" },
            door.map { "{\"executable\": \"\(own)\", \($0)}" },
        ]
        return "{\"rules\": [\(rules.compactMap(\.self).joined(separator: ", "))]}"
    }

    private static func log(_ agent: TestAgent) throws -> [Substring] {
        let directory = agent.directory.path.appending("log").string
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".audit") })
        return try String(contentsOfFile: directory + "/" + name, encoding: .utf8).split(separator: "\n")
    }

    private static func isRefused(_ behalf: Behalf, by agent: TestAgent) -> Bool {
        do throws(VaultError) {
            _ = try AgentClient(at: agent.address, vault: nil, accessGroups: ["*"], behalf: behalf)
            return false
        } catch { return error == .agent(.refused) }
    }

    // MARK: Refusals

    @Test func `nobody speaks for a process that is gone, that is another by now, or that nobody waits for`() throws {
        let agent = try TestAgent()
        let other = try OtherProcess()
        let behalf = try other.behalf
        for start in [0, behalf.startTime - 1, behalf.startTime + 1, .max] {
            #expect(
                Self.isRefused(try #require(Behalf(process: other.id, startTime: start, sandbox: nil)), by: agent),
                "\(start)")
        }
        #expect(!Self.isRefused(behalf, by: agent))
        other.end()
        #expect(Self.isRefused(behalf, by: agent))
        #expect(
            Self.isRefused(try #require(Behalf(process: .max, startTime: behalf.startTime, sandbox: nil)), by: agent))
        // The kernel keeps the id and the start time of a child until its parent waits for the child.
        let parent = try OtherProcess(
            """
            my $child = fork; exit 0 if !$child; my $state = ''; \
            while ($state !~ /\\) Z/) { open my $file, '<', "/proc/$child/stat"; $state = <$file> } print $child
            """)
        #expect(Self.isRefused(try OtherProcess.behalf(of: try #require(Int32(parent.said))), by: agent))
        for id in [0, -1] as [Int32] { #expect(Behalf(process: id, startTime: 1, sandbox: nil) == nil) }
        #expect(try agent.client().status().clients == 1)
    }

    @Test(.enabled(if: getuid() == 0), arguments: ["$< = $> = 65534", "$> = 65534"])
    func `nobody speaks for a process of another user`(_ becomes: String) throws {
        let agent = try TestAgent()
        let other = try OtherProcess(becomes)
        #expect(Self.isRefused(try other.behalf, by: agent))
    }

    @Test(arguments: [0, 0x8000_0000, 0xffff_ffff] as [UInt32])
    func `a greeting for what is no process ends the connection`(_ process: UInt32) throws {
        let agent = try TestAgent()
        let hello = BehalfHelloRequest(
            greeting: Greeting(vault: "", groups: nil, purpose: .reveal),
            behalf: try #require(Behalf(process: 1, startTime: 2, sandbox: nil)))
        var bytes = hello.frame(1).open
        let place = bytes.count - 12
        bytes.replaceSubrange(place..<place + 4, with: (0..<4).map { UInt8(truncatingIfNeeded: process >> (8 * $0)) })
        let connection = try agent.connection()
        connection.send(bytes)
        let failure = try connection.failure()
        #expect(failure == .agent(.protocolViolation) && connection.isClosed)
    }

    @Test func `a second greeting changes nobody's mind: it ends the connection`() throws {
        let agent = try TestAgent()
        let other = try OtherProcess()
        let hello = BehalfHelloRequest(
            greeting: Greeting(vault: "", groups: nil, purpose: .reveal), behalf: try other.behalf)
        for isFirst in [true, false] {
            let connection = try agent.connection()
            if isFirst {
                connection.send(hello)
                #expect(try connection.reply() is StatusReply)
            } else {
                #expect(try connection.greet() is StatusReply)
            }
            connection.send(hello, 2)
            let failure = try connection.failure()
            #expect(failure == .agent(.protocolViolation) && connection.isClosed)
        }
    }

    @Test func `when the process has ended, its connection is refused the next request, whatever that is`() throws {
        let agent = try TestAgent()
        try agent.unlocked().add(.generic("s"))
        let requests: [any AgentRequest] = [
            StatusRequest(), CopyMatchingRequest(Query(.genericPassword)), LockRequest(), TurnRequest(),
            StoreRequest([try .generic("t")], replacing: true, isLast: false), WatchRequest(query: nil, sequence: nil),
        ]
        for request in requests {
            let other = try OtherProcess()
            let connection = try agent.connection()
            connection.send(
                BehalfHelloRequest(
                    greeting: Greeting(vault: "", groups: nil, purpose: .reveal), behalf: try other.behalf))
            #expect(try connection.reply() is StatusReply)
            other.end()
            connection.send(request, 2)
            let failure = try connection.failure()
            #expect(failure == .agent(.refused) && connection.isClosed, "\(request)")
        }
        #expect(try agent.client().copyMatching(Query(.genericPassword)).count == 1)
    }

    @Test func `a client that speaks for a process that has ended is refused for good, and hears no more changes`()
        async throws
    {
        let agent = try TestAgent()
        let writer = try agent.unlocked()
        let other = try OtherProcess()
        let client = try agent.client(behalf: other.behalf)
        var changes = client.changes(matching: nil, from: nil).makeAsyncIterator()
        try await writer.add(.generic("before"))
        #expect(await changes.next()?.kind == .added)
        other.end()
        try await writer.add(.generic("after"))
        #expect(await changes.next()?.kind == .failed(.agent(.refused)))
        for _ in 0..<2 { #expect(throws: VaultError.agent(.refused)) { try client.status() } }
        var again = client.changes(matching: nil, from: nil).makeAsyncIterator()
        #expect(await again.next()?.kind == .failed(.agent(.refused)))
    }

    // MARK: Rights

    @Test func `of two rights the lesser access and the common groups are left, in either order`() {
        let accesses: [AgentStatus.Access] = [.none, .injectOnly, .full]
        let groups: [AccessGroups?] = [nil, ["*"], ["a", "b"], ["b", "c"], ["c"], ["default", "*"], []]
        let all = accesses.flatMap { access in groups.map { Rights(access: access, groups: $0) } }
        func rank(_ access: AgentStatus.Access) -> Int { access == .none ? 0 : access == .injectOnly ? 1 : 2 }
        func allows(_ rights: Rights, _ group: String) -> Bool {
            rights.groups.map { $0.list.contains(group) || $0.list.contains("*") } ?? true
        }
        for (one, other) in all.flatMap({ one in all.map { (one, $0) } }) {
            let both = one.limited(to: other)
            #expect(rank(both.access) == min(rank(one.access), rank(other.access)))
            for group in ["a", "b", "c", "default", "x"] {
                #expect(allows(both, group) == (allows(one, group) && allows(other, group)), "\(one) \(other) \(group)")
            }
            // A confined client stays confined, even if to all groups.
            #expect((both.groups == nil) == (one.groups == nil && other.groups == nil))
            #expect(other.limited(to: one).access == both.access)
        }
    }

    @Test(
        arguments: [
            (nil, nil, .full, nil), ("\"access\": \"inject-only\"", "\"access\": \"full\"", .injectOnly, nil),
            ("\"access\": \"none\"", "\"access\": \"inject-only\"", .none, nil),
            ("\"access\": \"inject-only\"", "\"access\": \"inject-only\"", .injectOnly, nil),
            ("\"groups\": [\"a\"]", "\"access\": \"inject-only\"", .injectOnly, ["a"]),
            ("\"groups\": [\"b\", \"a\"]", "\"groups\": [\"a\", \"b\"]", .full, ["a", "b"]),
            ("\"groups\": [\"a\", \"b\"]", "\"groups\": [\"b\", \"c\"]", .full, ["b"]),
            ("\"groups\": [\"a\"]", "\"groups\": [\"*\"]", .full, ["a"]),
            ("\"groups\": [\"a\"]", "\"groups\": [\"b\"]", .full, []),
        ] as [(String?, String?, AgentStatus.Access, [String]?)])
    func `a door narrows what a process may, and a process what its door may`(
        one: String?, other: String?, access: AgentStatus.Access, groups: [String]?
    ) throws {
        let process = try OtherProcess()
        for (behind, door) in [(one, other), (other, one)] {
            let agent = try Self.agent(behind: behind, door: door)
            let vault = try agent.opened().withAccessGroups(["*"])
            for group in ["a", "b", "c"] {
                try vault.add(Item(.genericPassword(service: group), attributes: [.accessGroup: .string(group)]))
            }
            let client = try agent.client(["*"], behalf: process.behalf)
            let status = client.greeting
            #expect(status.access == access && status.groups?.sorted() == groups)
            #expect(status.hasRules == (one != nil || other != nil))
            guard access != .none else {
                #expect(throws: VaultError.agent(.refused)) {
                    try client.unlock(with: .passphrase(agent.passphrase))
                }
                continue
            }
            try client.unlock(with: .passphrase(agent.passphrase))
            guard groups != [] else {
                #expect(throws: VaultError.accessGroupDenied) { try client.copyMatching(Query(.genericPassword)) }
                continue
            }
            let found = try client.copyMatching(Query(.genericPassword))
            #expect(Set(found.map { $0[.accessGroup] }) == Set((groups ?? ["a", "b", "c"]).map { .string($0) }))
        }
    }

    @Test func `where a door names no groups they are those that the agent has for the process, in its rule's order`()
        throws
    {
        let process = try OtherProcess()
        let agent = try Self.agent(behind: "\"groups\": [\"b\", \"a\"]", door: "\"groups\": [\"a\", \"b\", \"c\"]")
        let client = try agent.client(nil, behalf: process.behalf)
        try client.unlock(with: .passphrase(agent.passphrase))
        #expect(client.greeting.groups == ["b", "a"])
        #expect(try client.add(.generic("s"))[.accessGroup] == "b")
        #expect(try TestAgent().unlocked(nil).greeting.groups == nil)
    }

    @Test func `new rules count, and a connection made anew still speaks for the process`() async throws {
        let agent = try Self.agent()
        let process = try OtherProcess()
        let (client, own) = (try agent.client(behalf: process.behalf), try agent.unlocked())
        #expect(try client.status().access == .full && !client.status().hasRules)
        let rules = try Self.rules(behind: "\"groups\": [\"app\"]", door: nil)
        try agent.directory.write(Array(rules.utf8), to: "policy.json")
        try own.lock()
        try own.unlock(with: .passphrase(agent.passphrase))
        let status = try client.status()
        #expect(status.groups == ["app"] && status.hasRules)
        #expect(try own.status().groups == nil)
        // A watch uses another connection.
        let named = try agent.client(["*"], behalf: process.behalf)
        var changes = named.changes(matching: Query(.genericPassword), from: nil).makeAsyncIterator()
        try await own.add(.generic("unseen"))
        let seen = try await agent.client(["app"]).add(.generic("seen"))
        #expect(await changes.next()?.id == seen.record?.id)
    }

    @Test func `a name with any bytes in it hides neither the start nor the parents of a process`() throws {
        let other = try OtherProcess("$0 = \"x) R 1 \\xd8\\x80\"")
        let process = ClientProcess(id: other.id, user: getuid()).looked()
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        #expect(process.ancestors.first == own)
        let (start, ownStart) = (ProcessTable.startTime(of: other.id), ProcessTable.startTime(of: getpid()))
        #expect(try #require(start) >= #require(ownStart))
        #expect(ProcessTable.user(of: other.id) == geteuid())
    }

    // MARK: Flatpak

    @Test(.enabled(if: getuid() == 0))
    func `a Flatpak application behind a door has the one group of its name`() throws {
        let agent = try TestAgent()
        let vault = try agent.opened().withAccessGroups(["*"])
        for group in ["default", "org.example.App"] {
            try vault.add(Item(.genericPassword(service: group), attributes: [.accessGroup: .string(group)]))
        }
        _ = try agent.unlocked()
        let sandbox = try TemporaryDirectory()
        try sandbox.write(Array("[Application]\nname=org.example.App\n".utf8), to: ".flatpak-info")
        let process = try OtherProcess("chroot '\(sandbox.path)' or die")
        let client = try agent.client(["*"], behalf: process.behalf)
        #expect(client.greeting.access == .full && client.greeting.groups == ["org.example.App"])
        #expect(try client.copyMatching(Query(.genericPassword)).map { $0[.service] } == ["org.example.App"])
        #expect(try client.add(.generic("new"))[.accessGroup] == "org.example.App")
        #expect(throws: VaultError.accessGroupDenied) {
            try agent.client(["default"], behalf: process.behalf).copyMatching(Query(.genericPassword))
        }
        // A sandbox that names no application.
        try sandbox.write(Array("[Instance]\n".utf8), to: ".flatpak-info")
        #expect(try agent.client(["*"], behalf: process.behalf).greeting.access == .none)
    }

    @Test(arguments: [nil, "\"access\": \"full\""])
    func `a sandbox that the door sees and the agent does not is confined all the same`(rule: String?) throws {
        let agent = try rule == nil ? TestAgent() : Self.agent(door: rule)
        let vault = try agent.opened().withAccessGroups(["*"])
        for group in ["default", "org.example.App"] {
            try vault.add(Item(.genericPassword(service: group), attributes: [.accessGroup: .string(group)]))
        }
        _ = try agent.unlocked()
        let process = try OtherProcess()
        func behalf(_ sandbox: String) throws -> Behalf {
            let start = try process.behalf.startTime
            return try #require(Behalf(process: process.id, startTime: start, sandbox: sandbox))
        }
        let client = try agent.client(["*"], behalf: behalf("org.example.App"))
        #expect(client.greeting.groups == ["org.example.App"] && client.greeting.hasRules == (rule != nil))
        #expect(try client.copyMatching(Query(.genericPassword)).map { $0[.service] } == ["org.example.App"])
        #expect(throws: VaultError.accessGroupDenied) {
            try agent.client(["default"], behalf: behalf("org.example.App")).copyMatching(Query(.genericPassword))
        }
        for unnamed in ["", "*", "default"] {
            #expect(try agent.client(["*"], behalf: behalf(unnamed)).greeting.access == .none)
        }
    }

    @Test func `a client whose rights were decided by ends when the agent says others, and none is asked by those`()
        throws
    {
        let agent = try Self.agent()
        let own = try agent.unlocked()
        try own.add(.generic("s"))
        let (bound, free) = (try agent.client(), try agent.client())
        bound.isBoundToRights = true
        let lock = { () throws(VaultError) in
            try own.lock()
            try own.unlock(with: .passphrase(agent.passphrase))
        }
        try lock()
        #expect(try bound.copyMatching(Query(.genericPassword)).count == 1)
        try agent.directory.write(
            Array("{\"rules\": [{\"unit\": \"x.service\", \"access\": \"none\"}]}".utf8), to: "policy.json")
        try lock()
        #expect(throws: VaultError.agent(.notRunning)) { try bound.copyMatching(Query(.genericPassword)) }
        #expect(throws: VaultError.self) { try bound.add(.generic("t")) }
        #expect(try free.copyMatching(Query(.genericPassword)).count == 1)
    }

    // MARK: The audit log

    @Test func `what is done for a process is written down with that process and its door`() throws {
        let agent = try Self.agent(behind: "\"access\": \"inject-only\"")
        try agent.unlocked().add(.generic("s", "s3cret"))
        let process = try OtherProcess()
        let behalf = try process.behalf
        let (user, another) = (
            try agent.client(.standard, .use, behalf: behalf), try agent.client(.standard, .use, behalf: behalf)
        )
        var query = Query(.genericPassword)
        query.returnsSecrets = true
        _ = try user.copyMatching(query)
        #expect(throws: VaultError.agent(.refused)) { try user.add(.generic("t")) }
        process.end()
        #expect(throws: VaultError.agent(.refused)) { try another.copyMatching(query) }
        #expect(Self.isRefused(behalf, by: agent))
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let door = "\"via\":{\"executable\":\"\(own)\",\"pid\":\(getpid())}"
        let lines = try Self.log(agent)
        #expect(lines.count == 6)
        let other = "\"executable\":\"\(OtherProcess.program)\""
        for (line, what) in zip(lines[2...4], ["\"use\"", "\"policy\"", "\"the process has ended\""]) {
            #expect(line.contains(what) && line.contains(other) && line.contains("\"pid\":\(behalf.process),"))
            #expect(line.contains(door))
        }
        for line in lines[..<2] + lines[5...] { #expect(!line.contains("\"via\"") && line.contains(own)) }
        #expect(try agent.client().checkAuditLog() == (6, nil))
    }
}
