// SPDX-License-Identifier: Apache-2.0

/// A file whose bytes open a vault, reduced to its BLAKE2b-512.
public struct KeyFile: Sendable {
    /// The minimum length of a key file. Shorter files cannot have 128 bits of entropy in any form that people copy;
    /// longer ones still may not.
    public static let shortest = 32
    /// 1 MiB.
    public static let longest = 1 << 20

    /// 64 bytes.
    package let secret: Secret

    /// Takes the digest of a file that another process has made.
    ///
    /// - Parameter digest: 64 bytes.
    /// - Throws: `.unacceptableKeyFile`.
    package init(digest: Secret) throws(CryptoError) {
        guard digest.count == 64 else { throw .unacceptableKeyFile }
        secret = digest
    }

    /// - Parameter content: 32 bytes to 1 MiB, which must be random: nothing is stretched, so a guess costs next to
    ///   nothing.
    /// - Throws: `.unacceptableKeyFile`.
    public init(_ content: borrowing SecretBytes) throws(CryptoError) {
        guard (Self.shortest...Self.longest).contains(content.count) else { throw .unacceptableKeyFile }
        var hash = KeyedHash(outputLength: 64)
        content.withBytes { hash.update($0) }
        secret = Secret(try hash.secret(64))
    }
}
