// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultStorage

/// A login with several secrets that are stored together.
struct FieldTests {
    private let query = Query(.genericPassword, service: "s", account: "a")

    private func item(secret: String? = "main", _ fields: [String: String]) throws -> Item {
        Item(
            .genericPassword(service: "s", account: "a"), secret: try secret.map { try Secret(text: $0) },
            fields: try fields.mapValues { try Secret(text: $0) })
    }

    private func changes(_ secret: String? = nil, _ fields: [String: String?] = [:]) throws -> ItemChanges {
        ItemChanges(
            secret: try secret.map { try Secret(text: $0) },
            fields: try fields.mapValues { try $0.map { try Secret(text: $0) } })
    }

    /// Returns the item as text: the main secret, then the fields.
    private func look(_ store: any ItemStore, secrets: Bool = false) throws -> String {
        var query = query
        query.returnsSecrets = secrets
        return try text(of: try #require(try store.copyMatching(query).first))
    }

    private func text(of item: Item) throws -> String {
        let fields = try item.fieldNames.map { name in
            "\(name)=\(try item.withSecret(field: name) { String(decoding: $0.array, as: UTF8.self) } ?? "none")"
        }
        return ([try item.text ?? "none"] + fields).joined(separator: " ")
    }

    @Test(arguments: ["", "a\nb", "\u{9b}", "\u{7f}", String(repeating: "n", count: 256)])
    func `a name that is empty, too long or has a control character is refused, and nothing changes`(
        _ name: String
    ) throws {
        let test = try TestVault()
        let bad = VaultError.parameter(.fieldName)
        #expect(throws: bad) { try test.vault.add(item([name: "x"])) }
        #expect(throws: bad) { try test.vault.set(item([name: "x"])) }
        try test.vault.add(item(["otp": "seed"]))
        #expect(throws: bad) { try test.vault.update(matching: query, with: changes(nil, [name: "x"])) }
        #expect(try look(test.vault) == "main otp=seed")
        #expect(try test.vault.verify(deep: true).values == 1)
    }

    @Test func `the limit of a value holds for all of it together`() throws {
        let test = try TestVault()
        let half = try Secret(SecretBytes(zeroed: 8 << 20))
        try test.vault.add(Item(.genericPassword(service: "s", account: "a"), secret: half, fields: ["b": half]))
        #expect(throws: VaultError.storage(.valueTooLarge)) {
            try test.vault.update(matching: query, with: changes(nil, ["c": "x"]))
        }
        let item = try #require(try test.vault.copyMatching(query).first)
        #expect(item.fieldNames == ["b"])
        #expect(try item.withSecret(field: "b") { $0.count } == 8 << 20)
    }

    @Test func `fields come back after a reopening, in the order of their names, and a missing one is nil`() throws {
        let test = try TestVault()
        try test.vault.add(item(["pin": "1234", "otp": "seed", "\u{e9}": "", "recovery codes": "a\nb"]))
        test.vault.close()
        let vault = try test.reopened()
        let whole = "main otp=seed pin=1234 recovery codes=a\nb \u{e9}="
        #expect(try look(vault) == whole)
        #expect(try look(vault, secrets: true) == whole)
        let found = try #require(try vault.copyMatching(query).first)
        #expect(try found.openedSecret(field: "no such") == nil)
        #expect(try found.record?.secret(field: "no such") == nil)
        #expect(found.fields.isEmpty && found.secret == nil)
    }

    @Test func `a new secret keeps the fields, a new field keeps the secret, and nil removes one`() throws {
        let test = try TestVault()
        try test.vault.add(item([:]))
        func change(_ secret: String? = nil, _ fields: [String: String?] = [:]) throws -> String {
            try test.vault.update(matching: query, with: changes(secret, fields))
            return try look(test.vault)
        }
        #expect(try change(nil, ["otp": "seed"]) == "main otp=seed")
        #expect(try change("new") == "new otp=seed")
        #expect(try change("newer", ["pin": "1", "otp": "other"]) == "newer otp=other pin=1")
        #expect(try change(nil, ["otp": nil]) == "newer pin=1")
        #expect(try change(nil, ["no such": nil]) == "newer pin=1")
        #expect(try change("last", ["pin": nil]) == "last")
        try test.vault.update(matching: query, with: ItemChanges(attributes: [.label: "L"]))
        #expect(try look(test.vault) == "last")
        #expect(try look(try test.reopened()) == "last")
    }

