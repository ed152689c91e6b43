// SPDX-License-Identifier: Apache-2.0
public import VaultCrypto
public import VaultFormat

/// What opens a slot of a vault.
public enum UnlockingSecret: Sendable {
    case passphrase(Passphrase)
    case recoveryCode(RecoveryCode)
    case passphraseAndKeyFile(Passphrase, KeyFile)
    case keyFile(KeyFile)
    /// 32 bytes that this machine keeps: see ``LockedStore/machineSecret(with:)``.
    case external(Secret)

    var kind: KeySlot.Kind {
        switch self {
        case .passphrase: .passphrase
        case .recoveryCode: .recoveryCode
        case .passphraseAndKeyFile: .passphraseAndKeyFile
        case .keyFile: .keyFile
        case .external: .external
        }
    }

    /// Whether a person chose it, so that guesses have to be made dear.
    var needsStretching: Bool {
        switch self {
        case .passphrase, .passphraseAndKeyFile: true
        case .recoveryCode, .keyFile, .external: false
        }
    }

    /// What the slot's key is derived from: of a passphrase with a key file, `u32 length || passphrase ||
    /// BLAKE2b-512(file)`.
    func secret() throws(CryptoError) -> Secret {
        switch self {
        case .passphrase(let passphrase): return passphrase.secret
        case .recoveryCode(let code): return code.secret
        case .keyFile(let keyFile): return keyFile.secret
        case .external(let secret): return secret
        case .passphraseAndKeyFile(let passphrase, let keyFile):
            let length = passphrase.secret.count
            var joined = try SecretBytes(zeroed: 4 + length + keyFile.secret.count)
            var prefix: [UInt8] = []
            prefix.append(integer: UInt32(length))
            joined.replace(at: 0, with: prefix.span)
            passphrase.secret.withBytes { joined.replace(at: 4, with: $0) }
            keyFile.secret.withBytes { joined.replace(at: 4 + length, with: $0) }
            return Secret(joined)
        }
    }
}

extension KeySlot.Kind {
    /// Whether a person opens it with what they know or have written down.
    public var isForPeople: Bool {
        switch self {
        case .passphrase, .recoveryCode, .passphraseAndKeyFile: true
        case .external, .keyFile: false
        }
    }

    /// As people call it.
    public var label: String {
        switch self {
        case .passphrase: "passphrase"
        case .recoveryCode: "recovery code"
        case .passphraseAndKeyFile: "passphrase and key file"
        case .external: "external secret"
        case .keyFile: "key file"
        }
    }
}
