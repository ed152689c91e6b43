// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultStorage

/// Random operations, compared with the same operations on a dictionary, across reopening, compaction and a second
/// process.
struct ModelTests {
    /// An item in the dictionary.
    private struct Entry: Equatable {
        var account: String
        var label: String?
        var secret: String
    }

    private struct Key: Hashable {
        var service: String
        var account: String
    }

    @Test(arguments: 0..<6) func `a vault does what a dictionary does`(seed: Int) throws {
        let random = SeededRandom("model \(seed)")
        let test = try TestVault(groups: .standard)
        var vaults = [test.vault, try test.reopened(groups: .standard)]
        var model: [Key: Entry] = [:]
        for step in 0..<150 {
            let which = random.number(in: 0...1)
            let vault = vaults[which]
            let key = Key(service: "s\(random.number(in: 0...2))", account: "a\(random.number(in: 0...3))")
            let secret = String(repeating: "v", count: random.element(of: [0, 1, 50, 61, 900])) + "\(step)"
            switch random.number(in: 0...11) {
            case 0...3:
                let item = Item(
                    .genericPassword(service: key.service, account: key.account), secret: try Secret(text: secret))
                if model[key] == nil {
                    try vault.add(item)
                    model[key] = Entry(account: key.account, label: nil, secret: secret)
                } else {
                    #expect(throws: VaultError.duplicateItem) { try vault.add(item) }
                }
            case 4:
                try vault.set(
                    Item(.genericPassword(service: key.service, account: key.account), secret: Secret(text: secret)))
                model[key, default: Entry(account: key.account, label: nil, secret: "")].secret = secret
            case 5, 6:
                let matching = model.keys.filter { $0.service == key.service }
                let changes = ItemChanges(
                    attributes: [.label: .string("l\(step)")],
                    secret: random.chance(50) ? try Secret(text: secret) : nil)
                guard !matching.isEmpty else {
                    #expect(throws: VaultError.itemNotFound) {
                        try vault.update(matching: Query(.genericPassword, service: key.service), with: changes)
                    }
                    break
                }
                #expect(
                    try vault.update(matching: Query(.genericPassword, service: key.service), with: changes)
                        == matching.count)
                for match in matching {
                    model[match]?.label = "l\(step)"
                    if changes.secret != nil { model[match]?.secret = secret }
                }
            case 7:
                let target = Key(service: key.service, account: "a\(random.number(in: 0...3))")
                guard model[key] != nil else { break }
                let query = Query(.genericPassword, service: key.service, account: key.account)
                let changes = ItemChanges(attributes: [.account: .string(target.account)])
                if target != key, model[target] != nil {
                    #expect(throws: VaultError.duplicateItem) { try vault.update(matching: query, with: changes) }
                } else {
                    try vault.update(matching: query, with: changes)
                    model[target] = model.removeValue(forKey: key)
                    model[target]?.account = target.account
                }
            case 8:
                if model.removeValue(forKey: key) != nil {
                    try vault.delete(matching: Query(.genericPassword, service: key.service, account: key.account))
                }
            case 9:
                // A transaction that fails at its end leaves nothing.
                #expect(throws: VaultError.itemNotFound) {
                    try vault.transaction { (transaction: inout Transaction) throws(VaultError) in
                        try transaction.set(
                            Item(.genericPassword(service: key.service, account: key.account), secret: "lost"))
                        try transaction.add(
                            Item(.genericPassword(service: "other", account: "\(step)"), secret: "lost"))
                        try transaction.delete(matching: Query(.genericPassword, service: "none"))
                    }
                }
            case 10: try vault.compact()
            default:
                vault.close()
                vaults[which] = try test.reopened(groups: .standard)
            }
            for vault in vaults { #expect(try Self.contents(vault) == model, "step \(step)") }
        }
        #expect(try test.reopened(groups: .standard).verify(deep: true).items == model.count)
    }

    private static func contents(_ vault: Vault) throws -> [Key: Entry] {
        var contents: [Key: Entry] = [:]
        let items: [Item]
        do { items = try vault.copyMatching(Query(.genericPassword)) } catch {
            guard error == .itemNotFound else { throw error }
            return [:]
        }
        for item in items {
            let key = Key(service: item[.service]?.text ?? "", account: item[.account]?.text ?? "")
            contents[key] = Entry(account: key.account, label: item[.label]?.text, secret: try item.text ?? "-")
        }
        return contents
    }
}

