// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultStorage

/// Older versions of items, kept as configured and removed when due.
struct HistoryTests {
    private let test: TestVault
    private var vault: Vault { test.vault }
    private let query = Query(.genericPassword, service: "s")
    private var revealing: Query {
        var query = query
        query.returnsSecrets = true
        return query
    }

    init() throws { test = try TestVault() }

    private func secrets(in vault: Vault) throws -> [String?] {
        try vault.versions(matching: revealing).map { try $0.item.text }
    }

    private func set(_ secrets: String...) throws {
        for secret in secrets { try vault.set(.generic("s", "a", secret)) }
    }

    private var only: ItemRecord { get throws { try #require(try vault.copyMatching(query).first?.record) } }

    /// Returns the secrets of all versions after the vault is closed and opened again.
    private func reopenedSecrets() throws -> [String?] {
        vault.close()
        return try secrets(in: try test.reopened())
    }

    @Test func `without history there is none, and nothing to undo`() throws {
        try set("one", "two")
        #expect(try vault.historyLimit == 0)
        #expect(try secrets(in: vault) == ["two"])
        #expect(throws: VaultError.itemNotFound) { try vault.undo(try only) }
        try vault.delete(matching: query)
        #expect(throws: VaultError.itemNotFound) { try vault.deletedItems(matching: query) }
        #expect(throws: VaultError.itemNotFound) { try vault.versions(matching: query) }
    }

    @Test func `the last versions are kept, the older ones are not, and a compaction keeps exactly those`() throws {
        try vault.setHistoryLimit(2)
        try set("one", "two", "three", "four")
        #expect(try secrets(in: vault) == ["four", "three", "two"])
        #expect(try vault.versions(matching: query).map { $0.item.record?.version } == [4, 3, 2])
        try vault.compact()
        #expect(try secrets(in: vault) == ["four", "three", "two"])
        #expect(try secrets(in: test.reopened()) == ["four", "three", "two"])
        let result = try vault.verify(deep: true)
        #expect(result.items == 1 && result.versions == 2 && result.opened == 3)
        // The verbs see only the current version.
        #expect(vault.count(Query(.genericPassword)) == 1)
    }

    @Test func `what is beyond the limit is out of the file when the vault is closed`() throws {
        try vault.setHistoryLimit(1)
        try set("one", "two", "three")
        let before = try test.directory.read("test.vault").count
        #expect(try reopenedSecrets() == ["three", "two"])
        #expect(try test.directory.read("test.vault").count < before)
    }

    @Test func `a vault whose history is switched off keeps nothing`() throws {
        try vault.setHistoryLimit(3)
        try set("one", "two")
        try vault.delete(matching: query)
        try set("three", "four")
        try vault.setHistoryLimit(1)
        #expect(try secrets(in: vault) == ["four", "three"])
        try vault.setHistoryLimit(0)
        #expect(try secrets(in: vault) == ["four"])
        #expect(throws: VaultError.itemNotFound) { try vault.deletedItems(matching: query) }
        #expect(try reopenedSecrets() == ["four"])
        #expect(throws: VaultError.parameter(.limit)) { try vault.setHistoryLimit(-1) }
        #expect(throws: VaultError.parameter(.limit)) { try vault.setHistoryLimit(1001) }
    }

    @Test func `an undo brings secret and attributes back, and an undo of the undo as well`() throws {
        try vault.setHistoryLimit(5)
        try set("one")
        let id = try only.id
        try vault.update(matching: query, with: ItemChanges(attributes: [.label: "two"], secret: Secret(text: "two")))
        try vault.undo(try only)
        var found = try #require(try vault.copyMatching(revealing).first)
        #expect(try found.text == "one" && found[.label] == nil && found.record?.id == id && found.record?.version == 3)
        try vault.undo(try only)
        found = try #require(try vault.copyMatching(revealing).first)
        #expect(try found.text == "two" && found[.label] == "two")
        try vault.undo(try only, to: 1)
        #expect(try vault.copyMatching(revealing).first?.text == "one")
        #expect(throws: VaultError.itemNotFound) { try vault.undo(try only, to: 77) }
        try vault.compact()
        #expect(try secrets(in: vault) == ["one", "two", "one", "two", "one"])
    }

    @Test func `an undo that would make two items of one key changes nothing`() throws {
        try vault.setHistoryLimit(5)
        try set("one")
        try vault.update(matching: query, with: ItemChanges(attributes: [.account: "b"]))
        try set("another")
        let moved = try #require(
            try vault.copyMatching(Query(.genericPassword, service: "s", account: "b")).first?.record)
        #expect(throws: VaultError.duplicateItem) { try vault.undo(moved) }
        #expect(vault.count(query) == 2)
        try vault.delete(matching: Query(.genericPassword, service: "s", account: "a"))
        try vault.undo(moved)
        #expect(try vault.copyMatching(query).map { $0[.account] } == ["a"])
    }

    @Test func `a deleted item comes back as it was`() throws {
        try vault.setHistoryLimit(2)
        try set("one", "two")
        let id = try only.id
        try vault.delete(matching: query)
        #expect(vault.count(query) == 0)
        #expect(try vault.deletedItems(matching: revealing).map { try $0.item.text } == ["two"])
        try vault.compact()
        let deleted = try #require(try vault.deletedItems(matching: query).first?.item.record)
        try vault.restoreItem(deleted)
        #expect(try vault.copyMatching(revealing).first?.text == "two" && only.id == id)
        #expect(throws: VaultError.itemNotFound) { try vault.restoreItem(deleted) }
        #expect(throws: VaultError.itemNotFound) { try vault.deletedItems(matching: query) }
        try vault.undo(try only)
        #expect(try vault.copyMatching(revealing).first?.text == "two")
        #expect(try secrets(in: test.reopened()).first == "two")
    }

    @Test func `a deleted item is kept for as many days as the vault is told, and then goes from the file`() throws {
        try vault.setHistoryLimit(5)
        try vault.setDeletedItemsLimit(30)
        #expect(try vault.deletedItemsLimit == 30)
        try set("one", "two")
        try vault.delete(matching: query)
        test.clock.advance(by: 29 * 86_400)
        #expect(try vault.deletedItems(matching: query).count == 1)
        vault.close()
        let later = try test.reopened()
        let record = try #require(try later.deletedItems(matching: query).first?.item.record)
        test.clock.advance(by: 2 * 86_400)
        #expect(throws: VaultError.itemNotFound) { try later.deletedItems(matching: query) }
        #expect(throws: VaultError.itemNotFound) { try later.restoreItem(record) }
        // A read-only handle writes nothing.
        later.close()
        #expect(try test.reopened().verify(deep: true).versions == 2)
        let writer = try test.reopened()
        try writer.add(.generic("other", "a", "secret"))
        writer.close()
        #expect(try test.reopened().verify(deep: true).versions == 0)
    }

    @Test func `an item that came back is not one that was deleted`() throws {
        try vault.setHistoryLimit(5)
        try vault.setDeletedItemsLimit(1)
        try set("one", "two")
        try vault.delete(matching: query)
        try vault.restoreItem(try #require(try vault.deletedItems(matching: query).first?.item.record))
        test.clock.advance(by: 3 * 86_400)
        try set("three")
        vault.close()
        let reopened = try test.reopened()
        #expect(try secrets(in: reopened) == ["three", "two", "two", "one"])
        try reopened.undo(try #require(try reopened.copyMatching(query).first?.record))
        #expect(try reopened.copyMatching(revealing).map { try $0.text } == ["two"])
    }

    @Test func `locking takes out what has been kept for its time, and without a limit nothing goes`() throws {
        for days in [nil, 7] {
            let test = try TestVault()
            try test.vault.setHistoryLimit(2)
            try test.vault.setDeletedItemsLimit(days)
            try test.vault.add(.generic("s", "a", "gone"))
            try test.vault.delete(matching: query)
            test.clock.advance(by: 8 * 86_400)
            try test.vault.lock()
            #expect(try test.vault.verify(deep: false).versions == (days == nil ? 1 : 0))
        }
    }

    @Test(arguments: [0, -1, 36_501])
    func `a number of days that no vault keeps is refused`(days: Int) throws {
        #expect(throws: VaultError.parameter(.limit)) { try vault.setDeletedItemsLimit(days) }
        #expect(try vault.deletedItemsLimit == nil)
    }

    @Test func `a deleted item does not take the place of a new one`() throws {
        try vault.setHistoryLimit(2)
        try set("one")
        try vault.delete(matching: query)
        try set("new")
        let deleted = try #require(try vault.deletedItems(matching: query).first?.item.record)
        #expect(throws: VaultError.duplicateItem) { try vault.restoreItem(deleted) }
        #expect(try vault.copyMatching(revealing).map { try $0.text } == ["new"])
    }

    @Test func `a purge takes the versions out of the file and leaves the item`() throws {
        try vault.setHistoryLimit(3)
        try set("one", "two")
        try vault.add(.generic("t", "a", "gone"))
        try vault.delete(matching: Query(.genericPassword, service: "t"))
        #expect(try vault.purgeHistory(matching: [query], onlyDeleted: true) == 0)
        #expect(try vault.purgeHistory(matching: [query]) == 1)
        #expect(try secrets(in: vault) == ["two"])
        #expect(try vault.deletedItems(matching: Query(.genericPassword)).count == 1)
        #expect(try vault.purgeHistory(matching: [Query(.genericPassword)], onlyDeleted: true) == 1)
        #expect(throws: VaultError.itemNotFound) { try vault.deletedItems(matching: Query(.genericPassword)) }
        try set("three")
        #expect(try secrets(in: test.reopened()) == ["three", "two"])
    }

    @Test func `several changes in one transaction, and several transactions at once, keep what they should`() throws {
        try vault.setHistoryLimit(4)
        try vault.transaction { (transaction: inout Transaction) throws(VaultError) in
            for secret in ["one", "two", "three"] as [Secret] {
                try transaction.set(Item(.genericPassword(service: "s", account: "a"), secret: secret))
            }
        }
        #expect(try secrets(in: vault) == ["three", "two", "one"])
        try vault.update(matching: query, with: ItemChanges(attributes: [.label: "l"]))
        try vault.compact()
        #expect(try secrets(in: vault) == ["three", "three", "two", "one"])
        #expect(try secrets(in: test.reopened()) == ["three", "three", "two", "one"])
    }

    @Test func `versions that share a secret share its bytes, however often the file is written anew`() throws {
        try vault.setHistoryLimit(50)
        try vault.add(.generic("s", "a", String(repeating: "x", count: 100_000)))
        for number in 0..<40 {
            try vault.update(matching: query, with: ItemChanges(attributes: [.label: .string("\(number)")]))
        }
        try vault.compact()
        #expect(try test.directory.read("test.vault").count < 200_000)
        try vault.rekey([SlotEntry(.passphrase(test.passphrase), name: "passphrase")])
        #expect(try test.directory.read("test.vault").count < 200_000)
        #expect(try secrets(in: test.reopened()).count == 41)
        #expect(try test.reopened().verify(deep: true).opened == 41)
    }

    @Test func `a synchronizable item whose key an undo takes back leaves a tombstone`() throws {
        try vault.setHistoryLimit(2)
        try vault.add(.generic("s", "a", "one", [.synchronizable: 1]))
        var query = query
        try vault.update(matching: query, with: ItemChanges(attributes: [.account: "b"]))
        try vault.undo(try #require(try vault.copyMatching(query).first?.record))
        query.attributes[.tombstone] = 1
        #expect(try vault.copyMatching(query).map { $0[.account] } == ["b"])
    }

    @Test func `threads whose changes become durable together may set, undo and seal again one item`() throws {
        let test = try TestVault(waits: true)
        let vault = test.vault
        try vault.setHistoryLimit(50)
        try vault.add(.generic("s", "a", "0"))
        try atOnce(64) { number in
            let query = Query(.genericPassword, service: "s")
            do {
                switch number % 4 {
                case 0: try vault.set(.generic("s", "a", "\(number)"))
                case 1: try vault.update(matching: query, with: ItemChanges(attributes: [.accessible: "ck"]))
                case 2: try vault.update(matching: query, with: ItemChanges(attributes: [.accessible: "ak"]))
                default: if let record = try vault.copyMatching(query).first?.record { try vault.undo(record) }
                }
            } catch VaultError.itemNotFound {
                // There was nothing to undo yet.
            } catch {
                Issue.record("\(error)")
            }
        }
        #expect(try vault.verify(deep: true).versions <= 50)
        #expect(try test.reopened().verify(deep: true).items == 1)
    }

    @Test func `a change that fails keeps no version`() throws {
        try vault.setHistoryLimit(1)
        try set("one", "two")
        #expect(throws: VaultError.duplicateItem) {
            try vault.transaction { (transaction: inout Transaction) throws(VaultError) in
                try transaction.update(matching: query, with: ItemChanges(attributes: [.label: "l"]))
                try transaction.add(Item(.genericPassword(service: "s", account: "a"), secret: "x"))
            }
        }
        #expect(try secrets(in: vault) == ["two", "one"])
        try vault.compact()
        #expect(try secrets(in: test.reopened()) == ["two", "one"])
    }

    @Test func `another process that follows has the same versions`() throws {
        let other = try test.reopened()
        try vault.setHistoryLimit(2)
        try set("one", "two", "three", "four")
        #expect(try secrets(in: other) == ["four", "three", "two"])
        try other.undo(try #require(try other.copyMatching(query).first?.record))
        #expect(try secrets(in: vault) == ["three", "four", "three"])
        try other.compact()
        try set("five")
        #expect(try secrets(in: other) == ["five", "three", "four"])
    }

    @Test func `a caller outside the group sees no versions`() throws {
        try vault.setHistoryLimit(2)
        try set("one", "two")
        let record = try only
        let stranger = vault.withAccessGroups(["C"])
        #expect(throws: VaultError.itemNotFound) { try stranger.versions(matching: query) }
        #expect(throws: VaultError.itemNotFound) { try stranger.undo(record) }
        try vault.delete(matching: query)
        #expect(throws: VaultError.itemNotFound) { try stranger.deletedItems(matching: query) }
        #expect(throws: VaultError.itemNotFound) { try stranger.restoreItem(record) }
    }

    @Test func `a locked vault shows no versions of what is readable while unlocked`() throws {
        try vault.setHistoryLimit(2)
        try set("one", "two")
        let record = try only
        try vault.lock()
        #expect(throws: VaultError.locked) { try vault.versions(matching: query) }
        #expect(throws: VaultError.locked) { try vault.undo(record) }
    }

    @Test func `an older version is locked by its own class, and restored under it`() throws {
        try vault.setHistoryLimit(3)
        let (ak, ck) = (AttributeValue("ak"), AttributeValue("ck"))
        for (account, before, now) in [("opened", ak, ck), ("closed", ck, ak)] {
            let query = Query(.genericPassword, service: "s", account: account)
            try vault.add(.generic("s", account, "before", [.accessible: before]))
            try vault.update(matching: query, with: ItemChanges(attributes: [.accessible: now], secret: "now"))
        }
        let opened = Query(.genericPassword, service: "s", account: "opened")
        let closed = Query(.genericPassword, service: "s", account: "closed")
        let record = try #require(try vault.copyMatching(opened).first?.record)
        try vault.lock()
        #expect(try vault.copyMatching(opened).first?.text == "now")
        for query in [opened, closed] {
            #expect(throws: VaultError.locked) { try vault.versions(matching: query) }
        }
        #expect(throws: VaultError.locked) { try vault.undo(record) }
        try vault.delete(matching: closed)
        #expect(throws: VaultError.locked) { try vault.deletedItems(matching: closed) }
        try vault.unlock(with: .passphrase(test.passphrase))
        try vault.undo(record)
        try vault.lock()
        #expect(throws: VaultError.locked) { try vault.copyMatching(opened) }
    }

    @Test func `a deleted synchronizable item is restored over its tombstone`() throws {
        try vault.setHistoryLimit(2)
        try vault.add(.generic("s", "a", "one", [.synchronizable: 1]))
        var query = query
        try vault.delete(matching: query)
        let deleted = try #require(try vault.deletedItems(matching: query).first?.item.record)
        try vault.restoreItem(deleted)
        query.returnsSecrets = true
        #expect(try vault.copyMatching(query).map { try $0.text } == ["one"])
    }

    @Test func `forgetting a group takes its items, its deleted items and their versions, and nothing else`() throws {
        try vault.setHistoryLimit(3)
        let b = vault.withAccessGroups(["B"])
        try set("one", "two")
        for secret in ["b1", "b2"] { try b.set(.generic("s", "a", secret)) }
        try b.add(.generic("gone", "a"))
        try b.delete(matching: Query(.genericPassword, service: "gone"))
        _ = try b.deviceIdentifier(for: "B")
        _ = try b.deviceIdentifier(for: "another")
        #expect(try vault.forget(accessGroup: "B") == 2)
        #expect(throws: VaultError.itemNotFound) { try b.versions(matching: query) }
        #expect(throws: VaultError.itemNotFound) { try b.deletedItems(matching: Query(.genericPassword)) }
        #expect(try secrets(in: vault) == ["two", "one"])
        #expect(try vault.forget(accessGroup: "B") == 0)
        #expect(throws: VaultError.accessGroupDenied) { try vault.forget(accessGroup: "C") }
        #expect(try test.reopened().verify(deep: true).items == 2)
    }
}
