// SPDX-License-Identifier: Apache-2.0
import Glibc

/// What can go wrong below the file format.
public enum CryptoError: Error, Equatable, Sendable {
    /// The box did not open: the key is another one, or a byte was changed. The two cannot be told apart.
    case authenticationFailed
    /// The system has not enough memory for a secret or for the key derivation.
    case outOfMemory
    /// libsodium could not be initialized: the kernel gives no randomness.
    case unavailable
    /// A passphrase is empty, longer than 1,024 bytes, not UTF-8 or holds a control character.
    case unacceptablePassphrase(PassphraseFlaw)
    /// A key file has fewer than 32 bytes or more than 1 MiB.
    case unacceptableKeyFile
    /// A recovery code was mistyped.
    case unacceptableRecoveryCode(RecoveryCodeFlaw)

    /// What a function of CCrypto ended with.
    static func check(_ result: Int) throws(CryptoError) {
        guard result < 0 else { return }
        switch -result {
        case Int(EINVAL), Int(EBADMSG): throw .authenticationFailed
        case Int(ENOMEM): throw .outOfMemory
        default: throw .unavailable
        }
    }
}

/// Why a passphrase was refused (RFC 8265, OpaqueString).
public enum PassphraseFlaw: UInt8, Sendable, CaseIterable {
    case empty = 1
    case tooLong, invalidUTF8, controlCharacter
}
