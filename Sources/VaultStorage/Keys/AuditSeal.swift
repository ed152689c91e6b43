// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// The key of an audit log, which remains available in a locked vault: it authenticates entries and opens nothing.
package final class AuditSeal: Sendable {
    private let key: SecretBytes

    init(_ key: consuming SecretBytes) { self.key = key }

    package func isSame(as other: AuditSeal) -> Bool {
        key.withBytes { own in other.key.withBytes { isEqualInConstantTime(own, $0) } }
    }

    /// `BLAKE2b-256(K_audit, previous || line)`.
    ///
    /// - Parameter previous: the 32 bytes of the previous line.
    /// - Returns: 32 bytes.
    package func tag(of line: [UInt8], after previous: [UInt8]) -> [UInt8] {
        var hash = KeyedHash(key: key)
        hash.update(previous)
        hash.update(line)
        return hash.digest().bytes.span.array(0..<32)
    }
}
