// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

/// The PIN of a security key: 4 to 63 bytes of UTF-8 in NFC (CTAP 2.1, 6.5.1).
package struct SecurityKeyPIN: Sendable {
    /// The PIN and a zero byte.
    let line: Secret

    /// - Throws: `.unacceptablePIN`; `.outOfMemory`.
    package init(_ typed: borrowing SecretBytes) throws(SecurityKeyError) {
        do throws(CryptoError) {
            let prepared = try Passphrase(typed).secret
            guard (4...63).contains(prepared.count) else { throw CryptoError.unacceptablePassphrase(.tooLong) }
            var line = try SecretBytes(zeroed: prepared.count + 1)
            prepared.withBytes { line.replace(at: 0, with: $0) }
            self.line = Secret(line)
        } catch {
            if case .unacceptablePassphrase = error { throw .unacceptablePIN }
            throw .outOfMemory
        }
    }
}
