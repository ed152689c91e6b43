// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The errors below the file format.
public enum CryptoError: Error, Equatable, Sendable {
    /// The box did not open: the key is wrong or a byte was changed. The two cannot be distinguished.
    case authenticationFailed
    /// The system lacks memory for a secret or for the key derivation.
    case outOfMemory
    /// libsodium could not be initialized: the kernel provides no randomness.
    case unavailable
    /// The passphrase is empty, longer than 1,024 bytes, not UTF-8, or contains a control character.
    case unacceptablePassphrase(PassphraseFlaw)
    /// The key file has fewer than 32 bytes or more than 1 MiB.
    case unacceptableKeyFile
    /// The recovery code was mistyped.
    case unacceptableRecoveryCode(RecoveryCodeFlaw)

    /// Converts the result of a CCrypto function.
    static func check(_ result: Int) throws(CryptoError) {
        guard result < 0 else { return }
        switch -result {
        case Int(EINVAL), Int(EBADMSG): throw .authenticationFailed
        case Int(ENOMEM): throw .outOfMemory
        default: throw .unavailable
        }
    }
}

/// The reason why a passphrase was refused (RFC 8265, OpaqueString).
public enum PassphraseFlaw: UInt8, Sendable, CaseIterable {
    /// No bytes.
    case empty = 1
    /// More than 1,024 bytes in NFC.
    case tooLong
    /// The bytes are not UTF-8.
    case invalidUTF8
    /// A control character, which a terminal could not enter again.
    case controlCharacter
}
