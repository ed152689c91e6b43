// SPDX-License-Identifier: Apache-2.0
import Foundation
import SecItemCases
import TestSupport
import Testing
import Vault

@testable import KeychainServices

extension SecItemTests {
    @Suite struct CaseTests {
        @Test(arguments: Case.table) func `the call answers as Apple's does`(row: Case) throws {
            var runner = try CaseRunner(TestWorld())
            #expect(try runner.run(row) == [])
        }

        @Test func `every row of the table is tested once, or left out for a reason`() {
            let ids = Case.table.map(\.id) + Case.leftOut.keys + Case.ofObjects
            #expect(ids.count == Set(ids).count)
            #expect(ids.count == 165)
            let objects = KeyCase.table.map(\.id)
            #expect(objects.count == Set(objects).count && Set(objects).isSuperset(of: Case.ofObjects))
        }

        @Test func `a dictionary that was found finds its item again`() throws {
            try bindEmptyVault()
            let item: [String: Any] = [
                "class": "genp", "acct": "a", "svce": Data("s".utf8), "labl": "l", "gena": 7, "crtr": 5, "pdmn": "cku",
                "v_Data": Data("x".utf8),
            ]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            var found: CFTypeRef?
            #expect(
                SecItemCopyMatching(["class": "genp", "r_Attributes": true] as CFDictionary, &found) == errSecSuccess)
            var query = try #require(found as? [String: Any])
            #expect(query["svce"] is Data && query["acct"] is String && query["gena"] as? Int == 7)
            query["class"] = "genp"
            query["r_Data"] = true
            #expect(SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess)
            #expect(found as? Data == Data("x".utf8))
        }

        @Test func `a certificate found by its reference alone comes as an object`() throws {
            try bindEmptyVault()
            var (reference, found): (CFTypeRef?, CFTypeRef?)
            let item: [String: Any] = ["class": "cert", "v_Data": Samples.certificate, "r_PersistentRef": true]
            #expect(SecItemAdd(item as CFDictionary, &reference) == errSecSuccess)
            let ref = try #require(reference as? Data)
            #expect(
                SecItemCopyMatching(["v_PersistentRef": ref, "r_Ref": true] as CFDictionary, &found) == errSecSuccess)
            #expect((found as? SecCertificate).map { SecCertificateCopyData($0) as Data } == Samples.certificate)
        }

        /// Cases from a review of the table that its rows do not cover.
        @Test(arguments: [
            Case(
                "an update that says any leaves synchronizable as it is", .add(["class": "genp", "sync": true]),
                .update(["class": "genp", "sync": true], ["sync": "syna", "labl": "l"]),
                .copy(["class": "genp", "sync": true, "labl": "l"])),
            Case(
                "an item is none beside a synchronizable one, and is not found for it",
                .add(["class": "genp", "sync": true, "labl": "other"]), .copy(["class": "genp"], -25300),
                .update(["class": "genp"], ["labl": "l"], -25300), .delete(["class": "genp"], -25300),
                .add(["class": "genp"]), .add(["class": "genp", "sync": "syna"], -25299), .delete(["class": "genp"]),
                .add(["class": "genp", "sync": "syna"]), .copy(["class": "genp", "sync": true, "labl": "other"]),
                .copy(
                    ["class": "genp", "sync": "syna", "m_Limit": "m_LimitAll", "r_Attributes": true],
                    gives: .array(2))),
            Case(
                "the dates of an added item are the system's",
                .add(["class": "genp", "cdat": Date.distantPast, "mdat": Date.distantPast]),
                .copy(["class": "genp", "cdat": Date.distantPast], -25300),
                .copy(["class": "genp", "mdat": Date.distantPast], -25300), .copy(["class": "genp"])),
            Case(
                "return keys of a delete are not looked at", .add(["class": "keys"]),
                .delete(["class": "keys", "r_Ref": true])),
            Case(
                "what is no key gives no object", .copy(["class": "keys", "r_Ref": true], -25300),
                .add(["class": "keys"]), .copy(["class": "keys", "r_Ref": true], gives: .null)),
            Case(
                "a negative limit is a number too", .add(["class": "genp"]),
                .delete(["class": "genp", "m_Limit": -1], -50),
                .copy(["class": "genp", "m_Limit": -1, "r_Attributes": true], gives: .array(1))),
            Case("a key of one letter is none", .copy(["class": "genp", "m": 1], -50)),
            Case("a number that would be rounded is refused", .add(["class": "genp", "acct": UInt64.max], -50)),
            Case("an issuer is data", .add(["class": "cert", "issr": "text"], -50)),
            Case(
                "a value that is no property list is refused", .copy(["class": "genp", "m_Unknown": NSObject()], -50)),
            Case(
                "an access control of another type is refused before the groups are looked at", .become([]),
                .add(["class": "genp", "accc": "ak"], -50)),
            Case(
                "too many keys", .copy(Dictionary(uniqueKeysWithValues: (0..<129).map { ("m_\($0)", 1 as Any) }), -50)),
        ]) func `a detail is as on Apple's systems`(row: Case) throws {
            var runner = try CaseRunner(TestWorld())
            #expect(try runner.run(row) == [])
        }

        @Test func `keys and values of any type end in a status`() throws {
            try bindEmptyVault()
            let values: [Any] = [
                NSNull(), true, -1, Double.nan, Double.infinity, UInt64.max, "", "\0", Data(),
                Date(timeIntervalSinceReferenceDate: .nan),
                [1], ["k": 1], NSObject(), URL(filePath: "/"), UUID(), Samples.self,
            ]
            let keys = [
                "class", "acct", "port", "sync", "pdmn", "accc", "agrp", "cdat", "sha1", "musr", "tomb", "v_Data",
                "v_Ref",
                "v_PersistentRef",
                "m_Limit", "m_Policy", "m_Issuers", "m_ValidOnDate", "r_Data", "u_AuthUI", "u_Tomb", "nleg", "",
                "\u{e9}", "x",
            ]
            for key in keys {
                for value in values {
                    for query in ["inet", "cert", nil].map({ of($0, key, value) }) {
                        _ = SecItemAdd(query as CFDictionary, nil)
                        _ = SecItemCopyMatching(query as CFDictionary, nil)
                        _ = SecItemUpdate(query as CFDictionary, query as CFDictionary)
                        _ = SecItemUpdate(["class": "inet"] as CFDictionary, [key: value] as CFDictionary)
                        _ = SecItemDelete(query as CFDictionary)
                    }
                }
            }
            #expect(SecItemAdd([5: "x"] as NSDictionary, nil) == errSecParam)
            #expect(
                SecItemCopyMatching(["class": "genp", 5: "x"] as [AnyHashable: Any] as NSDictionary, nil)
                    == errSecNoSuchAttr)
        }
    }
}

private func of(_ itemClass: String?, _ key: String, _ value: Any) -> [String: Any] {
    var dictionary: [String: Any] = [:]
    dictionary["class"] = itemClass
    dictionary[key] = value
    return dictionary
}

/// Binds an empty vault of this test for a caller with the access groups A and B.
@discardableResult
func bindEmptyVault() throws -> Vault {
    let vault = try Vault.inMemory(accessGroups: AccessGroups(CaseRunner.groups))
    Vault.setDefault(vault)
    return vault
}
