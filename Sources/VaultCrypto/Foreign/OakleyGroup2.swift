// SPDX-License-Identifier: Apache-2.0
import CCrypto
import Glibc

/// A private number of the second Oakley group (RFC 2409, 6.2: 1024 bits, generator 2), for a single Diffie-Hellman
/// exchange by libcrypto. Hides the traffic on a user's bus from a process that eavesdrops; vaults do not depend on it.
package struct OakleyGroup2: ~Copyable {
    /// The length of every number in bytes, with leading zeros.
    package static let length = 128

    private let exponent: SecretBytes
    /// 128 bytes, for the peer.
    package let publicKey: [UInt8]

    /// - Throws: `.unavailable` without libcrypto.
    package init() throws(CryptoError) { try self.init(exponent: SecretBytes(random: Self.length)) }

    /// - Parameter exponent: 128 bytes.
    init(exponent: consuming SecretBytes) throws(CryptoError) {
        precondition(exponent.count == Self.length)
        var publicKey = [UInt8](repeating: 0, count: Self.length)
        // Both have 128 bytes.
        let result = unsafe exponent.withPointer { exponent in
            unsafe publicKey.withUnsafeMutableBufferPointer {
                unsafe ccrypto_dh1024_public(exponent, $0.baseAddress)
            }
        }
        Sodium.wipeStack()
        try Self.check(result)
        self.exponent = exponent
        self.publicKey = publicKey
    }

    /// The shared secret of both sides: 128 bytes.
    ///
    /// - Returns: `nil` for an invalid public key: 0, 1, p - 1 or more, which would leave no secret, and more than 128
    ///   bytes.
    package borrowing func shared(with peer: Span<UInt8>) throws(CryptoError) -> SecretBytes? {
        let output = try SecretBytes(zeroed: Self.length)
        // The private number and the output have 128 bytes.
        let result = unsafe exponent.withPointer { exponent in
            unsafe peer.withPointer { peer, count in
                unsafe output.withPointer { unsafe ccrypto_dh1024_shared(exponent, peer, count, $0) }
            }
        }
        Sodium.wipeStack()
        guard result != -Int(EINVAL) else { return nil }
        try Self.check(result)
        return output
    }

    private static func check(_ result: Int) throws(CryptoError) {
        guard result != -Int(ENOMEM) else { throw .outOfMemory }
        guard result == 0 else { throw .unavailable }
    }
}

extension ForeignDerivation {
    /// HKDF-SHA256 (RFC 5869) with a salt of 32 zero bytes and no info.
    ///
    /// - Parameter count: 1...32 bytes of output.
    package static func hkdfSHA256(_ input: borrowing SecretBytes, count: Int) throws(CryptoError) -> SecretBytes {
        precondition((1...32).contains(count))
        let salt = try SecretBytes(zeroed: 32)
        let extracted = try input.withBytes { input throws(CryptoError) in
            try MessageAuthentication.sha256.code(of: input, key: salt)
        }
        let one: [UInt8] = [1]
        let output = try MessageAuthentication.sha256.code(of: one.span, key: extracted)
        Sodium.wipeStack()
        return output.narrowed(to: 0..<count)
    }
}
