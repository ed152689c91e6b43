// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices

private let message = Data("a message".utf8)
private var nothing: [String: Any] { [:] }

private func encrypt(_ key: SecKey, _ algorithm: SecKeyAlgorithm, _ data: Data) -> Data? {
    SecKeyCreateEncryptedData(key, algorithm, data as CFData, nil) as Data?
}

private func decrypt(_ key: SecKey, _ algorithm: SecKeyAlgorithm, _ data: Data) -> Data? {
    SecKeyCreateDecryptedData(key, algorithm, data as CFData, nil) as Data?
}

extension KeyCase {
    // MARK: N. Signatures, encryption, exchange

    static let usingKeys: [KeyCase] = [
        KeyCase("N01") { checks in
            let key = try makeKey(curve, 256)
            let other = try publicKey(key)
            let messages: [SecKeyAlgorithm] = [
                .ecdsaSignatureMessageX962SHA1, .ecdsaSignatureMessageX962SHA224, .ecdsaSignatureMessageX962SHA256,
                .ecdsaSignatureMessageX962SHA384, .ecdsaSignatureMessageX962SHA512, .ecdsaSignatureMessageRFC4754SHA1,
                .ecdsaSignatureMessageRFC4754SHA224, .ecdsaSignatureMessageRFC4754SHA256,
                .ecdsaSignatureMessageRFC4754SHA384, .ecdsaSignatureMessageRFC4754SHA512,
                .ecdsaSignatureDigestX962, .ecdsaSignatureDigestRFC4754, .ecdsaSignatureRFC4754,
            ]
            for algorithm in messages {
                let signature = try checks.require(sign(key, algorithm, message))
                checks.expect(verify(other, algorithm, message, signature), algorithm.rawValue as String)
                for (data, tried) in [(message.changed(at: 0), signature), (message, signature.changed(at: 20))] {
                    checks.expect(-67808) { error in
                        SecKeyVerifySignature(other, algorithm, data as CFData, tried as CFData, error) ? true : nil
                    }
                }
            }
            let digests: [(SecKeyAlgorithm, Int)] = [
                (.ecdsaSignatureDigestX962SHA1, 20), (.ecdsaSignatureDigestX962SHA224, 28),
                (.ecdsaSignatureDigestX962SHA256, 32), (.ecdsaSignatureDigestX962SHA384, 48),
                (.ecdsaSignatureDigestX962SHA512, 64), (.ecdsaSignatureDigestRFC4754SHA1, 20),
                (.ecdsaSignatureDigestRFC4754SHA224, 28), (.ecdsaSignatureDigestRFC4754SHA256, 32),
                (.ecdsaSignatureDigestRFC4754SHA384, 48), (.ecdsaSignatureDigestRFC4754SHA512, 64),
            ]
            for (algorithm, length) in digests {
                let digest = Data(repeating: 7, count: length)
                let signature = try checks.require(sign(key, algorithm, digest))
                checks.expect(verify(other, algorithm, digest, signature), algorithm.rawValue as String)
                checks.expect(!verify(other, algorithm, digest.changed(at: 0), signature))
            }
        },
        KeyCase("N02") { checks in
            let key = try makeKey(curve, 256)
            for length in [31, 33] {
                checks.expect(-50) {
                    SecKeyCreateSignature(
                        key, .ecdsaSignatureDigestX962SHA256, Data(repeating: 1, count: length) as CFData, $0)
                }
            }
            checks.expect(sign(key, .ecdsaSignatureDigestX962SHA256, Data(repeating: 1, count: 32)) != nil)
            checks.expect(sign(key, .ecdsaSignatureDigestX962, Data(repeating: 1, count: 50)) != nil)
        },
        KeyCase("N03") { checks in
            for (bits, length) in [(256, 64), (521, 132)] {
                let key = try makeKey(curve, bits)
                let digest = Data(repeating: 9, count: 32)
                let signature = try checks.require(sign(key, .ecdsaSignatureDigestRFC4754, digest))
                let other = try publicKey(key)
                checks.expect(signature.count == length)
                checks.expect(verify(other, .ecdsaSignatureDigestRFC4754SHA256, digest, signature))
                checks.expect(-67808) { error in
                    SecKeyVerifySignature(
                        other, .ecdsaSignatureDigestRFC4754, digest as CFData, signature.dropLast() as CFData, error)
                        ? true : nil
                }
            }
        },
        KeyCase("N04") { checks in
            let (large, small) = (try makeKey(rsa, 1024), try makeKey(rsa, 1023))
            checks.expect(SecKeyIsAlgorithmSupported(large, .sign, .rsaSignatureMessagePSSSHA384))
            checks.expect(!SecKeyIsAlgorithmSupported(large, .sign, .rsaSignatureMessagePSSSHA512))
            checks.expect(!SecKeyIsAlgorithmSupported(small, .sign, .rsaSignatureMessagePSSSHA512))
            checks.expect(-50) {
                SecKeyCreateSignature(large, .rsaSignatureMessagePSSSHA512, message as CFData, $0)
            }
        },
        KeyCase("N05") { checks in
            let key = try publicKey(makeKey(rsa, 1024))
            let tried: [(SecKeyAlgorithm, Int, Bool)] = [
                (.rsaEncryptionPKCS1, 117, true), (.rsaEncryptionPKCS1, 118, false), (.rsaEncryptionOAEPSHA1, 86, true),
                (.rsaEncryptionOAEPSHA1, 87, false), (.rsaEncryptionOAEPSHA256, 62, true),
                (.rsaEncryptionOAEPSHA256, 63, false), (.rsaEncryptionOAEPSHA512, 0, false),
                (.rsaEncryptionRaw, 129, false),
            ]
            for (algorithm, length, isPossible) in tried {
                let text = Data(repeating: 1, count: length)
                if isPossible {
                    checks.expect(encrypt(key, algorithm, text)?.count == 128, "\(algorithm.rawValue) \(length)")
                } else {
                    checks.expect(-50) { SecKeyCreateEncryptedData(key, algorithm, text as CFData, $0) }
                }
            }
            checks.expect(encrypt(key, .rsaEncryptionRaw, Data(count: 127) + [1])?.count == 128)
        },
        KeyCase("N06") { checks in
            let key = try makeKey(rsa, 1024)
            let other = try publicKey(key)
            let text = Data("encrypt".utf8)
            let block = try checks.require(
                encrypt(other, .rsaEncryptionRaw, text).flatMap {
                    decrypt(key, .rsaEncryptionRaw, $0)
                })
            checks.expect(block == Data(count: 128 - text.count) + text)
            checks.expect(-50) {
                SecKeyCreateEncryptedData(other, .rsaEncryptionRaw, Data(repeating: 0xff, count: 128) as CFData, $0)
            }
            let signature = try checks.require(sign(key, .rsaSignatureRaw, text))
            checks.expect(verify(other, .rsaSignatureRaw, text, signature))
            checks.expect(decrypt(other, .rsaEncryptionRaw, signature) == block)
        },
        KeyCase("N07") { checks in
            let key = try makeKey(rsa, 1024)
            let ciphertext = try checks.require(encrypt(publicKey(key), .rsaEncryptionPKCS1, message))
            checks.expect(decrypt(key, .rsaEncryptionPKCS1, ciphertext) == message)
            let altered = ciphertext.changed(at: 127)
            let other = try checks.require(decrypt(key, .rsaEncryptionPKCS1, altered))
            checks.expect(other != message && decrypt(key, .rsaEncryptionPKCS1, altered) == other)
            checks.expect(-50) {
                SecKeyCreateDecryptedData(key, .rsaEncryptionPKCS1, Data([0]) + ciphertext as CFData, $0)
            }
        },
        KeyCase("N09") { checks in
            for (type, bits, algorithm) in [
                (curve, 256, SecKeyAlgorithm.eciesEncryptionCofactorVariableIVX963SHA256AESGCM),
                (rsa, 1024, .rsaEncryptionOAEPSHA1AESGCM),
            ] {
                let (key, foreign) = (try makeKey(type, bits), try makeKey(type, bits))
                let other = try publicKey(key)
                let first = try checks.require(encrypt(other, algorithm, message))
                let second = try checks.require(encrypt(other, algorithm, message))
                checks.expect(first != second)
                for text in [first, second] { checks.expect(decrypt(key, algorithm, text) == message) }
                for altered in [
                    first.changed(at: 2), first.changed(at: first.count - 20), first.changed(at: first.count - 1),
                    first.dropLast(16), first.prefix(10),
                ] {
                    checks.expect(-50) { SecKeyCreateDecryptedData(key, algorithm, altered as CFData, $0) }
                }
                checks.expect(-50) { SecKeyCreateDecryptedData(foreign, algorithm, first as CFData, $0) }
            }
        },
        KeyCase("N10") { checks in
            let (own, peer) = (try makeKey(curve, 256), try makeKey(curve, 256))
            let algorithm = SecKeyAlgorithm.ecdhKeyExchangeStandardX963SHA256
            let other = try publicKey(peer)
            for parameters in [nothing, ["requestedSize": 0], ["requestedSize": (1 << 24) + 1]] {
                checks.expect(-50) {
                    SecKeyCopyKeyExchangeResult(own, algorithm, other, parameters as CFDictionary, $0)
                }
            }
            let size = [SecKeyKeyExchangeParameter.requestedSize: 33]
            let first = SecKeyCopyKeyExchangeResult(own, algorithm, other, size as CFDictionary, nil) as Data?
            let second = SecKeyCopyKeyExchangeResult(peer, algorithm, try publicKey(own), size as CFDictionary, nil)
            checks.expect(first?.count == 33 && first == second as Data?)
            for stranger in [try publicKey(makeKey(rsa, 1024)), try publicKey(makeKey(curve, 384))] {
                checks.expect(-50) {
                    SecKeyCopyKeyExchangeResult(own, algorithm, stranger, size as CFDictionary, $0)
                }
            }
        },
        KeyCase("N11") { checks in
            let key = try makeKey(curve, 256)
            let digest = [UInt8](repeating: 3, count: 32)
            var signature = [UInt8](repeating: 0, count: 80)
            var length = 10
            checks.expect(SecKeyRawSign(key, .PKCS1, digest, digest.count, &signature, &length) == -50)
            length = 80
            checks.expect(SecKeyRawSign(key, .PKCS1, digest, digest.count, &signature, &length) == 0 && length <= 72)
            let other = try publicKey(key)
            checks.expect(SecKeyRawVerify(other, .PKCS1, digest, digest.count, signature, length) == 0)
            var changed = digest
            changed[0] ^= 1
            checks.expect(SecKeyRawVerify(other, .PKCS1, changed, changed.count, signature, length) == -9809)
            try legacyRSA(&checks)
        },
    ]

