// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import TestSupport
import Testing
import VaultFormat

/// Files written by openssl, read without a vault; the tests of storing are below.
struct PKCS12Tests {
    private static func imported(
        _ data: Data, _ options: [CFString: Any] = [kSecImportExportPassphrase: "secret"]
    ) -> (OSStatus, [[String: Any]]?) {
        var items: CFArray?
        let status = SecPKCS12Import(data as CFData, options as CFDictionary, &items)
        return (status, items as? [[String: Any]])
    }

    private static func imported(
        _ name: String, _ options: [CFString: Any] = [kSecImportExportPassphrase: "secret"]
    ) throws -> (OSStatus, [[String: Any]]?) {
        imported(try TrustSamples.data(name + ".p12"), options)
    }

    @Test(arguments: ["modern", "old", "rsa", "rsa-old", "no-key"])
    func `a passphrase that is wrong or missing opens nothing`(name: String) throws {
        for options in [[kSecImportExportPassphrase: "Secret"], [kSecImportExportPassphrase: ""], [:]] {
            let (status, items) = try Self.imported(name, options)
            #expect(status == errSecAuthFailed && items == nil)
        }
        #expect(try Self.imported(name, [kSecImportExportPassphrase: 5]).0 == errSecParam)
        #expect(try Self.imported(name, [kSecImportExportPassphrase: Data("secret".utf8)]).0 == errSecParam)
    }

    @Test func `what is no such file is not read`() throws {
        let certificate = try TrustSamples.data("leaf.der")
        for data in [Data(), Data([0x30]), Data("-----BEGIN".utf8), certificate, Data(count: 100)] {
            #expect(Self.imported(data).0 == errSecDecode)
        }
        #expect(Self.imported(Data(count: 16 << 20 + 1)).0 == errSecDecode)
        // An unknown cipher, and unknown kinds of keys.
        #expect(try Self.imported("edwards").0 == errSecDecode)
        #expect(try Self.imported("other").0 == errSecDecode)
    }

    @Test(arguments: ["modern", "old", "no-code", "open", "two-keys"])
    func `a file that is cut off or changed anywhere gives no other key`(name: String) throws {
        let whole = try TrustSamples.data(name + ".p12")
        let keys = try #require(Self.imported(whole).1).compactMap { SecKeyCopyPublicKey(try Self.key($0)) }
        #expect(!keys.isEmpty)
        for index in stride(from: 0, to: whole.count, by: 97) {
            #expect(Self.imported(whole.prefix(index)).0 != errSecSuccess)
            var changed = whole
            changed[index] ^= 0x11
            let (status, items) = Self.imported(changed)
            #expect([errSecSuccess, errSecAuthFailed, errSecDecode].contains(status))
            for item in items ?? [] { #expect(SecKeyCopyPublicKey(try Self.key(item)).map(keys.contains) ?? false) }
        }
    }

    @Test(arguments: ["rounds", "code-rounds"])
    func `a file that wants too many rounds is refused before there is one`(name: String) throws {
        let whole = try TrustSamples.data(name + ".p12")
        // 20,000,000 as encoded in the file.
        let place = try #require(whole.range(of: Data([0x02, 0x04, 0x01, 0x31, 0x2d, 0x00]))).lowerBound
        for number in [[0x3b, 0x9a, 0xca, 0x00], [0x7f, 0xff, 0xff, 0xff], [0xff, 0, 0, 0], [0, 0x98, 0x96, 0x81]] {
            var changed = whole
            changed.replaceSubrange(place + 2..<place + 6, with: number.map(UInt8.init))
            let clock = ContinuousClock()
            var status = errSecSuccess
            #expect(clock.measure { status = Self.imported(changed).0 } < .seconds(1))
            #expect(status == errSecDecode)
        }
    }

    private static func identity(_ item: [String: Any]) throws -> SecIdentity {
        try #require(item[kSecImportItemIdentity as String] as? SecIdentity)
    }

    private static func key(_ item: [String: Any]) throws -> SecKey {
        var key: SecKey?
        SecIdentityCopyPrivateKey(try identity(item), &key)
        return try #require(key)
    }

    private static func certificate(_ item: [String: Any]) throws -> SecCertificate {
        var certificate: SecCertificate?
        SecIdentityCopyCertificate(try identity(item), &certificate)
        return try #require(certificate)
    }

    @Test(arguments: ["empty", "empty-old"]) func `an empty passphrase and none are one`(name: String) throws {
        for options in [[:], [kSecImportExportPassphrase: ""]] {
            let (status, items) = try Self.imported(name, options)
            #expect(status == errSecSuccess && items?.count == 1)
        }
        #expect(try Self.imported(name).0 == errSecAuthFailed)
    }

    @Test func `several keys have a certificate each, and certificates alone are no identity`() throws {
        let items = try #require(try Self.imported("two-keys").1)
        #expect(
            try items.map(Self.certificate) == [
                try TrustSamples.certificate("leaf"), try TrustSamples.certificate("rsa"),
            ])
        let (status, none) = try Self.imported("no-key")
        #expect(status == errSecSuccess && none?.isEmpty == true)
    }

