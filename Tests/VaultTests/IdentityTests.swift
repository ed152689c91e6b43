// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Vault

/// Pairs of a certificate and a private key, found by a single query and not stored as records of their own.
struct IdentityTests {
    private let vault: Vault

    init() throws { vault = try Vault.inMemory(accessGroups: ["A", "B"]) }

    @discardableResult
    private func addCertificate(_ number: UInt8, hash: [UInt8], _ more: [Attribute: AttributeValue] = [:]) throws
        -> Item
    {
        try vault.add(
            Item(
                .certificate(issuer: [1], serialNumber: [number]),
                attributes: [.publicKeyHash: .data(hash)].merging(more) { $1 }, secret: "certificate"))
    }

    @discardableResult
    private func addKey(_ hash: [UInt8], tag: String = "", _ more: [Attribute: AttributeValue] = [:]) throws -> Item {
        try vault.add(
            Item(
                .key(applicationLabel: hash, applicationTag: tag),
                attributes: [.keyClass: 1, .isPrivate: 1].merging(more) { $1 }, secret: "key"))
    }

    private func found(_ change: (inout Query) -> Void = { _ in }) throws -> [Item] {
        var query = Query(nil)
        query.findsIdentities = true
        change(&query)
        return try vault.allMatching(query)
    }

    private func numbers(_ items: [Item]) -> [AttributeValue?] {
        items.filter { $0.itemClass == .certificate }.map { $0[.serialNumber] }
    }

    @Test func `a certificate without a key, and a key that is not private, are no identities`() throws {
        try addCertificate(1, hash: [1])
        try addKey([1], [.keyClass: 0])
        try addKey([1], tag: "not private", [.isPrivate: 0])
        try addKey([2])
        try addCertificate(2, hash: [])
        try addKey([])
        #expect(try found().isEmpty)
        #expect(throws: VaultError.noSuchAttribute("acct")) { try found { $0.attributes[.account] = "a" } }
    }

    @Test func `pairs come in the order of the certificates, each certificate before its key`() throws {
        try addKey([2])
        try addKey([1])
        for (number, hash) in [(1, 1), (2, 2), (3, 9), (4, 1)] as [(UInt8, UInt8)] {
            try addCertificate(number, hash: [hash])
        }
        let items = try found()
        #expect(items.map(\.itemClass) == [.certificate, .key, .certificate, .key, .certificate, .key])
        #expect(numbers(items) == [.data([1]), .data([2]), .data([4])])
        #expect(try numbers(found { $0.limit = .count(2) }) == [.data([1]), .data([2])])
        #expect(try found { $0.limit = .count(0) }.isEmpty)
        #expect(try found { $0.limit = .one }.count == 2 && found { $0.limit = .count(-1) }.count == 6)
        for item in try found({ $0.returnsSecrets = true }) {
            #expect(item.secret?.count == (item.itemClass == .key ? 3 : 11))
        }
    }

    @Test func `of two copies of a key the older counts, and labels are the certificate's`() throws {
        try addCertificate(1, hash: [1], [.label: "certificate"])
        try addKey([1], tag: "older", [.label: "key"])
        try addKey([1], tag: "newer")
        #expect(try found()[1][.applicationTag] == "older")
        #expect(try found { $0.attributes[.applicationTag] = "newer" }[1][.applicationTag] == "newer")
        #expect(try found { $0.attributes[.label] = "certificate" }.count == 2)
        #expect(try found { $0.attributes[.label] = "key" }.isEmpty)
    }

    @Test func `both halves are in the caller's groups, and synchronizable or not`() throws {
        try addCertificate(1, hash: [1], [.accessGroup: "A"])
        try addKey([1], [.accessGroup: "B"])
        try addCertificate(2, hash: [2], [.synchronizable: true])
        try addKey([2], [.synchronizable: true])
        try addCertificate(3, hash: [3], [.synchronizable: true])
        try addKey([3])
        #expect(try numbers(found { $0.synchronizableAny = false }) == [.data([1])])
        #expect(try numbers(found { $0.attributes[.synchronizable] = true }) == [.data([2])])
        #expect(try numbers(found()).count == 3)
        #expect(throws: VaultError.accessGroupDenied) { try found { $0.attributes[.accessGroup] = "Z" } }
    }