    private static func legacyRSA(_ checks: inout Checks) throws {
        let key = try makeKey(rsa, 1024)
        let other = try publicKey(key)
        let text = [UInt8](repeating: 5, count: 20)
        for padding in [SecPadding(), .PKCS1, .OAEP] {
            var (block, room) = ([UInt8](repeating: 0, count: 128), 128)
            checks.expect(SecKeyEncrypt(other, padding, text, text.count, &block, &room) == 0 && room == 128)
            var (plain, count) = ([UInt8](repeating: 0, count: 128), 128)
            checks.expect(SecKeyDecrypt(key, padding, block, room, &plain, &count) == 0)
            checks.expect(Array(plain.prefix(count)) == text, "\(padding.rawValue)")
        }
        for padding in [SecPadding(), .PKCS1, .PKCS1SHA1] {
            var (signature, room) = ([UInt8](repeating: 0, count: 128), 128)
            checks.expect(SecKeyRawSign(key, padding, text, text.count, &signature, &room) == 0)
            checks.expect(SecKeyRawVerify(other, padding, text, text.count, signature, room) == 0)
        }
        var (signature, room) = ([UInt8](repeating: 0, count: 128), 128)
        checks.expect(SecKeyRawSign(key, .PKCS1MD5, text, text.count, &signature, &room) == -50)
        checks.expect(SecKeyRawSign(key, .PKCS1SHA256, text, text.count, &signature, &room) == -50)
    }
}
