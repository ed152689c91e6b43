// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultStorage
import VaultSystem

struct UpdateTests {
    @Test func `a bad update is reported even when nothing matches, and changes nothing`() throws {
        let test = try TestVault()
        let nothing = Query(.genericPassword, account: "none")
        #expect(throws: VaultError.itemNotFound) {
            try test.vault.update(matching: nothing, with: ItemChanges(attributes: [.label: "l"]))
        }
        for (changes, error) in [
            (ItemChanges(attributes: [.server: "h"]), VaultError.noSuchAttribute("srvr")),
            (ItemChanges(attributes: [.label: true]), .parameter(.attributeValue("labl"))),
            (ItemChanges(attributes: [.modificationDate: "x"]), .parameter(.attributeValue("mdat"))),
            (ItemChanges(attributes: [.accessible: "bogus"]), .parameter(.attributeValue("pdmn"))),
            (ItemChanges(attributes: [.accessGroup: "Z"]), .accessGroupDenied),
        ] {
            #expect(throws: error) { try test.vault.update(matching: nothing, with: changes) }
        }
        #expect(throws: VaultError.parameter(.limit)) {
            try test.vault.update(matching: Query(.genericPassword, limit: .one), with: ItemChanges())
        }
    }

    @Test func `every item that matches changes`() throws {
        let test = try TestVault()
        for name in ["a", "b", "c"] { try test.vault.add(Item.generic("s", name)) }
        try test.vault.add(Item.generic("other", "d"))
        #expect(
            try test.vault.update(
                matching: Query(.genericPassword, service: "s", limit: .all), with: .init(attributes: [.label: "L"]))
                == 3
        )
        #expect(test.vault.count(Query(.genericPassword, label: "L")) == 3)
    }

    @Test func `an update of several items that collides changes none`() throws {
        let test = try TestVault()
        for name in ["a", "b", "c"] { try test.vault.add(Item.generic("s", name, name)) }
        let before = try test.directory.read("test.vault")
        #expect(throws: VaultError.duplicateItem) {
            try test.vault.update(
                matching: Query(.genericPassword, service: "s"),
                with: .init(attributes: [.account: "same"], secret: "lost"))
        }
        #expect(try test.directory.read("test.vault").count == before.count)
        for vault in [test.vault, try test.reopened()] {
            #expect(try vault.copyMatching(Query(.genericPassword)).map { try $0.text } == ["a", "b", "c"])
        }
    }

    @Test func `a new key must be free`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a"))
        try test.vault.add(Item.generic("s", "b"))
        #expect(throws: VaultError.duplicateItem) {
            try test.vault.update(
                matching: Query(.genericPassword, account: "a"), with: .init(attributes: [.account: "b"]))
        }
        try test.vault.update(matching: Query(.genericPassword, account: "a"), with: .init(attributes: [.account: "a"]))
        try test.vault.update(
            matching: Query(.genericPassword, account: "a"), with: .init(attributes: [.accessGroup: "B"]))
        try test.vault.add(Item.generic("s", "a"))
        #expect(throws: VaultError.duplicateItem) {
            try test.vault.update(
                matching: Query(.genericPassword, account: "a", attributes: [.accessGroup: "A"]),
                with: .init(attributes: [.accessGroup: "B"]))
        }
    }

    @Test func `dates rise strictly, and a creation date can be restored`() throws {
        let test = try TestVault()
        let created = try test.vault.add(Item.generic("s", "a"))
        test.clock.advance(by: -1000)
        try test.vault.update(matching: Query(.genericPassword), with: ItemChanges(secret: "second"))
        let second = try test.vault.copyMatching(Query(.genericPassword))[0]
        #expect(try #require(second.record).modified > #require(created.record).modified)
        #expect(second.record?.created == created.record?.created)
        let old = Date(timeIntervalSinceReferenceDate: 42)
        try test.vault.update(
            matching: Query(.genericPassword),
            with: .init(attributes: [.creationDate: .date(old), .modificationDate: .date(old)]))
        let third = try test.vault.copyMatching(Query(.genericPassword))[0]
        #expect(third.record?.created == old)
        #expect(try #require(third.record).modified > #require(second.record).modified)
    }

    @Test func `a write that changes nothing is no version, and a touch moves only the date`() throws {
        let test = try TestVault()
        let query = Query(.genericPassword)
        let made = try test.vault.add(
            Item(.genericPassword(service: "s"), userAttributes: ["a": "b"], secret: "one", fields: ["f": "two"]))
        let same: [ItemChanges] = [
            ItemChanges(), ItemChanges(secret: "one"), ItemChanges(fields: ["f": "two", "none": nil]),
            ItemChanges(attributes: [.service: .string("s")], userAttributes: ["a": "b", "none": nil], secret: "one"),
        ]
        for changes in same { #expect(try test.vault.update(matching: query, with: changes) == 0) }
        try test.vault.set(Item(.genericPassword(service: "s"), secret: "one"))
        #expect(try test.vault.copyMatching(query)[0].record?.version == 1)
        #expect(try test.vault.versions(matching: query).count == 1)
        test.clock.advance(by: 10)
        var touched = same[1]
        touched.ifUnchanged = .touch
        #expect(try test.vault.update(matching: query, with: touched) == 1)
        let item = try test.vault.copyMatching(query)[0]
        #expect(try #require(item.record).modified > #require(made.record).modified)
        #expect(try test.vault.versions(matching: query).count == 1)
        #expect(try item.openedSecret()?.isEqual(to: "one") == true)
        #expect(try item.openedSecret(field: "f")?.isEqual(to: "two") == true)
        for changes in [
            ItemChanges(secret: "two"), ItemChanges(fields: ["f": "one"]), ItemChanges(fields: ["f": nil]),
            ItemChanges(secret: ""), ItemChanges(userAttributes: ["a": "c"]),
        ] {
            #expect(try test.vault.update(matching: query, with: changes) == 1)
        }
    }

    @Test func `a wrong version is refused also where nothing changes`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a"))
        #expect(throws: VaultError.versionMismatch) {
            try test.vault.update(matching: Query(.genericPassword), with: ItemChanges(version: 7))
        }
    }

    @Test func `an update can demand a version`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a"))
        try test.vault.update(matching: Query(.genericPassword), with: ItemChanges(secret: "two", version: 1))
        #expect(throws: VaultError.versionMismatch) {
            try test.vault.update(matching: Query(.genericPassword), with: ItemChanges(secret: "three", version: 1))
        }
        #expect(try test.vault.copyMatching(Query(.genericPassword))[0].text == "two")
    }

    @Test func `another protection class seals the secret again`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a", "kept"))
        for accessible in Accessibility.allCases {
            try test.vault.update(
                matching: Query(.genericPassword), with: .init(attributes: [.accessible: .string(accessible.rawValue)]))
            #expect(try test.reopened().copyMatching(Query(.genericPassword))[0].text == "kept")
        }
    }

    @Test func `an empty secret replaces one, and no secret keeps it`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a", "x"))
        try test.vault.update(matching: Query(.genericPassword), with: ItemChanges(attributes: [.label: "L"]))
        #expect(try test.vault.copyMatching(Query(.genericPassword))[0].text == "x")
        try test.vault.update(matching: Query(.genericPassword), with: ItemChanges(secret: ""))
        #expect(try test.vault.copyMatching(Query(.genericPassword))[0].text == "")
    }
}

