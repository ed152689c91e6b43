// SPDX-License-Identifier: Apache-2.0

// Types of the layers below that users of the library need, so that one import is enough.
@_exported public import struct SystemPackage.FilePath
@_exported public import enum VaultCrypto.CryptoError
@_exported public import struct VaultCrypto.KeyFile
@_exported public import struct VaultCrypto.Passphrase
@_exported public import enum VaultCrypto.PassphraseFlaw
@_exported public import struct VaultCrypto.RecoveryCode
@_exported public import enum VaultCrypto.RecoveryCodeFlaw
@_exported public import class VaultCrypto.Secret
@_exported public import struct VaultCrypto.SecretBytes
@_exported public import enum VaultFormat.Accessibility
@_exported public import enum VaultFormat.Attribute
@_exported public import enum VaultFormat.ItemClass
@_exported public import struct VaultFormat.KeySlot
@_exported public import struct VaultStorage.KeyDerivationCost
@_exported public import struct VaultStorage.Salvage
@_exported public import struct VaultStorage.SlotEntry
@_exported public import struct VaultStorage.MissingState
@_exported public import enum VaultStorage.StorageError
@_exported public import struct VaultStorage.SystemCredential
@_exported public import enum VaultStorage.UnlockingSecret
@_exported public import struct VaultStorage.Rekeyed
@_exported public import struct VaultStorage.Verification
@_exported public import struct VaultStorage.VaultEnvironment
