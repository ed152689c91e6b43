// SPDX-License-Identifier: Apache-2.0
public import VaultCrypto
internal import VaultFormat

/// What opens a slot of a vault.
public enum UnlockingSecret: Sendable {
    case passphrase(Passphrase)
    case keyFile(KeyFile)

    var kind: KeySlot.Kind {
        switch self {
        case .passphrase: .passphrase
        case .keyFile: .keyFile
        }
    }

    var secret: Secret {
        switch self {
        case .passphrase(let passphrase): passphrase.secret
        case .keyFile(let keyFile): keyFile.secret
        }
    }
}
