// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import Vault

/// Items that need a person's consent for reading, in a vault open in this process, where no person can be asked.
struct PresenceTests {
    private static let (userPresence, biometryAny, currentSet): (UInt64, UInt64, UInt64) = (1 << 0, 1 << 1, 1 << 3)
    private static let (devicePasscode, companion): (UInt64, UInt64) = (1 << 4, 1 << 5)
    private static let (or, and): (UInt64, UInt64) = (1 << 14, 1 << 15)
    private static let (keyUsage, password): (UInt64, UInt64) = (1 << 30, 1 << 31)

    private func control(_ bits: UInt64) -> AttributeValue {
        .data(AccessControl(.whenUnlocked, constraints: bits).encoded)
    }

    private func item(_ itemClass: ItemClass, _ bits: UInt64?, _ name: String = "s") throws -> Item {
        let key: ItemKey =
            switch itemClass {
            case .genericPassword: .genericPassword(service: name)
            case .internetPassword: .internetPassword(server: name)
            case .certificate: .certificate(issuer: [1], serialNumber: [2])
            case .key: .key(applicationLabel: Array(name.utf8))
            }
        var item = Item(key, secret: try Secret(text: "secret of \(name)"))
        if let bits { item.attributes[.accessControl] = control(bits) }
        return item
    }

    private static let unbuilt: [UInt64] = [
        biometryAny, currentSet, companion, password, or, and, userPresence | password, devicePasscode | password,
        devicePasscode | biometryAny, devicePasscode | biometryAny | and, biometryAny | companion | or,
        devicePasscode | password | or, keyUsage | biometryAny, keyUsage | password, 1 << 2, 1 << 40 | devicePasscode,
        userPresence | 1 << 63,
    ]

    private static let built: [UInt64] = [
        userPresence, devicePasscode, devicePasscode | biometryAny | or, devicePasscode | currentSet | companion | or,
        devicePasscode | and,
    ]

    @Test(arguments: unbuilt) func `what nobody would enforce is refused of every class`(bits: UInt64) throws {
        let vault = try Vault.inMemory()
        for itemClass in ItemClass.allCases {
            #expect(throws: VaultError.unimplemented) { try vault.add(item(itemClass, bits)) }
        }
    }

    @Test(arguments: built) func `what the passphrase meets is for passwords and keys alone`(bits: UInt64) throws {
        let vault = try Vault.inMemory()
        #expect(throws: VaultError.unimplemented) { try vault.add(item(.certificate, bits)) }
        for itemClass in [ItemClass.genericPassword, .internetPassword, .key] {
            #expect(try vault.add(item(itemClass, bits)).asksForPresence)
            #expect(throws: VaultError.presenceRequired) { try vault.copyMatching(Query(itemClass)) }
        }
    }

