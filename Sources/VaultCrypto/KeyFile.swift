// SPDX-License-Identifier: Apache-2.0

/// A file whose bytes open a vault, reduced to their BLAKE2b-512.
public struct KeyFile: Sendable {
    /// A file may be shorter than its entropy needs; what is shorter than this cannot have 128 bits of it in any form
    /// that people copy.
    public static let shortest = 32
    public static let longest = 1 << 20

    /// 64 bytes.
    public let secret: Secret

    /// Takes what another process reduced a file to.
    ///
    /// - Parameter digest: 64 bytes.
    /// - Throws: `.unacceptableKeyFile`.
    package init(digest: Secret) throws(CryptoError) {
        guard digest.count == 64 else { throw .unacceptableKeyFile }
        secret = digest
    }

    /// - Parameter content: 32 bytes to 1 MiB, random ones: nothing is stretched, so a guess costs next to nothing.
    /// - Throws: `.unacceptableKeyFile`.
    public init(_ content: borrowing SecretBytes) throws(CryptoError) {
        guard (Self.shortest...Self.longest).contains(content.count) else { throw .unacceptableKeyFile }
        var hash = KeyedHash(outputLength: 64)
        content.withBytes { hash.update($0) }
        secret = Secret(try hash.secret(64))
    }
}
