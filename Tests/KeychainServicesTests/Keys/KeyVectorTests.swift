// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import TestSupport
import Testing
import VaultCrypto

@Suite struct KeyVectorTests {
    @Test(arguments: try KeyVectors.files("ecdsa", "rsa_signature", "rsa_pss") + ["nist/ecdsa.txt", "nist/rsa.txt"])
    func `a signature verifies if it is valid, and otherwise not`(file: String) throws {
        var keys: [Data: SecKey] = [:]
        for row in try KeyVectors.rows(of: file) {
            let isRSA = (row.algorithm.rawValue as String).contains("RSA:")
            let key = try #require(keys[row.key] ?? KeyVectors.key(row.key, isRSA: isRSA, isPrivate: false))
            keys[row.key] = key
            var error: Unmanaged<CFError>?
            let isVerified = SecKeyVerifySignature(
                key, row.algorithm, row.input as CFData, row.output as CFData, &error)
            #expect(isVerified == (row.result == "valid"), "\(file) \(row.number)")
            #expect(error.map { CFErrorGetCode($0.takeRetainedValue()) } ?? -67808 == -67808)
        }
    }

    @Test(arguments: try KeyVectors.files("rsa_oaep", "rsa_pkcs1"))
    func `a ciphertext opens if it is valid, and a wrong padding of PKCS#1 is not told`(file: String) throws {
        var keys: [Data: SecKey] = [:]
        for row in try KeyVectors.rows(of: file) {
            let key = try #require(keys[row.key] ?? KeyVectors.key(row.key, isRSA: true, isPrivate: true))
            keys[row.key] = key
            let text = SecKeyCreateDecryptedData(key, row.algorithm, row.input as CFData, nil) as Data?
            if row.result == "valid" {
                #expect(text == row.output, "\(file) \(row.number)")
            } else if row.flags.contains("InvalidPkcs1Padding")
                || row.algorithm == .rsaEncryptionPKCS1 && row.input.count < SecKeyGetBlockSize(key)
            {
                // A shorter ciphertext is the number without its leading zero bytes.
                let again = SecKeyCreateDecryptedData(key, row.algorithm, row.input as CFData, nil) as Data?
                #expect(text != nil && text == again, "\(file) \(row.number)")
            } else {
                #expect(text == nil, "\(file) \(row.number)")
            }
        }
    }

    @Test(arguments: try KeyVectors.files("ecdh")) func `an exchange gives what it should`(file: String) throws {
        for row in try KeyVectors.rows(of: file) {
            let key = try #require(KeyVectors.key(row.key, isRSA: false, isPrivate: true), "\(file) \(row.number)")
            let peer = KeyVectors.key(row.input, isRSA: false, isPrivate: false)
            let shared = peer.flatMap {
                SecKeyCopyKeyExchangeResult(key, row.algorithm, $0, [:] as CFDictionary, nil) as Data?
            }
            // Rows marked "acceptable" use compressed points, which are refused.
            #expect(shared == (row.result == "valid" ? row.output : nil), "\(file) \(row.number)")
        }
    }

    @Test func `an exchange of NIST's gives what it should, and no key with a wrong half is one`() throws {
        for row in try KeyVectors.rows(of: "nist/ecdh.txt") {
            let key = KeyVectors.key(row.key, isRSA: false, isPrivate: true)
            let peer = KeyVectors.key(row.input, isRSA: false, isPrivate: false)
            var shared: Data?
            if let key, let peer {
                shared =
                    SecKeyCopyKeyExchangeResult(key, .ecdhKeyExchangeStandard, peer, [:] as CFDictionary, nil) as Data?
            }
            let bits = Int32((row.algorithm.rawValue as String).dropFirst(3))
            let hash = try #require(bits.flatMap(DigestAlgorithm.init))
            let digest = try shared.map { Data(try hash.digest(of: Array($0).span)) }
            #expect((digest == row.output) == (row.result == "valid"), "\(row.number)")
        }
    }

    @Test func `only a point of its curve is a key`() throws {
        let lines = String(decoding: try Vectors.bytes("keys/nist/points.txt"), as: UTF8.self).split(separator: "\n")
        for line in lines where !line.hasPrefix("#") {
            let words = line.split(separator: " ")
            let key = KeyVectors.key(KeyVectors.data(String(words[1])), isRSA: false, isPrivate: false)
            #expect((key != nil) == (words[0] == "valid"), "\(line)")
        }
    }

    @Test func `what others have encrypted as Apple does opens`() throws {
        let vectors = try ConstructionVectors.all()
        for row in vectors.ecies + vectors.hybrid {
            let isRSA = row.algorithm.contains("RSA")
            let key = try #require(
                KeyVectors.key(KeyVectors.data(row.private), isRSA: isRSA, isPrivate: true), "\(row.algorithm)")
            for name in [row.algorithm, row.also].compactMap({ $0 }) {
                let text = SecKeyCreateDecryptedData(
                    key, SecKeyAlgorithm(rawValue: name as CFString), KeyVectors.data(row.ciphertext) as CFData, nil)
                #expect(text as Data? == KeyVectors.data(row.plaintext), "\(name)")
            }
        }
        for row in vectors.rejection {
            let key = try #require(KeyVectors.key(KeyVectors.data(row.private), isRSA: true, isPrivate: true))
            let text = SecKeyCreateDecryptedData(
                key, .rsaEncryptionPKCS1, KeyVectors.data(row.ciphertext) as CFData, nil)
            #expect(text as Data? == KeyVectors.data(row.result))
        }
    }

    @Test func `what others have derived is derived here, and labels are theirs`() throws {
        let vectors = try ConstructionVectors.all()
        for row in vectors.exchange {
            let key = try #require(KeyVectors.key(KeyVectors.data(row.private), isRSA: false, isPrivate: true))
            let peer = try #require(KeyVectors.key(KeyVectors.data(row.public), isRSA: false, isPrivate: false))
            var parameters: [SecKeyKeyExchangeParameter: Any] = [:]
            parameters[.requestedSize] = row.requestedSize
            parameters[.sharedInfo] = row.sharedInfo.map(KeyVectors.data)
            for name in [row.algorithm, row.algorithm.replacing("ECDH", with: "ECDHC")] {
                let shared = SecKeyCopyKeyExchangeResult(
                    key, SecKeyAlgorithm(rawValue: name as CFString), peer, parameters as CFDictionary, nil)
                #expect(shared as Data? == KeyVectors.data(row.result), "\(name)")
            }
        }
        for row in vectors.labels {
            let bytes = KeyVectors.data(row.key)
            let key = [true, false].lazy.compactMap { isRSA in
                KeyVectors.key(bytes, isRSA: isRSA, isPrivate: true)
                    ?? KeyVectors.key(bytes, isRSA: isRSA, isPrivate: false)
            }.first
            let attributes = try #require(key.flatMap(SecKeyCopyAttributes)) as NSDictionary
            #expect(attributes["klbl"] as? Data == KeyVectors.data(row.klbl))
        }
    }
}

extension KeyVectors {
    /// Wycheproof files whose names begin with one of `names`.
    static func files(_ names: String...) throws -> [String] {
        let files = Vectors.names("keys/wycheproof", suffix: ".txt").map { String($0.dropFirst("keys/".count)) }
        let found = files.filter { file in names.contains { file.hasPrefix("wycheproof/" + $0) } }
        try #require(!found.isEmpty)
        return found
    }
}

extension ConstructionVectors {
    static func all() throws -> ConstructionVectors {
        try JSONDecoder().decode(ConstructionVectors.self, from: Data(Vectors.bytes("keys/constructions.json")))
    }
}
