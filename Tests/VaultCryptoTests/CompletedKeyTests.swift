// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

@testable import VaultCrypto

/// RSA keys that lack their exponents modulo the primes, and keys of P-256 that lack their point.
struct CompletedKeyTests {
    private static let length = 128

    /// The ranges of n, e, d, p, q and qInv among the numbers of a new key, without the zero bytes before the last
    /// three.
    private static var places: [Range<Int>] {
        [(0, 0), (1, 0), (2, 0), (3, length / 2), (4, length / 2), (7, length / 2)].map { index, zeros in
            index * length + zeros..<(index + 1) * length
        }
    }

    private static func complete(
        _ numbers: borrowing SecretBytes, _ places: [Range<Int>] = places
    ) throws(CryptoError) -> AsymmetricKey {
        try numbers.withBytes { bytes throws(CryptoError) in try AsymmetricKey.completing(rsa: bytes, places) }
    }

    @Test func `one that is completed signs, and all its numbers fit`() throws {
        let numbers = try AsymmetricKey.make(curve: nil, bits: 8 * Self.length)
        let key = try Self.complete(numbers)
        try key.check()
        let digest = [UInt8](repeating: 7, count: 32)
        let signature = try key.sign(digest.span, .pkcs1, .sha256)
        let other = try numbers.withBytes { bytes throws(CryptoError) in
            try AsymmetricKey(rsa: bytes, Array(Self.places[..<2]))
        }
        try other.verify(signature.span, of: digest.span, .pkcs1, .sha256)
    }

    @Test func `numbers that are not of one key are refused`() throws {
        let numbers = try AsymmetricKey.make(curve: nil, bits: 8 * Self.length)
        var places = Self.places
        places.swapAt(3, 4)
        #expect(throws: CryptoError.authenticationFailed) { _ = try Self.complete(numbers, places) }
        places = Self.places
        places[4] = places[3]
        #expect(throws: CryptoError.authenticationFailed) { _ = try Self.complete(numbers, places) }
        // A signature shows whether e and d fit.
        for index in [0, 3, 4, 5] {
            let place = Self.places[index]
            for bit in [0, 3] {
                var changed = try numbers.copy(of: 0..<numbers.count)
                changed.withMutableBytes { $0[place.upperBound - 1] ^= 1 << bit }
                #expect(throws: CryptoError.authenticationFailed, "\(index)") { _ = try Self.complete(changed) }
            }
            var short = Self.places
            short[index] = place.lowerBound..<place.lowerBound
            #expect(throws: CryptoError.authenticationFailed, "\(index)") { _ = try Self.complete(numbers, short) }
        }
    }

    @Test func `nothing of them is left in the process`() async {
        await #expect(processExitsWith: .success) {
            var marks: [SecretMarker] = []
            do {
                let numbers = try AsymmetricKey.make(curve: nil, bits: 1024)
                for index in 2..<8 {
                    let start = index * 128 + (index == 2 ? 0 : 64)
                    let number = try numbers.copy(of: start..<(index + 1) * 128)
                    marks += [SecretMarker(of: number), SecretMarker(of: number, isReversed: true)]
                }
                guard try marks[2].occurrencesInMemory() == 1 else { exit(10) }
                let key = try Self.complete(numbers)
                let digest = [UInt8](repeating: 7, count: 32)
                _ = try key.sign(digest.span, .pkcs1, .sha256)
            }
            for mark in marks { guard try mark.occurrencesInMemory() == 0 else { exit(11) } }
        }
    }

    /// The order of P-256 (FIPS 186-4, D.1.2.3).
    private static let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"

    @Test(arguments: ["", "00", String(repeating: "0", count: 64), order, String(repeating: "f", count: 64)])
    func `a number that is no private key of P-256 is refused`(number: String) {
        let bytes = [UInt8](hexadecimal: number)
        #expect(throws: CryptoError.authenticationFailed) { _ = try AsymmetricKey.completing(p256: bytes.span) }
        let long = [UInt8](repeating: 1, count: 33)
        #expect(throws: CryptoError.authenticationFailed) { _ = try AsymmetricKey.completing(p256: long.span) }
    }

    /// The generator, of the number 1, and a key of WebAuthn Level 3, 16.
    @Test(arguments: [
        (
            "01", "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
            "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
        ),
        (
            "6e68e7a58484a3264f66b77f5d6dc5bc36a47085b615c9727ab334e8c369c2ee",
            "afefa16f97ca9b2d23eb86ccb64098d20db90856062eb249c33a9b672f26df61",
            "930a56b87a2fca66334b03458abf879717c12cc68ed73290af2e2664796b9220"
        ),
    ])
    func `the point of a private number is computed`(number: String, x: String, y: String) throws {
        let bytes = [UInt8](hexadecimal: number)
        let whole = try AsymmetricKey.completing(p256: bytes.span)
        let padded = [UInt8](repeating: 0, count: 32 - bytes.count) + bytes
        #expect(whole.exposed == [4] + [UInt8](hexadecimal: x + y) + padded)
        let key = try whole.withBytes { bytes throws(CryptoError) in try AsymmetricKey(.p256, bytes) }
        try key.check()
    }
}