    @Test func `set merges fields, and a first field without a secret makes an empty one`() throws {
        let test = try TestVault()
        try test.vault.set(item(secret: nil, ["otp": "seed"]))
        #expect(try look(test.vault) == " otp=seed")
        try test.vault.set(item(["pin": "1"]))
        #expect(try look(test.vault) == "main otp=seed pin=1")
        try test.vault.set(item(secret: nil, [:]))
        #expect(try look(test.vault) == "main otp=seed pin=1")
        let bare = Query(.genericPassword, service: "bare")
        try test.vault.add(Item(.genericPassword(service: "bare")))
        try test.vault.update(matching: bare, with: changes(nil, ["x": nil]))
        #expect(try test.vault.copyMatching(bare).first?.record?.hasSecret == false)
    }

    @Test func `changes of protection class, key and group keep the fields`() throws {
        let test = try TestVault()
        try test.vault.add(item(["otp": "seed"]))
        for attributes in [
            [Attribute.accessible: AttributeValue("ck")], [.accessible: "aku"], [.accessGroup: "B"], [.label: "l"],
        ] {
            try test.vault.update(matching: query, with: ItemChanges(attributes: attributes))
            #expect(try look(test.vault) == "main otp=seed")
        }
    }

    @Test func `on another device, a copy lacks the fields of an item of this device`() throws {
        let test = try TestVault()
        var item = try item(["otp": "seed"])
        item.attributes[.accessible] = "aku"
        try test.vault.add(item)
        test.vault.close()
        let elsewhere = try test.opened(onAnotherDevice: test.directory.path.appending("elsewhere"))
        #expect(throws: VaultError.itemNotFound) { try elsewhere.copyMatching(query) }
        #expect(try look(try test.reopened()) == "main otp=seed")
    }

    @Test func `a deleted item that is added again has only its new fields`() throws {
        let test = try TestVault()
        var item = try item(["otp": "seed"])
        item.attributes[.synchronizable] = true
        let query = Query(
            .genericPassword, service: "s", account: "a", attributes: [.synchronizable: true])
        try test.vault.add(item)
        try test.vault.delete(matching: query)
        item.fields = [:]
        try test.vault.add(item)
        #expect(try test.vault.copyMatching(query).first?.fieldNames == [])
        #expect(try test.vault.verify(deep: true).values == 1)
    }

    @Test func `a transaction sees its own fields, and takes them back`() throws {
        struct Abort: Error {}
        let test = try TestVault()
        try test.vault.add(item(["otp": "seed"]))
        #expect(throws: Abort.self) {
            try test.vault.transaction { transaction in
                try transaction.update(matching: query, with: changes("b", ["pin": "1"]))
                let seen = try transaction.copyMatching(query)
                #expect(try text(of: seen[0]) == "b otp=seed pin=1")
                throw Abort()
            }
        }
        #expect(try look(test.vault) == "main otp=seed")
    }

    @Test func `undo, restore and every rewrite of the file keep the fields of a secret`() throws {
        let test = try TestVault()
        try test.vault.setHistoryLimit(5)
        try test.vault.add(item(["otp": "one"]))
        try test.vault.update(matching: query, with: changes("second", ["otp": nil, "pin": "2"]))
        try test.vault.update(matching: query, with: changes("third", ["pin": "3", "x": "y"]))
        let record = try #require(try test.vault.copyMatching(query).first?.record)
        let all = ["third pin=3 x=y", "second pin=2", "main otp=one"]
        func versions(_ vault: Vault) throws -> [String] {
            var opening = query
            opening.returnsSecrets = true
            return try vault.versions(matching: opening).map { try text(of: $0.item) }
        }
        #expect(try versions(test.vault) == all)
        try test.vault.compact()
        #expect(try versions(test.vault) == all)
        #expect(try text(of: try test.vault.undo(record, to: 1)) == "main otp=one")
        #expect(try look(test.vault) == "main otp=one")
        try test.vault.delete(matching: query)
        #expect(try text(of: try test.vault.restoreItem(record)) == "main otp=one")

        let backup = test.directory.path.appending("backup.vault")
        try test.vault.backUp(to: backup)
        let copy = try Vault.open(
            at: backup, unlockingWith: test.passphrase,
            environment: TestVault.environment(test.directory, test.clock), accessGroups: ["A", "B"])
        #expect(try look(copy) == "main otp=one")
        #expect(try copy.verify(deep: true).values == test.vault.verify(deep: true).values)
        try test.vault.rekey([SlotEntry(.passphrase(test.passphrase), name: "passphrase")])
        #expect(try look(test.vault) == "main otp=one")
        #expect(try versions(test.vault).contains("second pin=2"))
    }

    @Test func `print shows the names of the fields' item and none of its secrets`() throws {
        let shown = String(describing: try item(secret: "s3cret", ["otp": "s33d"]))
        #expect(!shown.contains("s3cret") && !shown.contains("s33d"))
    }
}