    @Test func `the use of a private key alone demands nothing of a key, and is not there for others`() throws {
        let vault = try Vault.inMemory()
        #expect(try !vault.add(item(.key, Self.keyUsage)).asksForPresence)
        #expect(try vault.copyMatching(Query(.key)).first?.openedSecret()?.count == 11)
        #expect(try vault.add(item(.key, Self.keyUsage | Self.userPresence, "t")).asksForPresence)
        for itemClass in [ItemClass.genericPassword, .internetPassword, .certificate] {
            #expect(throws: VaultError.unimplemented) { try vault.add(item(itemClass, Self.keyUsage)) }
            #expect(throws: VaultError.unimplemented) {
                try vault.add(item(itemClass, Self.keyUsage | Self.userPresence))
            }
        }
    }

    @Test func `no verb reads or changes a protected item`() throws {
        let vault = try Vault.inMemory()
        try vault.setHistoryLimit(3)
        try vault.add(item(.genericPassword, nil))
        let record = try #require(try vault.copyMatching(Query(.genericPassword)).first?.record)
        try vault.update(
            matching: Query(.genericPassword), with: ItemChanges(attributes: [.accessControl: control(1)]))
        var query = Query(.genericPassword)
        for returnsSecrets in [false, true] {
            query.returnsSecrets = returnsSecrets
            for presence in [Query.Presence.asked(reason: "r"), .refused] {
                query.presence = presence
                #expect(throws: VaultError.presenceRequired) { try vault.copyMatching(query) }
                #expect(throws: VaultError.presenceRequired) { try vault.versions(matching: query) }
            }
        }
        #expect(throws: VaultError.presenceRequired) { try vault.secret(of: record) }
        #expect(throws: VaultError.presenceRequired) { try vault.secret(of: StoredItem.Key(record), field: nil) }
        #expect(throws: VaultError.presenceRequired) { try vault.undo(record) }
        #expect(throws: VaultError.presenceRequired) { try vault.set(item(.genericPassword, nil)) }
        // A change that would drop the access control is refused as well.
        for changes in [ItemChanges(attributes: [.label: "l"]), ItemChanges(attributes: [.accessible: "ak"])] {
            #expect(throws: VaultError.presenceRequired) {
                try vault.update(matching: Query(.genericPassword), with: changes)
            }
        }
        #expect(throws: VaultError.duplicateItem) { try vault.add(item(.genericPassword, nil)) }
        #expect(throws: VaultError.presenceRequired) {
            try vault.transaction { (transaction: inout Transaction) throws(VaultError) in
                try transaction.copyMatching(Query(.genericPassword))
            }
        }
        #expect(throws: VaultError.presenceRequired) {
            try vault.withAccessGroups(["*"]).copyMatching(Query(.genericPassword))
        }
        // A deleted item is not readable.
        #expect(try vault.delete(matching: Query(.genericPassword)) == 1)
        #expect(throws: VaultError.presenceRequired) { try vault.deletedItems(matching: Query(.genericPassword)) }
        #expect(throws: VaultError.presenceRequired) { try vault.restoreItem(record) }
    }

    @Test func `what is left out does not match, and does not count for the limit`() throws {
        let vault = try Vault.inMemory()
        try vault.add(item(.genericPassword, Self.userPresence, "a"))
        try vault.add(item(.genericPassword, nil, "b"))
        try vault.add(item(.genericPassword, Self.devicePasscode, "c"))
        var query = Query(.genericPassword)
        query.presence = .leftOut
        for limit in [Query.Limit.one, .all, .count(2)] {
            query.limit = limit
            #expect(try vault.copyMatching(query).map { $0[.service]?.text } == ["b"])
        }
        query.limit = nil
        #expect(try vault.lockedCount(matching: query) == 2)
        #expect(try vault.attended().lockedCount(matching: query) == 0)
        #expect(try vault.attended().copyMatching(Query(.genericPassword)).count == 3)
        query.attributes[.service] = "a"
        #expect(throws: VaultError.itemNotFound) { try vault.copyMatching(query) }
        // Deleting is not reading.
        #expect(try vault.delete(matching: Query(.genericPassword)) == 3)
    }

    @Test func `a key to be used later comes closed, and others come open`() throws {
        let vault = try Vault.inMemory()
        try vault.add(item(.key, Self.userPresence, "a"))
        try vault.add(item(.key, nil, "b"))
        try vault.add(item(.genericPassword, Self.userPresence))
        var query = Query(.key)
        (query.returnsSecrets, query.leavesKeysClosed) = (true, true)
        let found = try vault.copyMatching(query)
        #expect(found.map { $0.secret?.count } == [nil, 11] && found.map(\.asksForPresence) == [true, false])
        let record = try #require(found[0].record)
        #expect(throws: VaultError.presenceRequired) { try record.secret() }
        #expect(try vault.attended().secret(of: record)?.count == 11)
        query.itemClass = .genericPassword
        #expect(throws: VaultError.presenceRequired) { try vault.copyMatching(query) }
    }

    @Test func `what this version does not know of a stored access control takes a person`() {
        #expect(AccessControl.asksForPresence([1, 2, 3], .genericPassword))
        #expect(AccessControl.asksForPresence(AccessControl(.always, constraints: 1 << 50).encoded, .key))
        #expect(AccessControl.asksForPresence(AccessControl(.always, constraints: 1).encoded, .certificate))
        #expect(!AccessControl.asksForPresence(AccessControl(.always, constraints: 0).encoded, .genericPassword))
        #expect(!AccessControl.asksForPresence(AccessControl(.always).encoded, .genericPassword))
    }

    @Test func `a secret is checked against the very vault, which stays as it is`() throws {
        let test = try TestVault()
        let (vault, passphrase) = (test.vault, test.passphrase)
        try vault.check(.passphrase(passphrase))
        #expect(throws: VaultError.storage(.wrongPassphrase)) { try vault.check(.passphrase(.of("other"))) }
        try vault.lock()
        try vault.check(.passphrase(passphrase))
        #expect(vault.isLocked)
    }

    @Test func `versions from before an item was protected are protected as well`() throws {
        let vault = try Vault.inMemory()
        try vault.setHistoryLimit(5)
        let added = try vault.add(item(.genericPassword, nil))
        let query = Query(.genericPassword)
        try vault.update(matching: query, with: ItemChanges(attributes: [.accessControl: control(Self.userPresence)]))
        var grave = query
        grave.leavesTombstones = true
        try vault.delete(matching: grave)
        var versions = Query(.genericPassword, attributes: [.tombstone: 1])
        versions.returnsSecrets = true
        #expect(throws: VaultError.presenceRequired) { try vault.versions(matching: versions) }
        versions.presence = .leftOut
        #expect(try vault.versions(matching: versions).allSatisfy { $0.item.secret == nil })
        // An item that is added again under the same identifier does not allow reading either.
        try vault.add(item(.genericPassword, nil))
        let record = try #require(added.record)
        #expect(throws: VaultError.presenceRequired) { try vault.undo(record, to: 1) }
    }

    @Test func `fields are protected like the secret, and no change of one bypasses the person`() throws {
        let vault = try Vault.inMemory()
        var item = try item(.genericPassword, Self.userPresence)
        item.fields = ["pin": "1234"]
        let record = try #require(try vault.add(item).record)
        #expect(throws: VaultError.presenceRequired) { try vault.secret(of: record, field: "pin") }
        for changes in [ItemChanges(fields: ["pin": "5678"]), ItemChanges(fields: ["pin": nil, "new": "x"])] {
            #expect(throws: VaultError.presenceRequired) {
                try vault.update(matching: Query(.genericPassword), with: changes)
            }
        }
        #expect(throws: VaultError.presenceRequired) {
            try vault.set(Item(.genericPassword(service: "s"), fields: ["pin": "5678"]))
        }
        #expect(try vault.attended().secret(of: record, field: "pin")?.exposed == Array("1234".utf8))
    }

    @Test func `an item cannot be both protected and synchronizable, in either order`() throws {
        let vault = try Vault.inMemory()
        let flaw = VaultError.parameter(.attributeValue(Attribute.accessControl.name))
        var both = try item(.genericPassword, Self.userPresence, "both")
        both[.synchronizable] = 1
        #expect(throws: flaw) { try vault.add(both) }
        try vault.add(item(.genericPassword, Self.userPresence, "a"))
        #expect(throws: flaw) {
            try vault.attended().update(
                matching: Query(.genericPassword, service: "a"), with: ItemChanges(attributes: [.synchronizable: 1]))
        }
        var marked = try item(.genericPassword, nil, "b")
        marked[.synchronizable] = 1
        try vault.add(marked)
        #expect(throws: flaw) {
            try vault.update(
                matching: Query(.genericPassword, service: "b"),
                with: ItemChanges(attributes: [.accessControl: control(Self.userPresence)]))
        }
    }

    @Test func `a locked vault opens a protected item by its class, and only with a person`() throws {
        let test = try TestVault()
        for (account, accessible) in [("boot", Accessibility.afterFirstUnlock), ("mail", .whenUnlocked)] {
            let control = AccessControl(accessible, constraints: Self.userPresence)
            try test.vault.add(.generic("s", account, account, [.accessControl: .data(control.encoded)]))
        }
        try test.vault.lock()
        let (boot, mail) = (Query(.genericPassword, account: "boot"), Query(.genericPassword, account: "mail"))
        #expect(throws: VaultError.presenceRequired) { try test.vault.copyMatching(boot) }
        #expect(try test.vault.attended().copyMatching(boot).map { try $0.text } == ["boot"])
        #expect(throws: VaultError.locked) { try test.vault.attended().copyMatching(mail) }
        try test.vault.unlock(with: .passphrase(test.passphrase))
        // A change to another class without the access control removes both.
        try test.vault.attended().update(matching: mail, with: ItemChanges(attributes: [.accessible: "ck"]))
        try test.vault.lock()
        #expect(try test.vault.copyMatching(mail).map { try $0.text } == ["mail"])
    }
}
