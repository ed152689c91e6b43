// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto

@testable import Vault
@testable import VaultImport

/// Entries that are imported again after changes in the source, in the vault or in both.
struct ImportPlanTests {
    private static func login(_ id: String, _ change: (inout Login) throws -> Void = { _ in }) throws -> Login {
        var login = Login(id: id, place: "entry \(id)")
        login.title = "Example"
        login.user = "ada"
        login.urls = ["https://example.com/"]
        login.password = try Secret(text: "one")
        try login.addField("pin", Secret(text: "1234"))
        login.addAttribute("team", "web")
        login.notes = "n"
        try change(&login)
        return login
    }

    private static func logins(_ logins: Login...) -> ImportedLogins {
        var imported = ImportedLogins()
        imported.logins = logins
        return imported
    }

    @Test func `a second run adds nothing`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let logins = try Self.logins(Self.login("1"), Self.login("2") { $0.user = "bob" })
        #expect(try logins.stored(in: vault).counts == "added 2")
        let sequence = try vault.sequence
        #expect(try logins.stored(in: vault).counts == "unchanged 2" && vault.sequence == sequence)
    }

    @Test func `marked items are recognized, changed and exported`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let generic = try Self.login("2") { $0.urls = [] }
        try Self.logins(Self.login("1"), generic).stored(in: vault)
        for item in try vault.all() {
            try vault.update(try #require(item.record), with: ItemChanges(attributes: [.synchronizable: true]))
        }
        #expect(try Self.logins(Self.login("1"), generic).stored(in: vault).counts == "unchanged 2")
        // The first changes its secret, the second its class.
        let changed = try Self.login("1") { $0.password = try Secret(text: "two") }
        #expect(try Self.logins(changed, Self.login("2") { $0.user = "bob" }).stored(in: vault).counts == "updated 2")
        #expect(try vault.all().map { $0[.synchronizable] } == [.number(1), .number(1)])
        #expect(try ExportedEntries(vault.all()).entries.compactMap { $0.password?.text }.sorted() == ["one", "two"])
    }

    @Test func `what changed at the source is taken over, what it lost goes`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try Self.logins(Self.login("1")).stored(in: vault)
        let changed = try Self.login("1") { login in
            login.password = try Secret(text: "two")
            login.user = "grace"
            login.fields = [("otp", try Secret(text: "A"))]
            login.attributes = []
            login.notes = ""
        }
        #expect(try Self.logins(changed).stored(in: vault).counts == "updated 1")
        let item = try #require(try vault.all().first)
        #expect(
            try item.account == "grace" && item.openedSecret()?.text == "two"
                && item.openedSecret(field: "otp")?.text == "A")
        #expect(
            item.fieldNames == ["otp", "vault.import"] && item.userAttributes["team"] == nil
                && item[.comment]?.text == "")
        #expect(try vault.all().count == 1 && Self.logins(changed).stored(in: vault).counts == "unchanged 1")
    }

    @Test(arguments: [nil, "", "two"]) func `an entry without a password changes with its source`(_ next: String?)
        throws
    {
        let vault = try Vault.inMemory(accessGroups: .standard)
        for (first, id) in [(nil, "1"), ("", "2")] as [(String?, String)] {
            func login(_ pin: String, _ password: String?) throws -> Login {
                try Self.login(id) { login in
                    login.user = id
                    login.password = try password.map { try Secret(text: $0) }
                    login.fields = [("pin", try Secret(text: pin))]
                }
            }
            try Self.logins(login("1", first)).stored(in: vault)
            #expect(try Self.logins(login("1", first)).stored(in: vault).counts == "unchanged 1")
            #expect(try Self.logins(login("2", next)).stored(in: vault).counts == "updated 1")
            #expect(try Self.logins(login("2", next)).stored(in: vault).counts == "unchanged 1")
            let item = try #require(try vault.all().last)
            #expect(try item.openedSecret(field: "pin")?.text == "2" && item.openedSecret()?.text == next ?? "")
            // What changed here as well stays.
            try vault.update(
                try #require(item.record), with: ItemChanges(fields: ["pin": .some(try Secret(text: "3"))]))
            #expect(try Self.logins(login("4", next)).stored(in: vault).counts == "differs 1")
        }
    }

    @Test func `what changed here stays, and on both sides is said`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try Self.logins(Self.login("1")).stored(in: vault)
        try vault.update(matching: Query(.internetPassword, server: "example.com"), with: ItemChanges(secret: "mine"))
        #expect(try Self.logins(Self.login("1")).stored(in: vault).counts == "unchanged 1")
        let changed = try Self.login("1") { $0.password = try Secret(text: "two") }
        #expect(try Self.logins(changed).stored(in: vault).counts == "differs 1")
        #expect(try vault.all().first?.openedSecret()?.text == "mine")
        #expect(try Self.logins(changed).stored(in: vault, replaces: true).counts == "updated 1")
        #expect(try vault.all().first?.openedSecret()?.text == "two")
        // Both sides changed to the same value.
        try vault.update(matching: Query(.internetPassword, server: "example.com"), with: ItemChanges(secret: "three"))
        let third = try Self.login("1") { $0.password = try Secret(text: "three") }
        #expect(try Self.logins(third).stored(in: vault).counts == "unchanged 1")
        let fourth = try Self.login("1") { $0.password = try Secret(text: "four") }
        // The vault cannot tell which side changed later: an equal import writes nothing.
        #expect(try Self.logins(fourth).stored(in: vault).counts == "differs 1")
    }

    @Test func `two entries of one key both come, and keep their keys`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let second = try Self.login("2") { $0.password = try Secret(text: "other") }
        let generic = try ["3", "4"].map { id in try Self.login(id) { $0.urls = [] } }
        let all = try Self.logins(Self.login("1"), second, generic[0], generic[1])
        #expect(try all.stored(in: vault).counts == "added 4")
        #expect(try all.stored(in: vault).counts == "unchanged 4")
        #expect(try vault.all().map { $0.account } == ["ada", "ada", "ada", "ada"])
        #expect(try Set(vault.all().compactMap(\.service)) == ["Example", "Example~2"])
        let changed = try Self.login("2") { $0.password = try Secret(text: "new") }
        #expect(
            try Self.logins(Self.login("1"), changed, generic[0], generic[1]).stored(in: vault).counts
                == "updated 1, unchanged 3")
        #expect(
            try Self.logins(Self.login("1"), changed, generic[0], generic[1]).stored(in: vault).counts == "unchanged 4")
    }

    @Test func `an item that was there already is left as it is`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try vault.add(Item(.internetPassword(server: "example.com", account: "ada", protocol: "htps"), secret: "mine"))
        #expect(try Self.logins(Self.login("1")).stored(in: vault).counts == "differs 1")
        #expect(try vault.all().count == 1 && vault.all().first?.openedSecret()?.text == "mine")
        let same = try Self.login("1") { login in
            login.password = try Secret(text: "mine")
            login.fields = []
            login.attributes = []
            login.notes = ""
        }
        #expect(try Self.logins(same).stored(in: vault).counts == "unchanged 1")
        #expect(try Self.logins(Self.login("1")).stored(in: vault, replaces: true).counts == "updated 1")
        #expect(try vault.all().count == 1 && vault.all().first?.openedSecret()?.text == "one")
    }

    @Test func `an entry that gets or loses its page changes its class`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try Self.logins(Self.login("1") { $0.urls = [] }).stored(in: vault)
        #expect(try vault.all().map(\.itemClass) == [.genericPassword])
        #expect(try Self.logins(Self.login("1")).stored(in: vault).counts == "updated 1")
        #expect(try vault.all().map(\.itemClass) == [.internetPassword])
        #expect(try Self.logins(Self.login("1")).stored(in: vault).counts == "unchanged 1")
    }

    @Test func `long texts become fields, odd names are repaired, and attachments become items`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let login = try Self.login("1") { login in
            login.notes = String(repeating: "n", count: 70_000)
            login.addAttribute("long", String(repeating: "x", count: 5000))
            login.addAttribute("vault.import", "forged")
            login.addAttribute("url", "u")
            try login.addField("pin", Secret(text: "second"))
            try login.addField("a\u{1}b\nc", Secret(text: "odd"))
            try login.addField(String(repeating: "é", count: 300), Secret(text: "wide"))
            login.attachments = [
                .init(name: "a.txt", content: try Secret(text: "file")),
                .init(name: "a.txt", content: try Secret(text: "file 2")),
            ]
        }
        #expect(try Self.logins(login).stored(in: vault).counts == "added 3")
        #expect(try Self.logins(login).stored(in: vault).counts == "unchanged 3")
        let item = try #require(
            try vault.first(.internetPassword(server: "example.com", account: "ada", protocol: "htps")))
        #expect(
            try item.openedSecret(field: "notes")?.count == 70_000 && item.userAttributes["vault.import"] == "test:1")
        #expect(item.userAttributes["custom.vault.import"] == "forged" && item.userAttributes["custom.url"] == "u")
        #expect(item.fieldNames.contains("pin 2") && item.fieldNames.contains("a b c"))
        let files = try vault.copyMatching(Query(.genericPassword, account: "a.txt"))
        #expect(try files.map { try $0.openedSecret()?.text } == ["file", "file 2"])
        #expect(files.map(\.service) == ["example.com/attachment", "example.com/attachment~2"])
    }

    @Test func `what is too large is skipped, and the rest comes`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let large = try Self.login("1") { $0.password = try Secret(bytes: [UInt8](repeating: 1, count: 16 << 20)) }
        let report = try Self.logins(large, Self.login("2")).stored(in: vault)
        #expect(
            report.counts == "added 1, skipped 1"
                && report.lines[0].reason == "its secrets have more than 16 MiB together")
    }

    @Test func `a run that only looks changes nothing and says the same`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let sequence = try vault.sequence
        let plan = try ImportPlan(
            Self.logins(Self.login("1")), of: "test", in: vault, group: "default", replaces: false)
        let after = try vault.sequence
        #expect(plan.report.counts == "added 1" && after == sequence)
    }

    @Test func `notes that an item of the same secret has not are not thrown away`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try vault.add(
            Item(
                .internetPassword(server: "example.com", account: "ada", protocol: "htps"), secret: "one",
                fields: ["pin": "1234"]))
        #expect(try Self.logins(Self.login("1")).stored(in: vault).counts == "differs 1")
        #expect(try Self.logins(Self.login("1")).stored(in: vault, replaces: true).counts == "updated 1")
        let item = try #require(try vault.all().first)
        #expect(item[.comment]?.text == "n" && item.userAttributes["team"] == "web")
    }

    @Test func `entries of another file take no place of those of the first`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        func run(_ password: String, from file: String, replaces: Bool = false) throws -> String {
            let logins = try Self.logins(Self.login("1") { $0.password = try Secret(text: password) })
            var plan = try ImportPlan(logins, of: "csv", from: file, in: vault, group: "default", replaces: replaces)
            try plan.carryOut { _ in }
            return plan.report.counts
        }
        #expect(try run("one", from: "/a/x.csv") == "added 1" && run("two", from: "/b/x.csv") == "differs 1")
        #expect(try run("one", from: "/b/x.csv") == "unchanged 1" && run("three", from: "/a/x.csv") == "updated 1")
        #expect(try run("four", from: "/b/x.csv", replaces: true) == "updated 1")
        #expect(try vault.all().first?.openedSecret()?.text == "four")
    }

    @Test func `a port that the page no longer has goes, and the next change comes too`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try Self.logins(Self.login("1") { $0.urls = ["ftp://example.com:8443/a"] }).stored(in: vault)
        #expect(try Self.logins(Self.login("1") { $0.urls = ["example.com"] }).stored(in: vault).counts == "updated 1")
        let item = try #require(try vault.all().first)
        #expect(WebAddress(item).text == "example.com")
        let changed = try Self.login("1") { login in
            login.urls = ["example.com"]
            login.password = try Secret(text: "two")
        }
        #expect(try Self.logins(changed).stored(in: vault).counts == "updated 1")
    }

    @Test func `an entry without a password empties no item, and two of them take not the place of one`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try vault.add(Item(.internetPassword(server: "example.com", account: "ada", protocol: "htps"), secret: "mine"))
        let empty = try Self.login("1") { $0.password = nil }
        let second = try Self.login("2") { $0.password = try Secret(text: "two") }
        #expect(try Self.logins(empty, second).stored(in: vault, replaces: true).counts == "added 1, updated 1")
        #expect(try Set(vault.all().compactMap { try $0.openedSecret()?.text }) == ["mine", "two"])
    }

    @Test func `an entry with too much to say is skipped by its place, and hides no password in a URL`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let large = try Self.login("1") { $0.user = String(repeating: "u", count: 70_000) }
        let open = try Self.login("2") { login in
            login.urls = ["https://ada:hidden@example.com/"]
            login.id = String(repeating: "i", count: 5000)
        }
        let report = try Self.logins(large, open).stored(in: vault)
        #expect(report.counts == "added 1, skipped 1" && report.lines[0].place == "entry 1")
        let item = try #require(try vault.all().first)
        #expect(!"\(item.attributes) \(item.userAttributes)".contains("hidden"))
        #expect(try item.openedSecret(field: "url")?.text == "https://ada:hidden@example.com/")
    }

    @Test func `files of two accounts go out with their own`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        let logins = try ["1", "2"].map { id in
            try Self.login(id) { login in
                login.user = "user \(id)"
                login.attachments = [.init(name: "codes.txt", content: try Secret(text: "codes \(id)"))]
            }
        }
        try Self.logins(logins[0], logins[1]).stored(in: vault)
        let entries = try ExportedEntries(try vault.all()).entries
        #expect(entries.map { $0.attachments.map { $0.content.text } } == [["codes 1"], ["codes 2"]])
    }

    @Test func `an import into a group recognizes only the items of that group`() throws {
        let vault = try Vault.inMemory(accessGroups: ["default", "work", "home"])
        let logins = try Self.logins(Self.login("1"))
        func run(_ logins: ImportedLogins, _ group: String?) throws -> String {
            var plan = try ImportPlan(
                logins, of: "test", in: vault, group: group, within: ImportTrust(group: group), replaces: false)
            try plan.carryOut { _ in }
            return plan.report.counts
        }
        #expect(try run(logins, "work") == "added 1" && run(logins, "home") == "added 1")
        let changed = try Self.logins(Self.login("1") { $0.password = try Secret(text: "two") })
        #expect(try run(changed, "work") == "updated 1" && run(changed, "work") == "unchanged 1")
        let found = try vault.all().map { "\($0[.accessGroup]?.text ?? "") \(try $0.openedSecret()?.text ?? "")" }
        #expect(found.sorted() == ["home one", "work two"])
    }

    @Test func `another import of a changed entry keeps the item's class, group and mark`() throws {
        for hasPage in [true, false] {
            let vault = try Vault.inMemory(accessGroups: ["default", "work"])
            func logins(_ password: String, hasPage: Bool) throws -> ImportedLogins {
                try Self.logins(
                    Self.login("1") { login in
                        login.password = try Secret(text: password)
                        if !hasPage { login.urls = [] }
                    })
            }
            var plan = try ImportPlan(
                logins("one", hasPage: hasPage), of: "test", in: vault, group: "default", replaces: false)
            try plan.carryOut { _ in }
            let record = try #require(try vault.all().first?.record)
            try vault.update(
                record, with: ItemChanges(attributes: [.accessible: "cku", .accessGroup: "work", .synchronizable: 0]))
            for (password, hasPage) in [("two", hasPage), ("three", !hasPage)] {
                plan = try ImportPlan(
                    logins(password, hasPage: hasPage), of: "test", in: vault, group: nil, replaces: false)
                try plan.carryOut { _ in }
                #expect(plan.report.counts == "updated 1")
                let item = try #require(try vault.all().first)
                #expect(try vault.all().count == 1 && item.openedSecret()?.text == password)
                #expect(item[.accessible] == "cku" && item[.accessGroup] == "work")
            }
        }
    }

    @Test func `a protected item stops an import without a person, and stays protected`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        for hasPage in [true, false] {
            try Self.logins(Self.login("\(hasPage)") { if !hasPage { $0.urls = [] } }).stored(in: vault)
        }
        let control = AttributeValue.data(AccessControl(.afterFirstUnlock, constraints: 1).encoded)
        for item in try vault.all() {
            try vault.update(try #require(item.record), with: ItemChanges(attributes: [.accessControl: control]))
        }
        // The first changes its secret, the second its class.
        let changed = try [true, false].map { hasPage in
            try Self.login("\(hasPage)") { login in
                login.password = try Secret(text: "two")
                if !hasPage { login.urls = ["https://other.example"] }
            }
        }
        let logins = Self.logins(changed[0], changed[1])
        let sequence = try vault.sequence
        #expect(flaw { try logins.stored(in: vault) } == "outside: presenceRequired")
        #expect(try vault.sequence == sequence)
        #expect(try logins.stored(in: vault.attended()).counts == "updated 2")
        #expect(throws: VaultError.presenceRequired) { try vault.copyMatching(Query(.internetPassword)) }
        let items = try vault.attended().all()
        #expect(try items.map { try $0.openedSecret()?.text } == ["two", "two"])
        #expect(items.allSatisfy { $0[.accessControl] == control })
    }

    @Test func `a locked vault takes no import, and has nothing of it afterwards`() throws {
        let vault = try Vault.inMemory(accessGroups: .standard)
        try Self.logins(Self.login("1")).stored(in: vault)
        try vault.add(Item(.genericPassword(service: "boot"), accessible: .afterFirstUnlock, secret: "x"))
        let plan = try ImportPlan(
            Self.logins(Self.login("2") { $0.urls = [] }), of: "test", in: vault, group: "default", replaces: false)
        try vault.lock()
        #expect(flaw { try Self.logins(Self.login("1"), Self.login("2")).stored(in: vault) } == "outside: locked")
        // The vault is locked between the plan and the change.
        #expect(
            flaw { () throws in
                var late = plan; try late.carryOut { _ in }
            } == "outside: locked")
        #expect(try vault.verify(deep: false).items == 2)
    }

    @Test func `random changes on both sides lose nothing that was told`() throws {
        let random = SeededRandom("import plan")
        let vault = try Vault.inMemory(accessGroups: .standard)
        var source = (0..<12).map { [$0, 0] }
        var mine: [Int: String] = [:]
        for _ in 0..<40 {
            for index in source.indices where random.chance(20) { source[index][1] += 1 }
            let logins = try source.map { entry in
                try Self.login(String(entry[0])) { login in
                    login.user = "user \(entry[0] % 5)"
                    login.password = try Secret(text: "\(entry[0]) \(entry[1])")
                }
            }
            var imported = ImportedLogins()
            imported.logins = logins
            let report = try imported.stored(in: vault)
            #expect(report.lines.count == 12 && report.count(.skipped) == 0)
            for item in try vault.all() {
                let id = try #require(item.userAttributes["vault.import"].flatMap { Int($0.dropFirst(5)) })
                let secret = try item.openedSecret()?.text
                // A change in the vault is never overwritten unless requested.
                if let own = mine[id] { #expect(secret == own) } else { #expect(secret == "\(id) \(source[id][1])") }
                guard random.chance(5), mine[id] == nil else { continue }
                mine[id] = "mine \(id)"
                try vault.update(item.record!, with: ItemChanges(secret: Secret(text: "mine \(id)")))
            }
        }
        #expect(try vault.all().count == 12 && !mine.isEmpty)
    }
}
