// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import Testing
import VaultAgent

@testable import SecItemCases

/// Identities whose key requires a person's consent for each use.
struct ClosedIdentityTests {
    /// Stores an identity with a protected key. The certificate is public and unprotected.
    private static func store() throws -> SecIdentity {
        let control = try required(
            SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil))
        let key = ["v_Ref": try CertificateSamples.leafKey(), "accc": control] as CFDictionary
        try check(SecItemAdd(key, nil) == 0)
        let certificate = try CertificateSamples.certificate(CertificateSamples.leaf)
        try check(SecItemAdd(["v_Ref": certificate] as CFDictionary, nil) == 0)
        var found: CFTypeRef?
        try check(SecItemCopyMatching(["class": "idnt", "r_Ref": true] as CFDictionary, &found) == 0)
        return try required(found as? SecIdentity)
    }

    private static func status(_ query: [String: Any]) -> OSStatus {
        SecItemCopyMatching(query.merging(["class": "idnt"]) { $1 } as CFDictionary, nil)
    }

    @Test func `one that is asked for by what its certificate has not asks nobody`() async {
        await #expect(processExitsWith: .success) {
            let (world, door) = try World.open { _ in .dismissed }
            defer { withExtendedLifetime(world) {} }
            _ = try Self.store()
            try check(door.count == 0)
            let long = Date(timeIntervalSince1970: 0)
            // Inside the certificate's hundred years of validity, independent of this machine's clock.
            let within = Date(timeIntervalSince1970: 1_900_000_000)
            try check(Self.status(["m_ValidOnDate": long, "r_Data": true]) == -25300 && door.count == 0)
            try check(Self.status(["m_EmailAddressIfPresent": "nobody@x.example", "m_ValidOnDate": long]) == -25300)
            try check(door.count == 0)
            // An identity that matches asks the person, once.
            try check(Self.status(["m_ValidOnDate": within, "r_Data": true]) == -128 && door.count == 1)
            try check(Self.status(["m_ValidOnDate": within, "r_Ref": true]) == 0 && door.count == 1)
        }
    }

    @Test func `a person is asked once for all that pass, and not for those that do not`() async {
        await #expect(processExitsWith: .success) {
            let (world, door) = try World.open()
            defer { withExtendedLifetime(world) {} }
            _ = try Self.store()
            let second = try CertificateSamples.certificate(CertificateSamples.secondOfLeafKey)
            try check(SecItemAdd(["v_Ref": second] as CFDictionary, nil) == 0)
            var query: [String: Any] = [
                "class": "idnt", "m_Limit": "m_LimitAll", "m_ValidOnDate": Date(timeIntervalSince1970: 1_900_000_000),
                "r_Data": true,
            ]
            var found: CFTypeRef?
            try check(SecItemCopyMatching(query as CFDictionary, &found) == 0 && door.count == 1)
            let key = try required(SecKeyCopyExternalRepresentation(try CertificateSamples.leafKey(), nil)) as Data
            try check(found as? [Data] == [key, key])
            query["u_AuthUI"] = "u_AuthUIS"
            try check(SecItemCopyMatching(query as CFDictionary, &found) == -25300 && door.count == 1)
            query["u_AuthUI"] = "u_AuthUIF"
            try check(SecItemCopyMatching(query as CFDictionary, &found) == -25308 && door.count == 1)
        }
    }

    @Test func `it is deleted without a person, and changed with one`() async {
        await #expect(processExitsWith: .success) {
            let (world, door) = try World.open { _ in .dismissed }
            defer { withExtendedLifetime(world) {} }
            let identity = try Self.store()
            let reference = ["v_Ref": identity] as CFDictionary
            // A refused update changes neither half.
            try check(SecItemUpdate(reference, ["labl": "new"] as CFDictionary) == -128)
            try check(SecItemCopyMatching(["class": "cert", "labl": "new"] as CFDictionary, nil) == -25300)
            let asked = door.count
            try check(SecItemDelete(reference) == 0 && door.count == asked)
            for name in ["cert", "keys"] {
                try check(SecItemCopyMatching(["class": name] as CFDictionary, nil) == -25300)
            }
            _ = try Self.store()
            try check(SecItemDelete(["class": "idnt"] as CFDictionary) == 0 && door.count == asked)
        }
    }

    @Test func `what it signs is asked for each time`() async {
        await #expect(processExitsWith: .success) {
            let (world, door) = try World.open()
            defer { withExtendedLifetime(world) {} }
            var key: SecKey?
            try check(SecIdentityCopyPrivateKey(try Self.store(), &key) == 0)
            let closed = try required(key)
            for count in 1...2 {
                let signature = SecKeyCreateSignature(
                    closed, .ecdsaSignatureMessageX962SHA256, Data("m".utf8) as CFData, nil)
                try check(signature != nil && door.count == count)
            }
        }
    }
}