struct ConcurrencyTests {
    @Test func `eight threads and two handles lose nothing`() async throws {
        let test = try TestVault(groups: .standard, waits: true)
        let vaults = [test.vault, try test.reopened(groups: .standard)]
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    for index in 0..<25 {
                        let item = Item(.genericPassword(service: "thread \(thread)", account: "\(index)"), secret: "x")
                        do { try await vaults[thread % 2].add(item) } catch { Issue.record("\(error)") }
                    }
                }
            }
        }
        for vault in vaults { #expect(vault.count(Query(.genericPassword)) == 200) }
        #expect(try await test.reopened(groups: .standard).verify(deep: true).opened == 200)
    }

    @Test func `a change that fails takes none of its neighbours along`() async throws {
        let test = try TestVault(groups: .standard)
        try await test.vault.add(Item.generic("s", "taken"))
        let vault = test.vault
        let outcomes = await withTaskGroup(of: VaultError?.self) { group in
            for index in 0..<40 {
                group.addTask {
                    let account = index % 4 == 0 ? "taken" : "\(index)"
                    do {
                        try await vault.add(Item(.genericPassword(service: "s", account: account), secret: "x"))
                        return nil
                    } catch { return error as? VaultError }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == .duplicateItem } == 10)
        #expect(outcomes.count { $0 == nil } == 30)
        #expect(try test.reopened(groups: .standard).count(Query(.genericPassword)) == 31)
    }

    @Test func `another handle sees a change at its next call`() throws {
        let test = try TestVault(groups: .standard)
        let other = try test.reopened(groups: .standard)
        try test.vault.add(Item.generic("s", "a", "one"))
        #expect(try other.copyMatching(Query(.genericPassword))[0].text == "one")
        try other.update(matching: Query(.genericPassword), with: ItemChanges(secret: "two"))
        #expect(try test.vault.copyMatching(Query(.genericPassword))[0].text == "two")
        try other.compact()
        try other.delete(matching: Query(.genericPassword))
        #expect(test.vault.count(Query(.genericPassword)) == 0)
    }

    @Test func `a changed passphrase leaves open vaults open and closes the old way in`() throws {
        let test = try TestVault(groups: .standard)
        try test.vault.add(Item.generic("s", "a", "kept"))
        let other = try test.reopened(groups: .standard)
        #expect(throws: VaultError.storage(.wrongPassphrase)) {
            try test.vault.changePassphrase(from: Passphrase.of("no"), to: .of("new"))
        }
        try test.vault.changePassphrase(from: test.passphrase, to: .of("new"), cost: .weakest)
        #expect(try other.copyMatching(Query(.genericPassword))[0].text == "kept")
        #expect(throws: VaultError.storage(.wrongPassphrase)) { try test.reopened() }
        let reopened = try Vault.open(
            at: test.path, unlockingWith: .of("new"), environment: TestVault.environment(test.directory, test.clock),
            accessGroups: .standard)
        #expect(try reopened.copyMatching(Query(.genericPassword))[0].text == "kept")
    }

    @Test func `a file that is replaced by an older copy is noticed by whoever has it open`() throws {
        let test = try TestVault(groups: .standard)
        try test.vault.add(Item.generic("s", "a"))
        let old = try test.directory.read("test.vault")
        try test.vault.add(Item.generic("s", "b"))
        try test.directory.write(old, to: "test.vault")
        try LinuxFileSystem.restrict(test.path)
        #expect(throws: VaultError.storage(.rolledBack)) { try test.vault.copyMatching(Query(.genericPassword)) }
    }

    @Test func `a vault that is locked by another process is busy after a bounded wait`() throws {
        let test = try TestVault(groups: .standard)
        try test.vault.add(Item.generic("s", "a"))
        let lock = try LinuxFileSystem().openDirectory(test.directory.path).openOrCreate(".test.vault.lock")
        #expect(try lock.tryLock(exclusive: true))
        #expect(throws: VaultError.storage(.busy)) { try test.vault.add(Item.generic("s", "b")) }
        // Readers take no lock.
        #expect(test.vault.count(Query(.genericPassword)) == 1)
        lock.unlock()
        try test.vault.add(Item.generic("s", "b"))
    }
}