struct DeleteTests {
    @Test func `all that matches goes, and nothing else`() throws {
        let test = try TestVault()
        for name in ["a", "b"] { try test.vault.add(Item.generic("s", name)) }
        try test.vault.add(Item.generic("t", "a"))
        #expect(throws: VaultError.parameter(.limit)) {
            try test.vault.delete(matching: Query(.genericPassword, limit: .one))
        }
        #expect(throws: VaultError.noSuchAttribute("srvr")) {
            try test.vault.delete(matching: Query(.genericPassword, server: "h"))
        }
        #expect(throws: VaultError.parameter(.classMissing)) { try test.vault.delete(matching: Query(nil)) }
        #expect(try test.vault.delete(matching: Query(.genericPassword, service: "s")) == 2)
        #expect(throws: VaultError.itemNotFound) {
            try test.vault.delete(matching: Query(.genericPassword, service: "s"))
        }
        #expect(test.vault.count(Query(.genericPassword)) == 1)
    }

    @Test func `a synchronizable item leaves a tombstone, which a new one takes over`() throws {
        let test = try TestVault()
        let item = try test.vault.add(Item.generic("s", "a", "x", [.synchronizable: true, .label: "L"]))
        let all = Query(.genericPassword)
        #expect(test.vault.count(all) == 1)
        #expect(try test.vault.delete(matching: all) == 1)
        #expect(test.vault.count(all) == 0)
        var graves = all
        graves.attributes[.tombstone] = true
        let grave = try test.vault.copyMatching(graves)[0]
        #expect(grave[.account] == "a" && grave[.label] == nil && grave.record?.hasSecret == false)
        #expect(try #require(grave.record).modified > #require(item.record).modified)
        #expect(grave.record?.created == item.record?.created)
        try test.vault.compact()
        let again = try test.vault.add(Item.generic("s", "a", "y", [.synchronizable: true]))
        #expect(again.record?.id == item.record?.id)
        #expect(try #require(again.record).version > #require(grave.record).version)
        #expect(test.vault.count(graves) == 0)
        #expect(try test.reopened().copyMatching(all)[0].text == "y")
    }

    @Test func `tombstones can be forced, suppressed and removed`() throws {
        let test = try TestVault()
        var query = Query(.genericPassword)
        var graves = query
        graves.attributes[.tombstone] = 1
        try test.vault.add(Item.generic("s", "a", "x", [.synchronizable: true]))
        query.leavesTombstones = false
        try test.vault.delete(matching: query)
        #expect(test.vault.count(graves) == 0)
        try test.vault.add(Item.generic("s", "local"))
        query.leavesTombstones = true
        try test.vault.delete(matching: query)
        #expect(test.vault.count(graves) == 1)
        try test.vault.delete(matching: graves)
        #expect(test.vault.count(graves) == 0)
    }

    @Test func `an item that does not say whether it is synchronizable is the one of its key that is`() throws {
        let test = try TestVault()
        let item = try test.vault.add(Item.generic("s", "a", "x", [.synchronizable: true]))
        #expect(throws: VaultError.duplicateItem) { try test.vault.add(Item.generic("s", "a", "y")) }
        #expect(try test.vault.set(Item.generic("s", "a", "y", [.label: "L"])).record?.id == item.record?.id)
        #expect(try test.vault.first(.genericPassword(service: "s", account: "a"))?[.synchronizable] == .number(1))
        // An item with an explicit value is a different item, and takes precedence for calls without one.
        try test.vault.set(Item.generic("s", "a", "other", [.synchronizable: false]))
        try test.vault.set(Item.generic("s", "a", "z"))
        var query = Query(.genericPassword)
        query.returnsSecrets = true
        #expect(try test.vault.copyMatching(query).map { try $0.text } == ["y", "z"])
        query.synchronizableAny = false
        #expect(try test.vault.delete(matching: query) == 1 && test.vault.contains(Query(.genericPassword)))
    }

    @Test func `a synchronizable item that moves leaves a tombstone at its old key`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a", "x", [.synchronizable: true]))
        try test.vault.update(
            matching: Query(.genericPassword, attributes: [.synchronizable: true]),
            with: .init(attributes: [.account: "b"]))
        let graves = Query(.genericPassword, attributes: [.tombstone: 1, .synchronizable: 1])
        #expect(try test.vault.copyMatching(graves).map { $0[.account] } == ["a"])
        #expect(try test.vault.copyMatching(Query(.genericPassword, attributes: [.synchronizable: 1]))[0].text == "x")
    }

    @Test func `a synchronizable item that moves to another group leaves a tombstone in the old group`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a", "x", [.synchronizable: true]))
        try test.vault.add(Item.generic("s", "a", "of B", [.accessGroup: "B"]))
        let query = Query(.genericPassword, attributes: [.synchronizable: 1])
        try test.vault.update(matching: query, with: ItemChanges(attributes: [.accessGroup: "B"]))
        let graves = Query(.genericPassword, attributes: [.tombstone: 1, .synchronizable: 1])
        #expect(try test.vault.copyMatching(graves).map { $0[.accessGroup] } == ["A"])
        #expect(test.vault.withAccessGroups(["B"]).count(graves) == 0)
        let found = try test.vault.withAccessGroups(["B"]).copyMatching(Query(.genericPassword))
        #expect(try Set(found.compactMap { try $0.text }) == ["x", "of B"])
        #expect(test.vault.withAccessGroups(["A"]).count(Query(.genericPassword)) == 0)
    }

    @Test func `a deleted or replaced secret is gone from the file when the vault is closed`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a", "old"))
        try test.vault.update(matching: Query(.genericPassword), with: ItemChanges(secret: "new"))
        try test.vault.add(Item.generic("s", "b", "gone"))
        try test.vault.delete(matching: Query(.genericPassword, account: "b"))
        let grown = try test.directory.read("test.vault").count
        test.vault.close()
        #expect(try test.directory.read("test.vault").count < grown)
        #expect(try test.reopened().copyMatching(Query(.genericPassword))[0].text == "new")
    }
}

