// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultStorage

@testable import Vault

/// The data that an item has besides its secret, after its vault's file was damaged and salvaged.
struct SalvagedItemTests {
    private let test: TestVault
    private let query = Query(.genericPassword, service: "s")
    private static let control = AttributeValue.data(AccessControl(.whenUnlocked, constraints: 1).encoded)

    init() throws { test = try TestVault() }

    /// - Parameter losesLastValue: Whether to damage the value at the end of the file first.
    private func salvaged(losesLastValue: Bool = false) throws -> Vault {
        var bytes = try test.directory.read("test.vault")
        // Erases the marks.
        bytes.replaceSubrange(4096..<12_288, with: [UInt8](repeating: 0, count: 8192))
        if losesLastValue {
            var (end, next) = (12_288, 12_288)
            while next + 4 <= bytes.count {
                let length = bytes[next..<next + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
                guard length > 0 else { break }
                next += length
                end = next
            }
            bytes[end - 40] ^= 1
        }
        try test.directory.write(bytes, to: "bad.vault")
        let environment = TestVault.environment(test.directory, test.clock)
        let (path, secret) = (test.directory.path, UnlockingSecret.passphrase(test.passphrase))
        try LinuxFileSystem.restrict(path.appending("bad.vault"))
        _ = try DamagedVault(at: path.appending("bad.vault"), environment: environment)
            .salvage(with: secret, to: path.appending("saved.vault"))
        return try Vault.open(
            at: path.appending("saved.vault"), unlockingWith: test.passphrase, environment: environment,
            accessGroups: AccessGroups(["A", "B"]))
    }

    @Test func `a salvaged item keeps its group, mark, class and fields`() throws {
        for accessible in Accessibility.allCases {
            var item = try Item.generic("s", accessible.rawValue, "secret", [.accessGroup: "B"])
            (item[.accessible], item.fields) = (.string(accessible.rawValue), ["pin": "1234"])
            if !accessible.isThisDeviceOnly { item[.synchronizable] = 1 }
            try test.vault.add(item)
        }
        let vault = try salvaged()
        #expect(vault.withAccessGroups(["A"]).count(query) == 0)
        let found = try vault.copyMatching(query)
        #expect(found.map { $0[.accessible]?.text } == Accessibility.allCases.map(\.rawValue))
        for item in found {
            #expect(try item.text == "secret" && item.openedSecret(field: "pin")?.exposed == Array("1234".utf8))
            let isMarked = item[.accessible]?.text.flatMap(Accessibility.init)?.isThisDeviceOnly == false
            #expect(item[.synchronizable] == .number(isMarked ? 1 : 0) && item[.accessGroup] == "B")
        }
        try vault.lock()
        for accessible in Accessibility.allCases {
            let query = Query(.genericPassword, service: "s", account: accessible.rawValue)
            if accessible.rawValue.hasPrefix("a") {
                #expect(throws: VaultError.locked) { try vault.copyMatching(query) }
            } else {
                #expect(try vault.copyMatching(query).first?.text == "secret")
            }
        }
    }

    @Test func `the tombstone of a synchronizable item is salvaged, and a new item replaces it`() throws {
        let added = try test.vault.add(.generic("s", "a", "x", [.synchronizable: 1]))
        try test.vault.delete(matching: query)
        let vault = try salvaged()
        #expect(vault.count(query) == 0)
        #expect(vault.count(Query(.genericPassword, service: "s", attributes: [.tombstone: 1])) == 1)
        #expect(try vault.add(.generic("s", "a", "y", [.synchronizable: 1])).record?.id == added.record?.id)
    }

    @Test func `what demands a person does so, its older versions and what was deleted too`() throws {
        try test.vault.setHistoryLimit(3)
        for account in ["a", "b"] { try test.vault.add(.generic("s", account, "one")) }
        try test.vault.update(
            matching: query, with: ItemChanges(attributes: [.accessControl: Self.control], secret: "two"))
        try test.vault.delete(matching: Query(.genericPassword, service: "s", account: "b"))
        let vault = try salvaged()
        #expect(throws: VaultError.presenceRequired) { try vault.copyMatching(query) }
        #expect(throws: VaultError.presenceRequired) { try vault.versions(matching: query) }
        #expect(throws: VaultError.presenceRequired) { try vault.deletedItems(matching: query) }
        var revealing = query
        revealing.returnsSecrets = true
        #expect(try vault.attended().versions(matching: revealing).map { try $0.item.text } == ["two", "one"])
    }

    @Test func `an older secret that replaces a lost one is protected as the item is now`() throws {
        try test.vault.add(.generic("s", "a", "one"))
        try test.vault.update(
            matching: query, with: ItemChanges(attributes: [.accessControl: Self.control], secret: "two"))
        let vault = try salvaged(losesLastValue: true)
        #expect(throws: VaultError.presenceRequired) { try vault.copyMatching(query) }
        #expect(try vault.attended().copyMatching(query).map { try $0.text } == ["one"])
    }

    @Test func `an older secret of another protection class does not replace a lost one`() throws {
        try test.vault.add(.generic("s", "a", "one", [.accessible: "ck"]))
        try test.vault.update(matching: query, with: ItemChanges(attributes: [.accessible: "ak"], secret: "two"))
        let vault = try salvaged(losesLastValue: true)
        #expect(try vault.copyMatching(query).map { try $0.text } == [nil])
        try vault.lock()
        #expect(throws: VaultError.locked) { try vault.copyMatching(query) }
    }
}
