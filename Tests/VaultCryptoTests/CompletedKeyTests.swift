// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

@testable import VaultCrypto

/// RSA keys that lack their exponents modulo the primes.
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
}
