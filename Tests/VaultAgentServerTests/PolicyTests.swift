// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultAgent

@testable import VaultAgentServer

struct PolicyTests {
    private static func policy(_ text: String) throws -> AccessPolicy {
        let directory = try TemporaryDirectory()
        try directory.write(Array(text.utf8), to: "policy.json")
        return try AccessPolicy(directory.path.appending("policy.json"))
    }

    private static func process(
        _ executable: String? = nil, ancestors: [String] = [], cgroup: String? = nil, flatpak: String? = nil,
        name: String = "vault"
    ) -> ClientProcess {
        var process = ClientProcess(id: 1, user: 1)
        process.executable = executable
        process.ancestors = ancestors
        process.cgroup = cgroup
        (process.flatpak, process.name) = (flatpak, name)
        process.isUnknown = false
        return process
    }

    @Test func `the first rule that fits is the one that counts, and all that it names must fit`() throws {
        let policy = try Self.policy(
            """
            {
              // comments are allowed
              "rules": [
                { "executable": "/usr/bin/robot", "access": "inject-only", "groups": ["ci", "build"] },
                { "unit": "app.service", "flatpak": "org.example.App", "groups": ["org.example.App"] },
                { "unit": "app.service", "access": "none" },
                { "cgroup": "/user.slice/ci", "access": "none" },
              ],
            }
            """)
        #expect(policy.rights(of: Self.process("/usr/bin/robot")).access == .injectOnly)
        #expect(policy.rights(of: Self.process("/usr/bin/robot")).groups == ["ci", "build"])
        #expect(
            policy.rights(of: Self.process("/usr/bin/vault", ancestors: ["/bin/sh", "/usr/bin/robot"])).access
                == .injectOnly)
        #expect(
            policy.rights(
                of: Self.process("/usr/bin/app", cgroup: "/user.slice/app.service", flatpak: "org.example.App")
            ).access
                == .full)
        #expect(policy.rights(of: Self.process("/usr/bin/app", cgroup: "/user.slice/app.service")).access == .none)
        #expect(policy.rights(of: Self.process("/usr/bin/app", cgroup: "/user.slice/app.service/part")).access == .none)
        #expect(policy.rights(of: Self.process("/usr/bin/app", cgroup: "/user.slice/ci/job")).access == .none)
        // To the kernel a slash with a combining mark is a slash.
        #expect(policy.rights(of: Self.process("/usr/bin/app", cgroup: "/user.slice/ci/\u{301}job")).access == .none)
        #expect(policy.rights(of: Self.process("/usr/bin/app", cgroup: "/user.slice/cinema")).access == .full)
        #expect(policy.rights(of: Self.process("/usr/bin/robots", ancestors: ["", "/usr/bin"])).access == .full)
    }

    @Test func `a client of which nothing can be known is not let through for that`() throws {
        let policy = try Self.policy("{ \"rules\": [ { \"executable\": \"/usr/bin/robot\", \"access\": \"none\" } ] }")
        #expect(policy.needsMore(of: Self.process(nil, ancestors: ["", "/usr/bin/robot"])))
        #expect(!policy.needsMore(of: Self.process(nil, ancestors: ["/bin/sh", ""])))
        #expect(!policy.needsMore(of: Self.process("/usr/bin/app")))
        let gone = ClientProcess.own.looked(.ended)
        #expect(gone.isUnknown && policy.needsMore(of: gone))
        #expect(try !AccessPolicy(nil).needsMore(of: gone))
        // Rules may arrive while a client waits for its first reply.
        let unlooked = ClientProcess(id: 1, user: 1)
        #expect(policy.rights(of: unlooked, through: nil) == .none)
        #expect(policy.rights(of: Self.process("/usr/bin/app"), through: unlooked) == .none)
    }

    @Test func `a program that hides itself is the robot of a rule for all that is known, unless it is the command`()
        throws
    {
        let rules = "{ \"rules\": [ { \"executable\": \"/usr/bin/robot\", \"access\": \"inject-only\" } ] }"
        let policy = try Self.policy(rules)
        func rights(_ name: String, _ ancestors: [String]) -> Rights {
            policy.rights(of: Self.process(nil, ancestors: ancestors, name: name), through: nil)
        }
        for name in ["robot", "", "vaults", "Vault"] { #expect(rights(name, ["/bin/sh"]) == .none, "\(name)") }
        for name in ["vault", "vault-git", "vault-agent"] {
            #expect(rights(name, ["/bin/sh"]) == .all)
            #expect(rights(name, ["/usr/bin/robot"]).access == .injectOnly)
            #expect(rights(name, ["", "/bin/sh"]) == .none)
        }
        // Without a rule on executables, no process has to be identified.
        let other = try Self.policy("{\"rules\": [{\"unit\": \"x.service\", \"access\": \"none\"}]}")
        #expect(other.rights(of: Self.process(nil, name: "robot"), through: nil) == .all)
    }

    @Test func `a sandbox that the door alone sees narrows what is left, whatever the rules are about`() throws {
        let (app, door) = ("org.example.App", Self.process("/usr/bin/vault"))
        func rights(_ told: String?, _ rules: String, seen: String? = nil) throws -> Rights {
            var process = Self.process("/app/bin/app", cgroup: "/a.scope", flatpak: seen)
            (process.toldSandbox, process.hidesItsSandbox) = (told, seen == nil)
            return try Self.policy("{\"rules\": [\(rules)]}").rights(of: process, through: door)
        }
        let unrelated = "{\"unit\": \"x.service\", \"access\": \"none\"}"
        for rules in ["", unrelated] {
            #expect(try rights(app, rules) == Rights(access: .full, groups: AccessGroups([app])))
            #expect(try rights("", rules) == .none && rights("*", rules) == .none)
            #expect(try rights(nil, rules) == .all)
            // The rights need the agreement of both observations; a contradiction gives no rights.
            #expect(try rights(app, rules, seen: app) == Rights(access: .full, groups: AccessGroups([app])))
            #expect(try rights("org.example.Other", rules, seen: app) == .none)
            #expect(try rights("", rules, seen: app) == .none && rights(app, rules, seen: "") == .none)
            #expect(try rights(nil, rules, seen: "") == .none)
        }
        #expect(
            try rights(app, "{\"flatpak\": \"\(app)\", \"groups\": [\"shared\"]}")
                == Rights(access: .full, groups: ["shared"]))
        // A rule that does not name the application leaves the client in its sandbox.
        let wide = "{\"cgroup\": \"/a.scope\", \"access\": \"inject-only\"}"
        for (told, seen) in [(app, nil), (app, app), (nil, app)] as [(String?, String?)] {
            #expect(try rights(told, wide, seen: seen) == Rights(access: .injectOnly, groups: AccessGroups([app])))
        }
        #expect(try rights("*", wide) == .none && rights("", wide) == .none)
        // A door cannot raise a program's rights by giving it another identity.
        let both = "{\"flatpak\": \"\(app)\"}, {\"cgroup\": \"/a.scope\", \"access\": \"none\"}"
        #expect(try rights(app, both) == .none)
    }

    @Test func `where rules are about applications, a client that may be one of them has no rights by itself`() throws {
        let policy = try Self.policy("{\"rules\": [{\"flatpak\": \"org.example.App\", \"access\": \"none\"}]}")
        for (cgroup, rights) in [(nil, .none), ("/a/x.scope", .none), ("/a/x.service", .all)] as [(String?, Rights)] {
            var process = Self.process("/usr/bin/app", cgroup: cgroup)
            #expect(policy.rights(of: process, through: nil) == .all)
            process.hidesItsSandbox = true
            #expect(policy.rights(of: process, through: nil) == rights)
            // For a client behind a door, the door's own observation counts.
            #expect(policy.rights(of: process, through: Self.process("/usr/bin/vault")) == .all)
        }
    }

    @Test func `a rule for a script is refused, also by a link, since none of its processes would be known by it`()
        throws
    {
        let directory = try TemporaryDirectory()
        let (script, link) = (directory.path.appending("assistant"), directory.path.appending("link"))
        try directory.write(Array("#!/bin/sh\n".utf8), to: "assistant")
        try directory.write(Array("#".utf8), to: "short")
        try #require(symlink("assistant", link.string) == 0)
        for path in [script, link] {
            let rules = "{\"rules\": [{\"unit\": \"u\"}, {\"executable\": \"\(path)\", \"access\": \"none\"}]}"
            #expect(throws: PolicyError.script(path.string)) { try Self.policy(rules) }
        }
        for path in [directory.path.appending("short").string, directory.path.string, "/usr/bin/env", "/not/there"] {
            _ = try Self.policy("{\"rules\": [{\"executable\": \"\(path)\", \"access\": \"none\"}]}")
        }
        #expect(PolicyError.script("/opt/assistant").hint?.contains("systemd-run --user --scope") == true)
    }

    @Test func `a Flatpak application is known by its scope too`() {
        var process = ClientProcess(id: 1, user: 1)
        process.cgroup = "/user.slice/app-flatpak-org.example.App-4711.scope"
        #expect(process.unit == "app-flatpak-org.example.App-4711.scope")
        #expect(ProcessTable.flatpak(inUnit: process.unit ?? "") == "org.example.App")
        #expect(ProcessTable.flatpak(inUnit: "app-flatpak-org.example.My\\x2dApp-7.scope") == "org.example.My-App")
        #expect(
            ProcessTable.flatpak(inUnit: "app-flatpak-") == "" || ProcessTable.flatpak(inUnit: "app-flatpak-") == nil)
        #expect(ProcessTable.flatpak(inUnit: "app-gnome-x-1.scope") == nil)
    }

    @Test func `behind a door a Flatpak application without a rule has the group of its name, and no other`() throws {
        let door = Self.process("/usr/bin/vault", ancestors: ["/usr/lib/systemd/systemd"])
        func rights(_ flatpak: String?, _ policy: AccessPolicy, door: ClientProcess? = door) -> Rights {
            policy.rights(
                of: Self.process("/app/bin/app", cgroup: "/user.slice/a.scope", flatpak: flatpak), through: door)
        }
        let none = try AccessPolicy(nil)
        for unknown in ["", "*", "default", "a.*", "a.b,c", "a.b/c", "\u{e9}.b", "a b.c", "a.b\0"] {
            #expect(rights(unknown, none) == .none, "\(unknown)")
        }
        #expect(rights("org.example.App", none) == Rights(access: .full, groups: ["org.example.App"]))
        #expect(rights(nil, none) == .all)
        // Without a door the rights are the same as before.
        #expect(rights("org.example.App", none, door: nil) == .all)
        let ruled = try Self.policy(
            """
            {"rules": [{"flatpak": "org.example.App", "groups": ["shared", "default"]},
                       {"flatpak": "org.example.Robot", "access": "inject-only"}]}
            """)
        #expect(rights("org.example.App", ruled) == Rights(access: .full, groups: ["shared", "default"]))
        #expect(rights("org.example.Robot", ruled) == Rights(access: .injectOnly, groups: nil))
        #expect(rights("", ruled) == .none && rights("", ruled, door: nil) == .none)
        #expect(rights("org.example.Other", ruled) == Rights(access: .full, groups: ["org.example.Other"]))
        let narrow = try Self.policy("{\"rules\": [{\"executable\": \"/usr/bin/vault\", \"groups\": [\"a\"]}]}")
        #expect(rights("org.example.App", narrow) == Rights(access: .full, groups: []))
    }

    @Test func `behind a door, too, a process of which nothing can be known may do nothing, and neither may the door`()
        throws
    {
        let policy = try Self.policy("{\"rules\": [{\"executable\": \"/usr/bin/robot\", \"groups\": [\"ci\"]}]}")
        let (known, hidden) = (Self.process("/usr/bin/app"), Self.process(nil, ancestors: [""], flatpak: "a.b"))
        #expect(policy.rights(of: known, through: known) == .all)
        for (process, door) in [(hidden, known), (known, hidden), (hidden, hidden), (hidden, nil)] {
            #expect(policy.rights(of: process, through: door) == .none)
        }
    }

    @Test(arguments: [
        "", "[]", "{}", "{\"rules\": {}}", "{\"rules\": [{}]}", "{\"rules\": [{\"access\": \"none\"}]}",
        "{\"rules\": [{\"unit\": \"u\", \"acess\": \"none\"}]}",
        "{\"rules\": [{\"unit\": \"u\", \"access\": \"some\"}]}",
        "{\"rules\": [{\"executable\": \"robot\"}]}", "{\"rules\": [{\"unit\": \"u\", \"groups\": []}]}",
        "{\"rules\": [{\"unit\": 1}]}", "{\"rules\": [{\"flatpak\": \"\"}]}", "{\"rules\": [{\"flatpak\": \"*\"}]}",
        "{\"rules\": [], \"default\": {}}",
    ]) func `what is not understood is no policy`(text: String) throws {
        #expect(throws: PolicyError.self) { try Self.policy(text) }
    }

    @Test func `a policy that others may write is refused, and none at all allows everything`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path.appending("p")
        #expect(try AccessPolicy(path).isEmpty)
        try directory.write(Array("{\"rules\": []}".utf8), to: "p")
        #expect(chmod(path.string, 0o666) == 0)
        #expect(throws: PolicyError.writableByOthers) { try AccessPolicy(path) }
        #expect(chmod(path.string, 0o644) == 0)
        #expect(try AccessPolicy(path).isEmpty)
    }

    /// Starts an agent with a rule for the process that runs the test.
    private static func agent(_ rule: String) throws -> TestAgent {
        try TestAgent { settings in
            let path = settings.vault.removingLastComponent().appending("policy.json")
            let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            try Data("{\"rules\": [{\"executable\": \"\(executable)\", \(rule)}]}".utf8).write(
                to: URL(filePath: path.string))
            settings.policy = path
        }
    }

    @Test
    func
        `a program that is named by a link is known by what is behind it, and one that is not there is missing`()
        throws
    {
        let directory = try TemporaryDirectory()
        let (link, elsewhere) = (directory.path.appending("link"), directory.path.appending("linked"))
        #expect(symlink("/usr/bin/env", link.string) == 0 && symlink("/usr/bin", elsewhere.string) == 0)
        let policy = try Self.policy(
            """
            {"rules": [{"executable": "\(link)", "access": "none"}, {"executable": "\(elsewhere)/perl", "access": \
            "inject-only"},
                       {"executable": "/nowhere/at/all", "access": "none"}]}
            """)
        let behind = try FileManager.default.destinationOfSymbolicLink(atPath: link.string)
        #expect(policy.rights(of: Self.process(behind)).access == .none)
        #expect(policy.rights(of: Self.process("/usr/bin/perl")).access == .injectOnly)
        #expect(policy.missingExecutables == ["/nowhere/at/all"])
        // An upgrade that redirects the symbolic link changes the rule's executable.
        try directory.write(
            Array("{\"rules\": [{\"executable\": \"\(link)\", \"access\": \"none\"}]}".utf8), to: "turned.json")
        let file = directory.path.appending("turned.json")
        let turned = try AccessPolicy(file)
        #expect(!turned.isOutdated(file))
        #expect(unlink(link.string) == 0 && symlink("/usr/bin/perl", link.string) == 0)
        #expect(turned.isOutdated(file))
        #expect(try AccessPolicy(file).rights(of: Self.process("/usr/bin/perl")).access == .none)
    }

    @Test func `a policy that changes under a running agent counts from the next unlock on`() throws {
        let reports = Mutex<[String]>([])
        let agent = try TestAgent { settings in
            settings.policy = settings.vault.removingLastComponent().appending("policy.json")
            settings.report = { report in reports.withLock { $0.append(report) } }
        }
        let client = try agent.unlocked()
        try client.add(.generic("s"))
        let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let rules =
            """
            {\"rules\": [{\"executable\": \"\(executable)\", \"access\": \"inject-only\"}, {\"executable\": \"/gone\"}]}
            """
        try agent.directory.write(Array(rules.utf8), to: "policy.json")
        try client.lock()
        try client.unlock(with: .passphrase(agent.passphrase))
        #expect(throws: VaultError.agent(.refused)) { try agent.client().add(.generic("t")) }
        #expect(reports.withLock { $0.contains { $0.contains("/gone") } })
        // A policy that cannot be parsed grants no additional rights.
        try agent.directory.write(Array("{".utf8), to: "policy.json")
        try client.lock()
        try? agent.client().unlock(with: .passphrase(agent.passphrase))
        #expect(throws: VaultError.self) { try agent.client().add(.generic("t")) }
    }

    @Test func `who may only inject gets secrets for that and attributes, and changes nothing`() throws {
        let agent = try Self.agent("\"access\": \"inject-only\"")
        try agent.opened().add(.generic("s", "s3cret"))
        let (shows, uses) = (try agent.unlocked(), try agent.client(.standard, .use))
        #expect(shows.greeting.access == .injectOnly)
        var query = Query(.genericPassword)
        #expect(try shows.copyMatching(query).count == 1)
        query.returnsSecrets = true
        #expect(throws: VaultError.agent(.refused)) { try shows.copyMatching(query) }
        let found = try #require(try shows.copyMatching(Query(.genericPassword)).first)
        #expect(throws: VaultError.agent(.refused)) { try found.withSecret { _ in } }
        #expect(try uses.copyMatching(query).first?.secret?.text == "s3cret")
        for client in [shows, uses] {
            #expect(throws: VaultError.agent(.refused)) { try client.add(.generic("t")) }
            #expect(throws: VaultError.agent(.refused)) { try client.set(.generic("t")) }
            #expect(throws: VaultError.agent(.refused)) { try client.store([.generic("t")], replacing: true) }
            #expect(throws: VaultError.agent(.refused)) { try client.update(matching: query, with: ItemChanges()) }
            #expect(throws: VaultError.agent(.refused)) { try client.delete(matching: Query(.genericPassword)) }
            #expect(throws: VaultError.agent(.refused)) { try client.compact() }
            #expect(throws: VaultError.agent(.refused)) { try client.stop() }
        }
        try shows.lock()
    }

    @Test func `who may do nothing is told that, and the state`() throws {
        let agent = try Self.agent("\"access\": \"none\"")
        let client = try agent.client()
        #expect(try client.status().access == .none)
        #expect(throws: VaultError.agent(.refused)) { try client.copyMatching(Query(.genericPassword)) }
        #expect(throws: VaultError.agent(.refused)) { try client.unlock(with: .passphrase(agent.passphrase)) }
    }

    @Test func `a rule's access groups are all that its clients have, and the first is where they add`() throws {
        let agent = try Self.agent("\"groups\": [\"app\", \"shared\"]")
        let vault = try agent.opened().withAccessGroups(["*"])
        for group in ["app", "shared", "private"] {
            try vault.add(Item(.genericPassword(service: group), attributes: [.accessGroup: .string(group)]))
        }
        // The caller named no groups, so the rule's groups replace the program's default group.
        let client = try agent.unlocked(nil)
        #expect(try client.copyMatching(Query(.genericPassword)).count == 2)
        #expect(try client.add(.generic("new"))[.accessGroup] == "app")
        #expect(try agent.client(["*"]).copyMatching(Query(.genericPassword)).count == 3)
        #expect(try agent.client(["shared", "private"]).copyMatching(Query(.genericPassword)).count == 1)
        #expect(throws: VaultError.accessGroupDenied) {
            try agent.client(["private"]).copyMatching(Query(.genericPassword))
        }
    }

    @Test func `who is confined to groups stops nothing, counts nothing and changes nothing of others`() throws {
        let agent = try Self.agent("\"groups\": [\"app\"]")
        let vault = try agent.opened()
        try vault.add(.generic("private"))
        let identifier = try vault.deviceIdentifier(for: "other")
        let client = try agent.unlocked(nil)
        #expect(throws: VaultError.agent(.refused)) { try client.stop() }
        #expect(throws: VaultError.agent(.refused)) { try client.compact() }
        #expect(throws: VaultError.agent(.refused)) { try client.verify(deep: false) }
        #expect(throws: VaultError.agent(.refused)) { try client.checkAuditLog() }
        #expect(throws: VaultError.agent(.refused)) {
            try client.resetDeviceIdentifier(for: "other", thisDeviceOnly: false)
        }
        #expect(try client.deviceIdentifier(for: "other", thisDeviceOnly: false) == identifier)
        #expect(throws: VaultError.agent(.refused)) { try client.setIdleLimit(1) }
        #expect(try client.add(.generic("own"))[.accessGroup] == "app")
        try client.lock()
    }

    @Test func `a process is known by its program, its ancestors and its control group`() throws {
        let process = ClientProcess.own.looked()
        #expect(process.executable == (try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")))
        #expect(process.ancestors.count > 1)
        #expect(process.flatpak == nil)
    }
}