    /// A file without a MAC whose bags are nested `levels` deep: an unencrypted key and its certificate.
    private static func nested(_ levels: Int) throws -> Data {
        let data = Array([0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01] as [UInt8])
        let bagKinds: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01]
        let x509: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x16, 0x01]
        let key = try Vectors.bytes("trust/leaf.p8"), leaf = try Vectors.bytes("trust/leaf.der")
        func sequence(_ body: (inout DERWriter) -> Void) -> [UInt8] {
            var writer = DERWriter()
            writer.put(DERTag.sequence, body)
            return writer.bytes
        }
        func bag(_ kind: UInt8, _ value: [UInt8]) -> [UInt8] {
            sequence {
                $0.put(DERTag.objectIdentifier, bagKinds + [kind])
                $0.put(0xa0, value)
            }
        }
        func content(_ bytes: [UInt8]) -> [UInt8] {
            sequence {
                $0.put(DERTag.objectIdentifier, data)
                $0.put(0xa0) { $0.put(DERTag.octetString, bytes) }
            }
        }
        let certificate = sequence {
            $0.put(DERTag.objectIdentifier, x509)
            $0.put(0xa0) { $0.put(DERTag.octetString, leaf) }
        }
        var bags = bag(1, key) + bag(3, certificate)
        func list(_ bytes: [UInt8]) -> [UInt8] {
            var writer = DERWriter()
            writer.put(DERTag.sequence, bytes)
            return writer.bytes
        }
        for _ in 0..<levels { bags = bag(6, list(bags)) }
        let safes = list(content(list(bags)))
        var file = DERWriter()
        file.put(DERTag.sequence, [0x02, 0x01, 0x03] + content(safes))
        return Data(file.bytes)
    }

    @Test func `bags lie within bags, some levels deep`() throws {
        for levels in [0, 1, 8] {
            let (status, items) = Self.imported(try Self.nested(levels), [:])
            #expect(status == errSecSuccess && items?.count == 1)
            #expect(try items.map { try Self.certificate($0[0]) } == (try TrustSamples.certificate("leaf")))
            // Key and certificate share no attribute; the hash of the public key identifies both.
            #expect((items?.first?[kSecImportItemKeyID as String] as? Data)?.count == 20)
        }
        for levels in [9, 40, 2000] { #expect(Self.imported(try Self.nested(levels), [:]).0 == errSecDecode) }
    }
}

extension SecItemTests {
    @Suite struct StoredImportTests {
        private func count(_ itemClass: CFString) -> Int {
            var found: CFTypeRef?
            let query =
                [kSecClass: itemClass, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true] as [CFString: Any]
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            return status == errSecItemNotFound ? 0 : (found as? NSArray)?.count ?? -1
        }

        @Test func `an import stores nothing unless it is asked to`() throws {
            try bindEmptyVault()
            let data = try TrustSamples.data("modern.p12")
            var items: CFArray?
            for options in [
                [kSecImportExportPassphrase: "secret"],
                [kSecImportExportPassphrase: "secret", kSecUseDataProtectionKeychain: false],
                [
                    kSecImportExportPassphrase: "secret", kSecUseDataProtectionKeychain: true,
                    kSecImportToMemoryOnly: true,
                ],
            ] as [[CFString: Any]] {
                #expect(SecPKCS12Import(data as CFData, options as CFDictionary, &items) == errSecSuccess)
                #expect(SecItemCopyMatching([kSecClass: kSecClassIdentity] as CFDictionary, nil) == errSecItemNotFound)
            }
        }

        @Test func `a stored import is an identity with its chain, twice as well`() throws {
            try bindEmptyVault()
            let data = try TrustSamples.data("modern.p12")
            let options =
                [
                    kSecImportExportPassphrase: "secret", kSecUseDataProtectionKeychain: true, kSecAttrLabel: "mine",
                ] as [CFString: Any]
            for _ in 0..<2 {
                var items: CFArray?
                #expect(SecPKCS12Import(data as CFData, options as CFDictionary, &items) == errSecSuccess)
                #expect(count(kSecClassIdentity) == 1)
                #expect(count(kSecClassCertificate) == 3)
                #expect(count(kSecClassKey) == 1)
            }
            var found: CFTypeRef?
            let query = [kSecClass: kSecClassIdentity, kSecAttrLabel: "mine", kSecReturnRef: true] as [CFString: Any]
            #expect(SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess)
            let identity = try #require(found as? SecIdentity)
            var certificate: SecCertificate?
            SecIdentityCopyCertificate(identity, &certificate)
            #expect(certificate == (try TrustSamples.certificate("leaf")))
        }
    }
}
