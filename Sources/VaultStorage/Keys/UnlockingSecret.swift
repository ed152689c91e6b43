// SPDX-License-Identifier: Apache-2.0
public import VaultCrypto
package import VaultFormat

/// A secret that opens a slot of a vault.
public enum UnlockingSecret: Sendable {
    /// A passphrase.
    case passphrase(Passphrase)
    /// A recovery code.
    case recoveryCode(RecoveryCode)
    /// A passphrase and a key file: both are needed.
    case passphraseAndKeyFile(Passphrase, KeyFile)
    /// A key file.
    case keyFile(KeyFile)
    /// 32 bytes kept by this machine: see ``LockedStore/machineSecret(with:)``.
    case external(Secret)

    /// The kind of slot that it opens.
    package var kind: KeySlot.Kind {
        switch self {
        case .passphrase: .passphrase
        case .recoveryCode: .recoveryCode
        case .passphraseAndKeyFile: .passphraseAndKeyFile
        case .keyFile: .keyFile
        case .external: .external
        }
    }

    /// The secrets, one per ``VaultFormat/KeySlot/Kind/parts``.
    package var parts: [Secret] {
        switch self {
        case .passphrase(let passphrase): [passphrase.secret]
        case .recoveryCode(let code): [code.secret]
        case .passphraseAndKeyFile(let passphrase, let keyFile): [passphrase.secret, keyFile.secret]
        case .keyFile(let keyFile): [keyFile.secret]
        case .external(let secret): [secret]
        }
    }

    /// - Parameter parts: as many as the kind has.
    /// - Throws: for parts that are invalid for the kind.
    package init(_ kind: KeySlot.Kind, parts: [Secret]) throws(CryptoError) {
        switch kind {
        case .passphrase: self = .passphrase(try Passphrase(parts[0].bytes))
        case .recoveryCode: self = .recoveryCode(try RecoveryCode(secret: parts[0]))
        case .passphraseAndKeyFile:
            self = .passphraseAndKeyFile(try Passphrase(parts[0].bytes), try KeyFile(digest: parts[1]))
        case .keyFile: self = .keyFile(try KeyFile(digest: parts[0]))
        case .external:
            guard parts[0].count == 32 else { throw .unacceptableKeyFile }
            self = .external(parts[0])
        }
    }

    /// The same secret with another passphrase, if it has one.
    package func with(_ passphrase: Passphrase) -> UnlockingSecret {
        switch self {
        case .passphrase: .passphrase(passphrase)
        case .passphraseAndKeyFile(_, let keyFile): .passphraseAndKeyFile(passphrase, keyFile)
        case .recoveryCode, .keyFile, .external: self
        }
    }

    /// The input of the slot's key derivation: the secret alone, or for two parts `u32 length || first || second`.
    func secret() throws(CryptoError) -> Secret {
        let parts = parts
        guard parts.count == 2 else { return parts[0] }
        let length = parts[0].count
        var joined = try SecretBytes(zeroed: 4 + length + parts[1].count)
        var prefix: [UInt8] = []
        prefix.append(integer: UInt32(length))
        joined.replace(at: 0, with: prefix.span)
        parts[0].withBytes { joined.replace(at: 4, with: $0) }
        parts[1].withBytes { joined.replace(at: 4 + length, with: $0) }
        return Secret(joined)
    }
}
