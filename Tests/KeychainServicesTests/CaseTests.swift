// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import Vault

@testable import KeychainServices

extension SecItemTests {
    @Suite struct CaseTests {
        @Test(arguments: Case.table) func `the call answers as Apple's does`(row: Case) throws {
            var runner = try CaseRunner()
            try runner.run(row.steps)
        }

        @Test func `every row of the table is tested once, or left out for a reason`() {
            let elsewhere = ["E14", "H02", "K02", "K03", "K04", "K05", "K06", "K07", "K09", "K12", "K13", "K14", "K15"]
            let damage = ["D40", "D41", "F44", "G23", "K16", "K17", "K18", "K19", "K24"]
            let ids = Case.table.map(\.id) + elsewhere + damage + LeftOut.reasons.keys
            #expect(ids.count == Set(ids).count)
            #expect(ids.count == 165)
        }

        /// E14: a caller who only wants to know whether there is one.
        @Test func `a call without a variable for the result succeeds`() throws {
            try bindEmptyVault()
            #expect(SecItemAdd(["class": "genp", "acct": "a", "r_Data": true] as CFDictionary, nil) == errSecSuccess)
            #expect(SecItemCopyMatching(["class": "genp", "r_Attributes": true] as CFDictionary, nil) == errSecSuccess)
        }

        /// H02.
        @Test func `an item found by its reference is the item found by its attributes`() throws {
            try bindEmptyVault()
            var reference: CFTypeRef?
            let item: [String: Any] = [
                "class": "inet", "acct": "a", "srvr": Data("h".utf8), "port": 80, "labl": "l", "invi": true, "v_Data": Data("x".utf8),
                "r_PersistentRef": true,
            ]
            #expect(SecItemAdd(item as CFDictionary, &reference) == errSecSuccess)
            var (byReference, byAttributes): (CFTypeRef?, CFTypeRef?)
            let ref = try #require(reference as? Data)
            #expect(SecItemCopyMatching(["v_PersistentRef": ref, "r_Attributes": true] as CFDictionary, &byReference) == errSecSuccess)
            #expect(
                SecItemCopyMatching(["class": "inet", "acct": "a", "r_Attributes": true] as CFDictionary, &byAttributes) == errSecSuccess)
            #expect((byReference as? NSDictionary)?.isEqual(byAttributes) == true)
        }

        @Test func `a dictionary that was found finds its item again`() throws {
            try bindEmptyVault()
            let item: [String: Any] = [
                "class": "genp", "acct": "a", "svce": Data("s".utf8), "labl": "l", "gena": 7, "crtr": 5, "pdmn": "cku",
                "v_Data": Data("x".utf8),
            ]
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            var found: CFTypeRef?
            #expect(SecItemCopyMatching(["class": "genp", "r_Attributes": true] as CFDictionary, &found) == errSecSuccess)
            var query = try #require(found as? [String: Any])
            #expect(query["svce"] is Data && query["acct"] is String && query["gena"] as? Int == 7)
            query["class"] = "genp"
            query["r_Data"] = true
            #expect(SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess)
            #expect(found as? Data == Data("x".utf8))
        }
    }
}

/// Rows that have nothing here to be tested with.
enum LeftOut {
    static let reasons = [
        "B04": "adds a certificate object; those are refused, errSecUnimplemented",
        "D38": "evaluates the trust of a certificate",
        "E27": "returns a key object",
        "G24": "deletes by a certificate object",
        "K21": "needs an item that asks for a fingerprint or a passcode; such items are refused, errSecUnimplemented",
        "K22": "as K21",
        "L05": "identities are made of certificate and key objects",
        "L06": "as L05",
        "L07": "as L05",
        "L10": "as L05",
    ]
}

/// A vault of this test's own, for somebody who belongs to A and B.
@discardableResult
func bindEmptyVault() throws -> Vault {
    let vault = try Vault.inMemory(accessGroups: CaseRunner.groups)
    Vault.setDefault(vault)
    return vault
}
