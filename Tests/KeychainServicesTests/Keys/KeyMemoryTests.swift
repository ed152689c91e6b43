// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import VaultCrypto

@testable import KeychainServices

struct KeyMemoryTests {
    /// Markers for a number's possible remains: the bytes in either order, since libcrypto stores numbers
    /// little-endian.
    private static func marks(_ number: borrowing SecretBytes) -> [SecretMarker] {
        [SecretMarker(of: number), SecretMarker(of: number, isReversed: true)]
    }

    @Test func `no private number of a curve's key is left in the process after its use`() async {
        await #expect(processExitsWith: .success) {
            for curve in [NISTCurve.p256, .p384, .p521] {
                var marks: [SecretMarker] = []
                do {
                    let bytes = try AsymmetricKey.make(curve: curve, bits: Int(curve.rawValue))
                    marks = Self.marks(try bytes.copy(of: curve.pointLength..<bytes.count))
                    // The control: the search finds a key that is held.
                    guard try marks[0].occurrencesInMemory() == 1 else { exit(10) }
                    guard let key = SecKey.privateKey(Secret(bytes), isRSA: false), let other = key.publicKey else {
                        exit(11)
                    }
                    let data = Data("message".utf8) as CFData
                    guard SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, data, nil) != nil,
                        let text = SecKeyCreateEncryptedData(
                            other, .eciesEncryptionStandardX963SHA256AESGCM, data, nil),
                        SecKeyCreateDecryptedData(key, .eciesEncryptionStandardX963SHA256AESGCM, text, nil) == data,
                        SecKeyCopyKeyExchangeResult(key, .ecdhKeyExchangeStandard, other, [:] as CFDictionary, nil)
                            != nil
                    else { exit(12) }
                    let numbers = try key.asymmetricKey()
                    try numbers.check()
                }
                for mark in marks { guard try mark.occurrencesInMemory() == 0 else { exit(13) } }
            }
        }
    }

    @Test func `no private number of an RSA key is left in the process after its use`() async {
        await #expect(processExitsWith: .success) {
            var marks: [SecretMarker] = []
            do {
                let numbers = try AsymmetricKey.make(curve: nil, bits: 1024)
                // The private exponent, the primes, the two exponents and the coefficient. The primes and the numbers
                // derived from them fill half of their field.
                for (index, start) in [(2, 0), (3, 64), (4, 64), (5, 64), (6, 64), (7, 64)] {
                    marks += Self.marks(try numbers.copy(of: index * 128 + start..<(index + 1) * 128))
                }
                for mark in marks where try mark.occurrencesInMemory() > 1 { exit(10) }
                guard try marks[2].occurrencesInMemory() == 1 else { exit(14) }
                guard let key = SecKey.privateKey(Secret(try KeyRepresentation.pkcs1(numbers)), isRSA: true),
                    let other = key.publicKey
                else { exit(11) }
                let data = Data("message".utf8) as CFData
                for algorithm in [SecKeyAlgorithm.rsaSignatureMessagePKCS1v15SHA256, .rsaSignatureMessagePSSSHA256] {
                    guard SecKeyCreateSignature(key, algorithm, data, nil) != nil else { exit(12) }
                }
                for algorithm in [
                    SecKeyAlgorithm.rsaEncryptionPKCS1, .rsaEncryptionOAEPSHA256, .rsaEncryptionOAEPSHA256AESGCM,
                ] {
                    guard let text = SecKeyCreateEncryptedData(other, algorithm, data, nil),
                        SecKeyCreateDecryptedData(key, algorithm, text, nil) == data
                    else { exit(12) }
                }
                let parsed = try key.asymmetricKey()
                try parsed.check()
            }
            for mark in marks { guard try mark.occurrencesInMemory() == 0 else { exit(13) } }
        }
    }

    @Test func `a key works until the very end of its process`() async {
        await #expect(processExitsWith: .success) {
            // Handlers run in reverse order, so one that libcrypto registered later would run before.
            atexit {
                let key = try? KeyOrder(["type": "73", "bsiz": 256] as NSDictionary).make()
                let data = Data("message".utf8) as CFData
                let signature = key.flatMap { SecKeyCreateSignature($0, .ecdsaSignatureMessageX962SHA256, data, nil) }
                if signature == nil { _exit(10) }
            }
            _ = try KeyOrder(["type": "73", "bsiz": 256] as NSDictionary).make()
        }
    }

    @Test func `64 threads use one key at once, and so does a child that was forked`() async {
        await #expect(processExitsWith: .success) {
            let order = try KeyOrder(["type": "73", "bsiz": 256] as NSDictionary)
            let key = try order.make()
            let data = Data("message".utf8) as CFData
            let isWrong: @Sendable () -> Bool = {
                guard let other = key.publicKey,
                    let signature = SecKeyCreateSignature(
                        key, .ecdsaSignatureMessageX962SHA256, Data("message".utf8) as CFData, nil)
                else { return true }
                return !SecKeyVerifySignature(
                    other, .ecdsaSignatureMessageX962SHA256, Data("message".utf8) as CFData, signature, nil)
            }
            try atOnce(64) { _ in
                for _ in 0..<10 where isWrong() { exit(10) }
            }
            // Signatures made in parent and child must use different nonces; a reused nonce reveals the key.
            let signatures = (0..<2).map { _ in SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, data, nil)
            }
            guard signatures[0] != nil, signatures[0] != signatures[1] else { exit(11) }
        }
    }
}
