// SPDX-License-Identifier: Apache-2.0
internal import CFido

/// The reason why a security key did not do what it was asked.
package enum SecurityKeyError: Error, Equatable, Sendable {
    /// libfido2 is missing, or older than 1.12.
    case noLibrary
    /// No security key is connected that this user may open.
    case noKey
    /// The key computes no secrets: it has no hmac-secret, or speaks U2F only.
    case unsuitable
    /// The key does not have the credential.
    case noCredential
    /// The PIN has fewer than 4 or more than 63 bytes, is not UTF-8, or contains control characters.
    case unacceptablePIN
    /// The PIN is wrong; the key counts such tries.
    case wrongPIN
    /// The key asks for a PIN or a fingerprint, and was given none that it takes.
    case unverified
    /// No PIN is set, but the slot requires one.
    case noPIN
    /// Three wrong PINs in a row: the key takes no other until it is inserted again.
    case needsReinsertion
    /// Too many wrong PINs: the key takes none until it is reset, which erases its credentials.
    case pinBlocked
    /// The holder did not touch the key in time.
    case untouched
    /// The holder refused, at the key.
    case refused
    /// The key does not answer: another program may be using it.
    case busy
    /// The connection to the key ended: it was pulled out.
    case removed
    case outOfMemory
    /// Another error, with the number of libfido2: a status of CTAP 2.1, 6.3, or one below 0.
    case failed(Int32)

    /// Whether the key would answer the same for any other credential, or the holder would wait or pay for it.
    package var endsSearch: Bool {
        switch self {
        case .wrongPIN, .pinBlocked, .needsReinsertion, .untouched, .removed, .outOfMemory: true
        default: false
        }
    }

    /// - Parameter result: not 0.
    init(_ result: CInt) {
        switch result {
        case CFIDO_NO_LIBRARY: self = .noLibrary
        case CFIDO_NO_MEMORY: self = .outOfMemory
        case CFIDO_TIMED_OUT: self = .untouched
        case CFIDO_UNANSWERED: self = .busy
        default: self = Self.ofStatus[result] ?? .failed(result)
        }
    }

    /// The error numbers of fido/err.h; the two negative ones mean that a report could not be sent or read.
    private static let ofStatus: [CInt: SecurityKeyError] = [
        -1: .removed, -2: .removed, 0x06: .busy, 0x2b: .unsuitable, 0x2e: .noCredential, 0x31: .wrongPIN,
        0x32: .pinBlocked, 0x34: .needsReinsertion, 0x35: .noPIN, 0x36: .unverified, 0x37: .unacceptablePIN,
        0x3c: .unverified, 0x3f: .unverified, 0x05: .untouched, 0x2f: .untouched, 0x3a: .untouched, 0x27: .refused,
        0x2d: .refused,
    ]
}