    @Test func `a persistent reference is the certificate's, under the name of identities`() throws {
        let certificate = try addCertificate(1, hash: [1])
        try addCertificate(2, hash: [1])
        try addKey([1])
        let reference = try #require(certificate.record?.persistentReference)
        let ofIdentity = Array("idnt".utf8) + reference.dropFirst(4)
        #expect(try numbers(found { $0.persistentReference = ofIdentity }) == [.data([1])])
        for wrong in [reference, Array(ofIdentity.dropLast()), ofIdentity + [0], []] {
            #expect(throws: VaultError.parameter(.persistentReference)) {
                try found { $0.persistentReference = wrong }
            }
        }
    }

    private func reference(of certificate: Item) throws -> [UInt8] {
        Array("idnt".utf8) + (try #require(certificate.record?.persistentReference)).dropFirst(4)
    }

    private var all: Query {
        var query = Query(nil)
        query.findsIdentities = true
        return query
    }

    private func labels(_ itemClass: ItemClass) throws -> [AttributeValue?] {
        try vault.allMatching(Query(itemClass)).map { $0[.label] }
    }

    @Test func `an update changes all halves that match, in pairs or not, or nothing`() throws {
        try addCertificate(1, hash: [1])
        try addKey([2])
        let changes = ItemChanges(attributes: [.label: "new"])
        #expect(try vault.update(matching: all, with: changes) == 2)
        #expect(try labels(.certificate) == ["new"] && labels(.key) == ["new"])
        for (flaw, change) in [
            (VaultError.noSuchAttribute("atag"), ItemChanges(attributes: [.applicationTag: "t"])),
            (.noSuchAttribute("slnr"), ItemChanges(attributes: [.serialNumber: .data([9])])),
            (.versionMismatch, ItemChanges(attributes: [.label: "other"], version: 9)),
        ] {
            #expect(throws: flaw) { try vault.update(matching: all, with: change) }
        }
        // The certificate has already moved when the key finds its new place taken.
        try addKey([2], [.accessGroup: "B"])
        #expect(throws: VaultError.duplicateItem) {
            try vault.update(matching: all, with: ItemChanges(attributes: [.accessGroup: "B"]))
        }
        #expect(try vault.allMatching(Query(.certificate)).map { $0[.accessGroup] } == ["A"])
        var limited = all
        limited.limit = .one
        #expect(throws: VaultError.parameter(.limit)) { try vault.update(matching: limited, with: changes) }
        try vault.delete(matching: Query(.key))
        #expect(throws: VaultError.itemNotFound) {
            try vault.update(matching: all, with: ItemChanges(attributes: [.label: "alone"]))
        }
        #expect(try labels(.certificate) == ["new"])
    }

    @Test func `a person's no to the key leaves the certificate as it is`() throws {
        let userPresence: UInt64 = 1
        let control = AccessControl(.whenUnlocked, constraints: userPresence).encoded
        try addCertificate(1, hash: [1], [.label: "old"])
        try addKey([1], [.accessControl: .data(control)])
        #expect(throws: VaultError.presenceRequired) {
            try vault.update(matching: all, with: ItemChanges(attributes: [.label: "new"]))
        }
        #expect(try labels(.certificate) == ["old"])
    }

    @Test func `a reference names both halves, of which a key of two certificates stays`() throws {
        let first = try addCertificate(1, hash: [1])
        let second = try addCertificate(2, hash: [1])
        try addKey([1])
        try addKey([3])
        var query = all
        query.persistentReference = try reference(of: first)
        #expect(try vault.update(matching: query, with: ItemChanges(attributes: [.label: "new"])) == 2)
        #expect(try labels(.certificate).map { $0 == "new" } == [true, false])
        #expect(try labels(.key).map { $0 == "new" } == [true, false])
        #expect(try vault.delete(matching: query) == 1)
        #expect(throws: VaultError.itemNotFound) { try vault.delete(matching: query) }
        #expect(throws: VaultError.itemNotFound) {
            try vault.update(matching: query, with: ItemChanges(attributes: [.label: "l"]))
        }
        query.persistentReference = try reference(of: second)
        #expect(try vault.delete(matching: query) == 2)
        #expect(try labels(.key).count == 1)
    }

    @Test func `a reference may name one of two copies of a key, and none that is another's`() throws {
        let certificate = try addCertificate(1, hash: [1])
        let older = try addKey([1], tag: "older")
        let newer = try addKey([1], tag: "newer")
        let other = try addKey([2], tag: "other")
        func tags(_ key: Item) throws -> [AttributeValue?] {
            let named = try reference(of: certificate) + (try #require(key.record?.persistentReference)).dropFirst(4)
            return try found { $0.persistentReference = named }.filter { $0.itemClass == .key }
                .map { $0[.applicationTag] }
        }
        #expect(try tags(older) == ["older"] && tags(newer) == ["newer"] && tags(other) == [])
        var query = all
        query.persistentReference =
            try reference(of: certificate) + (try #require(newer.record?.persistentReference)).dropFirst(4)
        #expect(try vault.delete(matching: query) == 2)
        #expect(try vault.allMatching(Query(.key)).map { $0[.applicationTag] } == ["older", "other"])
    }

    @Test func `both halves do not get one secret`() throws {
        try addCertificate(1, hash: [1])
        try addKey([1])
        for changes in [ItemChanges(secret: "value"), ItemChanges(fields: ["field": "value"])] {
            #expect(throws: VaultError.parameter(.key("v_Data"))) { try vault.update(matching: all, with: changes) }
        }
        #expect(try found { $0.returnsSecrets = true }.map { $0.secret?.count } == [11, 3])
    }

    @Test func `a delete takes all halves that match, and none without a certificate`() throws {
        try addKey([1])
        #expect(throws: VaultError.itemNotFound) { try vault.delete(matching: all) }
        #expect(try labels(.key).count == 1)
        try addCertificate(1, hash: [9])
        var labelled = all
        labelled.attributes[.label] = "none"
        #expect(throws: VaultError.itemNotFound) { try vault.delete(matching: labelled) }
        #expect(try vault.delete(matching: all) == 2)
    }
}
