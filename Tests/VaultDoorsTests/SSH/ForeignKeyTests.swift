// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto

@testable import VaultSSHAgent

/// Signatures of elliptic curves, from their numbers. The public point belongs to the private number 1: the generator
/// as printed in FIPS 186-4. The tests of the ssh protocol cover RSA keys and keys made by OpenSSH.
struct ForeignKeyTests {
    private static let generator = [UInt8](
        hexadecimal: """
            046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2
            964fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51
            f5
            """)
    private static let order = [UInt8](
        hexadecimal: "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
    private static let message = Array("message".utf8)

    private func failure(_ body: () throws -> Void) -> CryptoError? {
        do {
            try body()
            return nil
        } catch { return error as? CryptoError }
    }

    private func key(_ private_: [UInt8], point: [UInt8] = generator) throws -> ForeignKey {
        try ForeignKey(.ecdsa(.p256, point: point), private: [Secret(bytes: private_)])
    }

    @Test func `a private number that is not the point's, or none, is refused`() {
        let numbers: [[UInt8]] = [
            [], [0], [2], Self.order, Self.order.dropLast() + [0x52], [UInt8](repeating: 1, count: 33),
        ]
        for number in numbers {
            #expect(failure { _ = try key(number) } == .authenticationFailed)
        }
        #expect(
            failure { _ = try ForeignKey(.ecdsa(.p256, point: Self.generator), private: []) } == .authenticationFailed)
    }

    @Test func `a point outside the curve is no key`() {
        var other = Self.generator
        other[64] ^= 1
        let infinity = [UInt8](repeating: 0, count: 65)
        let points: [[UInt8]] = [
            other, infinity, [4] + infinity.dropFirst(), [0], [], Array(Self.generator.dropLast()),
            [6] + Self.generator.dropFirst(), [7] + Self.generator.dropFirst(), Self.generator + [0],
        ]
        for point in points {
            #expect(failure { try ForeignPublicKey.ecdsa(.p256, point: point).check() } == .authenticationFailed)
            #expect(failure { _ = try key([1], point: point) } == .authenticationFailed)
        }
        #expect(
            failure { try ForeignPublicKey.ecdsa(.p384, point: Self.generator).check() } == .authenticationFailed)
        #expect(failure { try ForeignPublicKey.ecdsa(.p256, point: Self.generator).check() } == nil)
    }

    @Test func `an RSA key of a length or exponent that is refused is none`() {
        let modulus = [UInt8](repeating: 0xff, count: 256)
        for (modulus, exponent) in [
            (modulus, [2]), (modulus, [1]), (modulus, []), (modulus, [UInt8](repeating: 1, count: 9)),
            (Array(modulus.dropLast()), [3]), ([0x7f] + modulus.dropFirst(), [3]), (modulus.dropLast() + [0xfe], [3]),
            ([1] + [UInt8](repeating: 0xff, count: 2048), [3]), ([], [3]),
        ] as [([UInt8], [UInt8])] {
            let key = ForeignPublicKey.rsa(modulus: modulus, exponent: exponent)
            #expect(failure { try key.check() } == .authenticationFailed)
            let nothing: [UInt8] = []
            #expect(
                failure { try key.verify(nothing.span, of: Self.message.span, hash: .sha256) } == .authenticationFailed)
        }
        #expect(failure { try ForeignPublicKey.rsa(modulus: modulus, exponent: [3]).check() } == nil)
    }

    @Test func `a signature is of its message, hash and key, and of no length but its own`() throws {
        let key = try key([1])
        let signature = try key.sign(Self.message.span, hash: .sha256)
        #expect(signature.count == 64)
        let publicKey = key.publicKey
        func verifies(_ signature: [UInt8], _ message: [UInt8] = Self.message, _ hash: DigestAlgorithm = .sha256)
            -> Bool
        {
            failure { try publicKey.verify(signature.span, of: message.span, hash: hash) } == nil
        }
        #expect(verifies(signature))
        #expect(try key.sign(Self.message.span, hash: .sha256) != signature)
        #expect(!verifies(signature, Self.message + [0]))
        #expect(!verifies(signature, Self.message, .sha512))
        #expect(!verifies(signature + [0]))
        #expect(!verifies([]))
        // Numbers that verify every message if an implementation does not check their range.
        #expect(!verifies([UInt8](repeating: 0, count: 64)))
        #expect(!verifies(Self.order + Self.order))
        for index in signature.indices {
            var other = signature
            other[index] ^= 0x80
            #expect(!verifies(other))
        }
    }
}
