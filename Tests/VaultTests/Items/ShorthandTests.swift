// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto

/// The short forms of the most common verbs.
struct ShorthandTests {
    @Test func `first and contains say nothing of what is not there, and throw what is wrong`() throws {
        let test = try TestVault()
        let query = Query(.genericPassword, service: "s")
        #expect(try test.vault.first(query)?.account == nil && !test.vault.contains(query))
        try test.vault.add(Item.generic("s", "a"))
        try test.vault.add(Item.generic("s", "b"))
        #expect(try test.vault.first(query)?.account == "a" && test.vault.contains(query))
        let key = ItemKey.genericPassword(service: "s", account: "b")
        #expect(try test.vault.first(key)?.account == "b" && test.vault.contains(key))
        #expect(throws: VaultError.parameter(.classMissing)) { try test.vault.first(Query(nil)) }
        #expect(try test.vault.deleteAll(query) == 2 && test.vault.deleteAll(query) == 0)
    }

    @Test func `an item that was found is changed and written back, unless another did so first`() throws {
        let test = try TestVault()
        try test.vault.add(
            Item(
                .genericPassword(service: "s", account: "a"), attributes: [.comment: "c"],
                userAttributes: ["k": "v", "x": "y"],
                accessible: .afterFirstUnlock, secret: "old", fields: ["otp": "seed"]))
        var item = try #require(try test.vault.first(.genericPassword(service: "s", account: "a")))
        item[.label] = "L"
        item.userAttributes["k"] = nil
        item.userAttributes["n"] = "1"
        item.secret = "new"
        item.fields["pin"] = "1"
        try test.vault.update(item)
        let changed = try #require(try test.vault.first(.genericPassword(service: "s", account: "a")))
        #expect(changed.label == "L" && changed.userAttributes == ["x": "y", "n": "1"] && changed[.comment] == "c")
        #expect(changed[.accessible] == "ck" && changed.fieldNames == ["otp", "pin"])
        #expect(try changed.text == "new" && changed.secretString(field: "otp") == "seed")
        #expect(throws: VaultError.versionMismatch) { try test.vault.update(item) }
        #expect(throws: VaultError.versionMismatch) {
            try test.vault.update(try #require(item.record), with: ItemChanges(secret: "lost"))
        }
        try test.vault.delete(changed)
        #expect(throws: VaultError.itemNotFound) { try test.vault.delete(changed) }
        #expect(throws: VaultError.itemNotFound) { try test.vault.update(changed) }
        #expect(throws: VaultError.itemNotFound) { try test.vault.update(Item(.genericPassword(service: "never"))) }
        #expect(throws: VaultError.itemNotFound) { try test.vault.delete(Item(.genericPassword(service: "never"))) }
    }

    private enum OwnError: TransactionError, Equatable {
        case mine
        case vault(VaultError)

        init(_ error: VaultError) { self = .vault(error) }
    }

    @Test func `a transaction throws the caller's own type, and takes everything back for it`() throws {
        let test = try TestVault()
        let vault = test.vault
        #expect(throws: OwnError.mine) {
            try vault.transaction { (transaction: inout Transaction) throws(OwnError) in
                do throws(VaultError) { try transaction.add(Item(.genericPassword(service: "s"))) } catch {
                    throw .vault(error)
                }
                throw .mine
            }
        }
        vault.close()
        #expect(throws: OwnError.vault(.closed)) {
            try vault.transaction { (_: inout Transaction) throws(OwnError) in () }
        }
        let again = try test.reopened()
        #expect(try !again.contains(Query(.genericPassword)))
        // A single-expression closure needs no error type.
        try again.transaction { try $0.add(Item(.genericPassword(service: "s"))) }
        #expect(try again.contains(Query(.genericPassword)))
    }

    @Test func `what is printed of an item has its names and nothing of the inside`() throws {
        let test = try TestVault()
        let item = try test.vault.add(Item.generic("s", "a", "s3cret"))
        #expect("\(item)" == #"Item(genp, svce: "s", acct: "a", version: 1)"#)
        var record = ""
        dump(try #require(item.record), to: &record)
        #expect(!record.contains("core") && !record.contains("0x") && record.contains("version"), "\(record)")
    }
}