struct DeviceTests {
    @Test func `an item of this device is absent on another, which can have one of its own`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a", "here", [.accessible: "cku"]))
        test.vault.close()
        let elsewhere = try TemporaryDirectory()
        let other = try test.opened(onAnotherDevice: elsewhere.path)
        #expect(other.count(Query(.genericPassword)) == 0)
        #expect(try other.verify(deep: true).foreign == 1)
        try other.compact()
        #expect(try test.reopened().copyMatching(Query(.genericPassword))[0].text == "here")
        try other.add(Item.generic("s", "a", "there", [.accessible: "cku"]))
        #expect(try other.copyMatching(Query(.genericPassword))[0].text == "there")
        #expect(try test.reopened().count(Query(.genericPassword)) == 0)
    }

    @Test func `the secret of this device is for the user alone and belongs to no vault file`() throws {
        let test = try TestVault()
        try test.vault.add(Item.generic("s", "a", "x", [.accessible: "aku"]))
        let state = try LinuxFileSystem().openDirectory(test.directory.path.appending("state"))
        let name = try #require(try state.names().first { $0.hasSuffix(".device") })
        let status = try #require(try state.status(of: name))
        #expect(status.mode == 0o600)
        #expect(status.size == 32)
    }

    @Test func `without a place for the secret of the device nothing is bound to it`() throws {
        let directory = try TemporaryDirectory()
        var environment = TestVault.environment(directory, ManualClock())
        environment.stateDirectory = nil
        let vault = try Vault.create(
            at: directory.path.appending("v.vault"), passphrase: Passphrase.of("p"), cost: .weakest,
            environment: environment)
        #expect(throws: VaultError.storage(.noStateDirectory)) {
            try vault.add(Item.generic("s", "a", "x", [.accessible: "aku"]))
        }
    }
}
