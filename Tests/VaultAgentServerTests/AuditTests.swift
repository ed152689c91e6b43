// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultFormat

@testable import VaultAgent
@testable import VaultAgentServer

struct AuditTests {
    private static func agent() throws -> TestAgent {
        try TestAgent { $0.auditDirectory = $0.vault.removingLastComponent().appending("log") }
    }

    private static func log(_ agent: TestAgent) throws -> String {
        let directory = agent.directory.path.appending("log").string
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".audit") })
        return try String(contentsOfFile: directory + "/" + name, encoding: .utf8)
    }

    private static func rewrite(_ agent: TestAgent, _ change: (inout [String]) -> Void) throws {
        let directory = agent.directory.path.appending("log").string
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".audit") })
        var lines = try String(contentsOfFile: directory + "/" + name, encoding: .utf8).split(separator: "\n").map(
            String.init)
        change(&lines)
        let file = try FileHandle(forWritingTo: URL(filePath: directory + "/" + name))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
    }

    @Test
    func `each use of a secret and each change is written down, with the item and the process and without any value`()
        throws
    {
        let agent = try Self.agent()
        #expect(throws: VaultError.storage(.wrongPassphrase)) {
            try agent.client().unlock(with: .passphrase(.of("wrong")))
        }
        let (client, user) = (try agent.unlocked(), try agent.client(.standard, .use))
        let id = try #require(try client.add(.generic("service-name", "the-value")).record?.id.uuidString.lowercased())
        var query = Query(.genericPassword)
        _ = try client.copyMatching(query)
        query.returnsSecrets = true
        _ = try client.copyMatching(query)
        _ = try user.copyMatching(query)
        try client.update(matching: Query(.genericPassword), with: ItemChanges(secret: Secret(text: "the-new-value")))
        try client.lock()
        try client.delete(matching: Query(.genericPassword))
        let log = try Self.log(agent)
        let verbs = log.split(separator: "\n").map { line in
            line.split(separator: ",").first { $0.hasPrefix("\"verb\"") }.map { $0.dropFirst(8).dropLast() } ?? ""
        }
        #expect(verbs == ["refused", "unlock", "add", "find", "reveal", "use", "update", "lock", "delete"])
        #expect(log.split(separator: "\n").count { $0.contains(id) } == 5)
        #expect(log.contains("\"pid\":\(ProcessInfo.processInfo.processIdentifier)"))
        for hidden in ["the-value", "the-new-value", "service-name", "wrong\""] { #expect(!log.contains(hidden)) }
    }

    @Test func `what a store deletes is in the log, item by item`() throws {
        let agent = try Self.agent()
        let client = try agent.unlocked()
        let id = try #require(try client.add(.generic("gone")).record?.id.uuidString.lowercased())
        try client.store([], replacing: true, deleting: [Query(.genericPassword), Query(.key)])
        let last = try Self.log(agent).split(separator: "\n").last ?? ""
        #expect(last.contains("\"delete\"") && last.contains(id))
    }

    @Test func `what becomes of the halves of identities is in the log, and no other item`() throws {
        let agent = try Self.agent()
        let client = try agent.unlocked()
        func add(_ key: ItemKey, _ attributes: [Attribute: AttributeValue]) throws -> String {
            let item = try client.add(Item(key, attributes: attributes, secret: "value"))
            return try #require(item.record?.id.uuidString.lowercased())
        }
        func last() throws -> [Bool] {
            let line = try Self.log(agent).split(separator: "\n").last ?? ""
            return ids.map { line.contains($0) }
        }
        let hash: AttributeValue = .data([1])
        let ids = [
            try add(.certificate(issuer: [1], serialNumber: [1]), [.publicKeyHash: hash]),
            try add(.certificate(issuer: [1], serialNumber: [2]), [.publicKeyHash: hash]),
            try add(.key(applicationLabel: [1]), [.keyClass: 1, .isPrivate: 1]),
            try add(.key(applicationLabel: [2]), [:]),
        ]
        var all = Query(nil)
        all.findsIdentities = true
        try client.update(matching: all, with: ItemChanges(attributes: [.label: "new"]))
        #expect(try last() == [true, true, true, true])
        // The key stays, for the other certificate.
        let found = try client.copyMatching(all)
        var one = all
        one.persistentReference = Array("idnt".utf8) + (try #require(found[0].record?.persistentReference)).dropFirst(4)
        try client.delete(matching: one)
        #expect(try last() == [true, false, false, false])
        try client.delete(matching: all)
        #expect(try last() == [false, true, true, true])
    }

    @Test func `a log that nobody touched is whole, also after a lock`() throws {
        let agent = try Self.agent()
        let client = try agent.unlocked()
        for number in 0..<5 { try client.add(.generic("\(number)")) }
        #expect(try client.checkAuditLog() == (6, nil))
        let directory = agent.directory.path.appending("log")
        #expect(try AuditLog.check(with: agent.opened(), in: directory) == (6, nil))
        try client.lock()
        try client.unlock(with: .passphrase(agent.passphrase))
        #expect(try AuditLog.check(with: agent.opened(), in: directory) == (8, nil))
    }

    @Test func `a line that was changed, removed, doubled, moved or made up shows`() throws {
        let changes: [(String, (inout [String]) -> Void, Int)] = [
            ("changed", { $0[2] = $0[2].replacingOccurrences(of: "\"add\"", with: "\"set\"") }, 3),
            ("removed", { $0.remove(at: 2) }, 3),
            ("first removed", { $0.removeFirst() }, 1), ("doubled", { $0.insert($0[2], at: 2) }, 4),
            ("moved", { $0.swapAt(2, 3) }, 3),
            ("made up", { $0.append("{\"n\":7,\"verb\":\"lock\"}") }, 7), ("emptied", { $0[1] = "" }, 2),
        ]
        for (what, change, line) in changes {
            let agent = try Self.agent()
            let client = try agent.unlocked()
            for number in 0..<5 { try client.add(.generic("\(number)")) }
            try Self.rewrite(agent, change)
            #expect(try client.checkAuditLog().firstChanged == line, "\(what)")
        }
    }

    @Test(arguments: [1, 2, 6])
    func `lines that were cut off show, also when the agent was not there, and for ever`(count: Int) throws {
        let agent = try Self.agent()
        let client = try agent.unlocked()
        for number in 0..<5 { try client.add(.generic("\(number)")) }
        try Self.rewrite(agent) { $0.removeLast(count) }
        let directory = agent.directory.path.appending("log")
        #expect(try AuditLog.check(with: agent.opened(), in: directory) == (6 - count, 7 - count))
        try client.add(.generic("next"))
        #expect(try client.checkAuditLog() == (7 - count, 7 - count))
    }

    @Test func `a log that was removed, or put back as it was once, shows to who looks and to the agent that goes on`()
        throws
    {
        let directory = try TemporaryDirectory()
        let vault = try Vault.inMemory()
        let caller = Caller(process: .own, access: .full, groups: ["*"], purpose: .reveal)
        let path = AuditLog.path(of: vault.vaultID, in: directory.path).string
        func note(_ count: Int) throws {
            let log = AuditLog(in: directory.path) { Date() }
            try log.begin(vault)
            for _ in 0..<count { try log.note(.lock, by: caller) }
        }
        try note(2)
        let older = try Data(contentsOf: URL(filePath: path))
        try note(3)
        #expect(try AuditLog.check(with: vault, in: directory.path) == (5, nil))
        try older.write(to: URL(filePath: path))
        #expect(try AuditLog.check(with: vault, in: directory.path) == (2, 3))
        try FileManager.default.removeItem(atPath: path)
        #expect(AuditLog.exists(of: vault.vaultID, in: directory.path))
        #expect(try AuditLog.check(with: vault, in: directory.path) == (0, 1))
        try note(1)
        #expect(try AuditLog.check(with: vault, in: directory.path) == (1, 1))
    }

    @Test(arguments: [nil, [UInt8](repeating: 7, count: 80)])
    func `a head that is gone or made up shows, and goes on to show`(
        head: [UInt8]?
    ) throws {
        let directory = try TemporaryDirectory()
        let vault = try Vault.inMemory()
        let caller = Caller(process: .own, access: .full, groups: ["*"], purpose: .reveal)
        func note(_ count: Int) throws {
            let log = AuditLog(in: directory.path) { Date() }
            try log.begin(vault)
            for _ in 0..<count { try log.note(.lock, by: caller) }
        }
        try note(3)
        let name = AuditFiles(directory: directory.path, vaultID: vault.vaultID).head
        if let head {
            try directory.write(head, to: name)
        } else {
            try FileManager.default.removeItem(atPath: directory.path.appending(name).string)
        }
        #expect(try AuditLog.check(with: vault, in: directory.path) == (3, 4))
        try note(2)
        #expect(try AuditLog.check(with: vault, in: directory.path) == (5, 4))
    }

    @Test func `a log of version 0·1, which had no head, is whole and goes on with one`() throws {
        let directory = try TemporaryDirectory()
        let vault = try Vault.inMemory()
        let seal = try vault.auditSeal()
        var (lines, tag) = ([UInt8](), AuditLog.start)
        for number in 1...3 {
            let line = Array(
                "{\"items\":[],\"n\":\(number),\"pid\":1,\"time\":\"2026-01-01T00:00:00Z\",\"verb\":\"lock\"".utf8)
            tag = seal.tag(of: line, after: tag)
            lines +=
                line
                + Array(",\"mac\":\"\(tag.map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined())\"}\n".utf8)
        }
        try directory.write(lines, to: AuditLog.path(of: vault.vaultID, in: directory.path).lastComponent?.string ?? "")
        #expect(try AuditLog.check(with: vault, in: directory.path) == (3, nil))
        let log = AuditLog(in: directory.path) { Date() }
        try log.begin(vault)
        try log.note(.lock, by: Caller(process: .own, access: .full, groups: ["*"], purpose: .reveal))
        #expect(try AuditLog.check(with: vault, in: directory.path) == (4, nil))
        #expect(AuditFiles(directory: directory.path, vaultID: vault.vaultID).headBytes != nil)
    }

    /// A log with refusals of this number of processes, one every ten seconds, before the first unlock.
    private static func refused(_ count: Int, in directory: FilePath) -> AuditLog {
        let now = Mutex(Date(timeIntervalSinceReferenceDate: 0))
        let log = AuditLog(in: directory) { now.withLock(\.self) }
        for number in 1...count {
            now.withLock { $0 += 10 }
            let process = ClientProcess(id: Int32(number), user: 0)
            log.noteRefusal(
                of: Caller(process: process, access: .none, groups: [], purpose: .reveal), .agent(.refused))
        }
        return log
    }

    @Test func `refusals before the first unlock are all counted, however many`() throws {
        let directory = try TemporaryDirectory()
        let vault = try Vault.inMemory()
        try Self.refused(1500, in: directory.path).begin(vault)
        let lines = try String(
            contentsOfFile: AuditLog.path(of: vault.vaultID, in: directory.path).string, encoding: .utf8)
        #expect(lines.split(separator: "\n").count == 1001 && lines.contains("\"count\":500"))
        #expect(try AuditLog.check(with: vault, in: directory.path) == (1001, nil))
    }

    @Test func `a refusal before the first unlock that a full disk does not take is kept until the next one`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let vault = try Vault.inMemory()
            let log = AuditTests.refused(1500, in: directory.path)
            // Some hundred lines fit.
            for size: rlim_t in [100_000, 150_000, 150_000] {
                try limitingFiles(to: size) { #expect(throws: VaultError.self) { try log.begin(vault) } }
            }
            try log.begin(vault)
            let path = AuditLog.path(of: vault.vaultID, in: directory.path).string
            let lines = try String(contentsOfFile: path, encoding: .utf8)
            #expect(lines.split(separator: "\n").count == 1001 && lines.contains("\"count\":500"))
            #expect(try AuditLog.check(with: vault, in: directory.path) == (1001, nil))
        }
    }

    @Test func `a lock is done, and said to be done, where the log has no room; the entry waits`() async {
        await #expect(processExitsWith: .success) {
            let agent = try AuditTests.agent()
            let client = try agent.unlocked()
            try limitingFiles(to: 1) {
                #expect(throws: VaultError.self) { try client.copyMatching(Query(.genericPassword)) }
                try client.lock()
                #expect(try client.status().state == .locked)
            }
            try client.unlock(with: .passphrase(agent.passphrase))
            let verbs = try AuditTests.log(agent).split(separator: "\n").map { $0.contains("\"verb\":\"lock\"") }
            #expect(verbs == [false, true, false])
            #expect(try client.checkAuditLog() == (3, nil))
        }
    }

    @Test func `a program that is refused again and again has two lines, and loses its connection`() throws {
        let agent = try TestAgent { settings in
            settings.auditDirectory = settings.vault.removingLastComponent().appending("log")
            let path = settings.vault.removingLastComponent().appending("policy.json")
            let rules = "{\"rules\": [{\"executable\": \"/usr/bin/perl\", \"access\": \"none\"}]}"
            try Data(rules.utf8).write(to: URL(filePath: path.string))
            settings.policy = path
        }
        let client = try agent.unlocked()
        let hello = HelloRequest(Greeting(vault: "", groups: nil, purpose: .reveal)).frame(1).open
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/perl")
        process.arguments = [
            "-MIO::Socket::UNIX", "-e",
            """
            $SIG{PIPE} = 'IGNORE';
            for my $connection (1..5) { my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or exit 2;
            $s->syswrite(pack('H*', $ARGV[1])); for (1..100) { $s->syswrite(pack('H*', $ARGV[2])) or last }
            my $all = ''; while ($s->sysread(my $part, 65536)) { $all .= $part } my $answers = 0;
            while (length $all >= 16) { $all = substr($all, 16 + unpack('V', $all)); $answers++ } print "$answers " }
            """,
            agent.address.string, hexadecimal(hello), hexadecimal(LockRequest().frame(2).open),
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let answers = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        // The greeting has an answer as well.
        #expect(answers == "33 33 33 33 33 ")
        agent.server.answers.audit?.flush(all: true)
        let refused = try Self.log(agent).split(separator: "\n").filter { $0.contains("\"verb\":\"refused\"") }
        #expect(refused.count == 2 && refused[1].contains("\"count\":159"))
        #expect(try client.checkAuditLog().firstChanged == nil)
    }

    @Test func `a program's name lengthens no line, and two long names are told apart`() throws {
        let names = ["a", "b"].map { String(repeating: "ä", count: 5000) + $0 }
        let capped = names.map { AuditLog.Entry.capped($0) }
        #expect(capped[0] != capped[1] && capped.allSatisfy { $0.utf8.count < 256 && $0.contains("…#") })
        let name = String(repeating: "n", count: 256)
        #expect(AuditLog.Entry.capped(name) == name)
        var process = ClientProcess(id: 1, user: 0)
        (process.executable, process.flatpak) = (String(repeating: "\u{1}", count: 1 << 20), names[0])
        process.cgroup = "/" + String(repeating: "u", count: 1 << 20) + ".scope"
        let caller = Caller(process: process, door: process, access: .full, groups: ["*"], purpose: .reveal)
        let ids = (0..<AuditLog.Entry.mostItems).map { _ in UUID().uuidString }
        let line = AuditLog.Entry(.delete, ids, by: caller, at: Date()).line(1)
        #expect(try #require(line).count < 8 << 10)
    }

    @Test func `an action on many items has several lines, which name every one`() throws {
        let directory = try TemporaryDirectory()
        let vault = try Vault.inMemory()
        let caller = Caller(process: .own, access: .full, groups: ["*"], purpose: .reveal)
        let log = AuditLog(in: directory.path) { Date() }
        try log.begin(vault)
        let ids = (0..<1000).map { _ in UUID() }
        try log.note(.delete, ids, by: caller)
        try log.note(.delete, [] as [UUID], by: caller)
        let text = try String(
            contentsOfFile: AuditLog.path(of: vault.vaultID, in: directory.path).string, encoding: .utf8)
        #expect(ids.allSatisfy { text.contains($0.uuidString.lowercased()) })
        #expect(try AuditLog.check(with: vault, in: directory.path) == (17, nil))
    }

    @Test func `half a line, as a full disk or a crash leaves it, spoils nothing`() throws {
        let directory = try TemporaryDirectory()
        let vault = try Vault.inMemory()
        let caller = Caller(process: .own, access: .full, groups: ["*"], purpose: .reveal)
        let path = AuditLog.path(of: vault.vaultID, in: directory.path)
        do {
            let log = AuditLog(in: directory.path) { Date() }
            try log.begin(vault)
            try log.note(.lock, by: caller)
            // Only one process at a time may continue a chain.
            #expect(throws: VaultError.storage(.inputOutput(.resourceBusy, .log))) {
                try AuditLog(in: directory.path) { Date() }.begin(vault)
            }
        }
        let file = try FileHandle(forWritingTo: URL(filePath: path.string))
        try file.seekToEnd()
        try file.write(contentsOf: Data("{\"n\":9223372036854775807,\"mac\":\"".utf8))
        let log = AuditLog(in: directory.path) { Date() }
        try log.begin(vault)
        try log.note(.lock, by: caller)
        #expect(try AuditLog.check(with: vault, in: directory.path) == (2, nil))
    }

    @Test func `what cannot be written down is not handed out`() throws {
        let agent = try TestAgent { settings in
            let place = settings.vault.removingLastComponent().appending("log")
            try Data().write(to: URL(filePath: place.string))
            settings.auditDirectory = place
        }
        #expect(throws: VaultError.storage(.inputOutput(.notDirectory, .log))) { try agent.unlocked() }
    }
}

/// Runs the body while no file may be written beyond a size, in bytes, as on a full disk. For an exit test.
private func limitingFiles(to size: rlim_t, _ body: () throws -> Void) throws {
    signal(SIGXFSZ, SIG_IGN)
    var limit = rlimit()
    _ = getrlimit(__rlimit_resource_t(1), &limit)
    let before = limit.rlim_cur
    limit.rlim_cur = size
    _ = setrlimit(__rlimit_resource_t(1), &limit)
    defer {
        limit.rlim_cur = before
        _ = setrlimit(__rlimit_resource_t(1), &limit)
    }
    try body()
}
