// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import TestSupport
import Testing
import VaultFormat

struct KeyRefusalTests {
    private static func bytes(_ type: String, _ bits: Int, isPrivate: Bool = true) throws -> [UInt8] {
        let key = try #require(SecKeyCreateRandomKey(["type": type, "bsiz": bits] as CFDictionary, nil))
        let wanted = isPrivate ? key : try #require(SecKeyCopyPublicKey(key))
        return Array(try #require(SecKeyCopyExternalRepresentation(wanted, nil) as Data?))
    }

    private static func status(_ bytes: [UInt8], isRSA: Bool, isPrivate: Bool) -> Int? {
        var error: Unmanaged<CFError>?
        let attributes = ["type": isRSA ? "42" : "73", "kcls": isPrivate ? "1" : "0"] as CFDictionary
        let key = SecKeyCreateWithData(Data(bytes) as CFData, attributes, &error)
        #expect((key == nil) == (error != nil))
        return error.map { CFErrorGetCode($0.takeRetainedValue()) }
    }

    /// The numbers of a private key, without its version.
    private static func numbers(_ bytes: [UInt8]) throws -> [[UInt8]] {
        var reader = DERReader(bytes.span)
        let content = reader.take(DERTag.sequence, of: bytes.span)
        reader = DERReader(try #require(content))
        var numbers: [[UInt8]] = []
        while let number = reader.takeNumber(of: bytes.span) { numbers.append(Array(bytes[number])) }
        return Array(numbers.dropFirst())
    }

    private static func key(_ numbers: [[UInt8]], version: UInt8? = 0) -> [UInt8] {
        var writer = DERWriter()
        writer.put(DERTag.sequence) { inner in
            if let version { inner.putNumber([version]) }
            for number in numbers { inner.putNumber(number) }
        }
        return writer.bytes
    }

    @Test(arguments: [("42", 1024), ("73", 256), ("73", 521)], [true, false])
    func `bytes that are cut, or followed by others, are no key`(kind: (type: String, bits: Int), isPrivate: Bool)
        throws
    {
        let bytes = try Self.bytes(kind.type, kind.bits, isPrivate: isPrivate)
        let isRSA = kind.type == "42"
        #expect(Self.status(bytes, isRSA: isRSA, isPrivate: isPrivate) == nil)
        for end in 0..<bytes.count {
            #expect(Self.status(Array(bytes[..<end]), isRSA: isRSA, isPrivate: isPrivate) == -50)
        }
        #expect(Self.status(bytes + [0], isRSA: isRSA, isPrivate: isPrivate) == -50)
        #expect(Self.status(bytes, isRSA: !isRSA, isPrivate: isPrivate) == -50)
        #expect(Self.status(bytes, isRSA: isRSA, isPrivate: !isPrivate) == -50)
    }

    @Test func `an RSA key whose numbers do not belong together is refused`() throws {
        let numbers = try Self.numbers(Self.bytes("42", 1024))
        try #require(numbers.count == 8)
        #expect(Self.status(Self.key(numbers), isRSA: true, isPrivate: true) == nil)
        for index in numbers.indices {
            for place in [0, numbers[index].count - 1] {
                var changed = numbers
                changed[index][place] ^= 2
                #expect(Self.status(Self.key(changed), isRSA: true, isPrivate: true) == -50, "\(index) \(place)")
            }
            var zero = numbers
            zero[index] = []
            #expect(Self.status(Self.key(zero), isRSA: true, isPrivate: true) == -50)
        }
        // The primes swapped, with the values derived from them left in place.
        #expect(
            Self.status(
                Self.key([0, 1, 2, 4, 3, 5, 6, 7].map { numbers[$0] }), isRSA: true, isPrivate: true) == -50)
        #expect(Self.status(Self.key(numbers, version: 1), isRSA: true, isPrivate: true) == -50)
        #expect(Self.status(Self.key(numbers, version: nil), isRSA: true, isPrivate: true) == -50)
        #expect(Self.status(Self.key(Array(numbers.dropLast())), isRSA: true, isPrivate: true) == -50)
        #expect(Self.status(Self.key(numbers + [[1]]), isRSA: true, isPrivate: true) == -50)
    }

    @Test func `a public RSA key is odd, and of a size and with an exponent that there is`() throws {
        let modulus = try Self.numbers(Self.bytes("42", 1024))[0]
        let odd = Array(modulus.dropLast()) + [modulus[127] ^ 1]
        let refused: [[[UInt8]]] = [
            [modulus, [1]], [modulus, []], [modulus, [2]], [modulus, modulus], [odd, [3]],
            [Array(modulus[65...]), [3]],
            [modulus + [UInt8](repeating: 1, count: 1000), [3]], [[], [3]], [modulus], [modulus, [3], [3]],
        ]
        for numbers in refused {
            #expect(Self.status(Self.key(numbers, version: nil), isRSA: true, isPrivate: false) == -50)
        }
        #expect(Self.status(Self.key([modulus, [3]], version: nil), isRSA: true, isPrivate: false) == nil)
        // A 512-bit modulus: the smallest size, also on Apple's systems.
        let small = [UInt8](modulus[64...])
        let exact = [small[0] | 0x80] + small.dropFirst()
        #expect(Self.status(Self.key([exact, [3]], version: nil), isRSA: true, isPrivate: false) == nil)
        // A negative number, a number with a superfluous zero byte, and text.
        #expect(Self.status([0x30, 6, 2, 1, 0x81, 2, 1, 3], isRSA: true, isPrivate: false) == -50)
        let padded = [0x30, 0x81, 0x88, 2, 0x81, 0x82, 0, 0] + modulus + [2, 1, 3]
        #expect(Self.status(padded, isRSA: true, isPrivate: false) == -50)
        #expect(
            Self.status(Array("-----BEGIN RSA PUBLIC KEY-----".utf8), isRSA: true, isPrivate: false) == -50)
    }

    @Test func `a private number of a curve lies between zero and the order, and is the point's`() throws {
        let bytes = try Self.bytes("73", 256)
        let order = [UInt8](hexadecimal: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        let point = Array(bytes[..<65])
        for number in [[UInt8](repeating: 0, count: 32), order, [UInt8](repeating: 0xff, count: 32)] {
            #expect(Self.status(point + number, isRSA: false, isPrivate: true) == -50)
        }
        let swapped = [4] + bytes[33..<65] + bytes[1..<33] + bytes[65...]
        #expect(Self.status(Array(swapped), isRSA: false, isPrivate: true) == -50)
        #expect(Self.status([4] + [UInt8](repeating: 0, count: 64), isRSA: false, isPrivate: false) == -50)
        #expect(Self.status([4] + [UInt8](repeating: 0xff, count: 64), isRSA: false, isPrivate: false) == -50)
        for first in [0, 2, 3, 6, 7] as [UInt8] {
            #expect(Self.status([first] + point.dropFirst(), isRSA: false, isPrivate: false) == -50)
        }
    }

    @Test func `an algorithm that is not the key's is refused before its data is looked at`() throws {
        let rsa = try #require(SecKeyCreateRandomKey(["type": "42", "bsiz": 1024] as CFDictionary, nil))
        let curve = try #require(SecKeyCreateRandomKey(["type": "73", "bsiz": 256] as CFDictionary, nil))
        for (key, algorithm) in [
            (rsa, SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256), (curve, .rsaSignatureMessagePSSSHA256),
            (rsa, .rsaEncryptionPKCS1), (curve, .ecdhKeyExchangeStandard), (rsa, .init(rawValue: "algid:none")),

        ] {
            var error: Unmanaged<CFError>?
            #expect(SecKeyCreateSignature(key, algorithm, Data() as CFData, &error) == nil)
            let failure = try #require(error?.takeRetainedValue())
            #expect(failure.code == -50 && failure.domain == NSOSStatusErrorDomain)
            #expect(failure.localizedDescription.contains(algorithm.rawValue as String))
            #expect(failure.userInfo["NSDescription"] as? String == failure.localizedDescription)
            #expect(!SecKeyIsAlgorithmSupported(key, .sign, algorithm))
        }
        // A private RSA key verifies nothing. Apple's call reports support, and then verification fails.
        #expect(!SecKeyIsAlgorithmSupported(rsa, .verify, .rsaSignatureMessagePSSSHA256))
        #expect(!SecKeyIsAlgorithmSupported(curve, .verify, .ecdsaSignatureMessageX962SHA256))
    }

    @Test func `an error is untouched on success`() throws {
        let mark = NSError(domain: "mark", code: 1)
        var error: Unmanaged<CFError>? = .passUnretained(mark)
        let key = try #require(SecKeyCreateRandomKey(["type": "73", "bsiz": 256] as CFDictionary, &error))
        _ = SecKeyCreateSignature(key, .ecdsaSignatureMessageX962SHA256, Data() as CFData, &error)
        #expect(error?.takeUnretainedValue() === mark)
    }

    @Test func `changed ciphertexts and signatures of any length end in a status`() throws {
        let rsa = try #require(SecKeyCreateRandomKey(["type": "42", "bsiz": 1024] as CFDictionary, nil))
        let curve = try #require(SecKeyCreateRandomKey(["type": "73", "bsiz": 384] as CFDictionary, nil))
        let tried: [(SecKey, SecKeyAlgorithm)] = [
            (rsa, .rsaEncryptionRaw), (rsa, .rsaEncryptionPKCS1), (rsa, .rsaEncryptionOAEPSHA256),
            (rsa, .rsaEncryptionOAEPSHA256AESGCM), (curve, .eciesEncryptionStandardX963SHA1AESGCM),
            (curve, .eciesEncryptionCofactorVariableIVX963SHA512AESGCM),
        ]
        for length in [0, 1, 16, 96, 97, 98, 112, 113, 114, 127, 128, 129, 143, 144, 145, 1000] {
            for byte in [0, 4, 0xff] as [UInt8] {
                let data = Data(repeating: byte, count: length) as CFData
                for (key, algorithm) in tried { _ = SecKeyCreateDecryptedData(key, algorithm, data, nil) }
                for (key, algorithm) in [
                    (rsa, SecKeyAlgorithm.rsaSignatureMessagePSSSHA256), (rsa, .rsaSignatureDigestPKCS1v15Raw),
                    (curve, .ecdsaSignatureMessageX962SHA256), (curve, .ecdsaSignatureMessageRFC4754SHA256),
                ] {
                    let other = try #require(SecKeyCopyPublicKey(key))
                    #expect(!SecKeyVerifySignature(other, algorithm, Data() as CFData, data, nil))
                }
            }
        }
    }
}
