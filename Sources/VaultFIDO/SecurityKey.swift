// SPDX-License-Identifier: Apache-2.0
internal import CFido
package import VaultCrypto

/// How the holder of a security key is verified, in addition to the touch.
package enum HolderVerification: Sendable {
    case none
    /// By the key itself, as with a fingerprint.
    case byKey
    case pin(SecurityKeyPIN)
}

/// An open FIDO2 security key.
///
/// A call may take as long as the holder needs for a touch. Not thread-safe.
@safe package final class SecurityKey {
    package let key: FoundSecurityKey
    private let handle: OpaquePointer
    private let features: CInt

    /// - Throws: `.noLibrary`, `.busy`, `.outOfMemory`, `.failed`.
    init(_ key: FoundSecurityKey, _ transport: cfido_transport?) throws(SecurityKeyError) {
        var error: CInt = 0
        let opened: OpaquePointer?
        // Both are copied.
        if var transport {
            unsafe opened = unsafe key.path.withCString { unsafe cfido_open($0, &transport, &error) }
        } else {
            unsafe opened = unsafe key.path.withCString { unsafe cfido_open($0, nil, &error) }
        }
        guard let opened = unsafe opened else { throw SecurityKeyError(error) }
        self.key = key
        unsafe handle = unsafe opened
        features = unsafe cfido_features(opened)
    }

    deinit { unsafe cfido_close(handle) }

    /// Whether the key computes secrets, by the extension hmac-secret.
    package var hasSecrets: Bool { features & CFIDO_SECRETS != 0 }

    /// Whether a PIN is set.
    package var hasPIN: Bool { features & CFIDO_PIN != 0 }

    /// Whether the key verifies its holder without a PIN, and is set up to.
    package var verifiesItself: Bool { features & CFIDO_VERIFICATION != 0 }

    /// The number of wrong PINs after which the key blocks itself.
    package func pinTries() throws(SecurityKeyError) -> Int {
        var tries: CInt = 0
        try Self.check(unsafe cfido_pin_tries(handle, &tries))
        return Int(tries)
    }

    /// Makes a credential for ``secret(of:at:salt:by:)`` after a touch. The key does not store it.
    ///
    /// A credential that is made with verification can be used with verification only, on keys that know credProtect.
    ///
    /// - Returns: the credential's identifier, up to 1,023 bytes.
    /// - Throws: the errors of a touch and of a verification; `.unsuitable`.
    package func makeCredential(at relyingParty: String, by verification: HolderVerification) throws(SecurityKeyError)
        -> [UInt8]
    {
        var isProtected = features & CFIDO_PROTECTION != 0
        if case .none = verification { isProtected = false }
        var identifier = [UInt8](repeating: 0, count: 1023)
        var count = identifier.count
        let result = unsafe request([], at: relyingParty, by: verification) { request in
            // `count` is the buffer's length.
            unsafe identifier.withUnsafeMutableBytes { buffer in
                unsafe cfido_make(handle, request, isProtected ? 1 : 0, buffer.baseAddress, &count)
            }
        }
        try Self.check(result)
        return Array(identifier[..<count])
    }

    /// Returns whether the key has a credential, without a touch; a fingerprint is taken, and serves no later request.
    ///
    /// - Throws: the errors of a verification.
    package func has(_ identifier: [UInt8], at relyingParty: String, by verification: HolderVerification)
        throws(SecurityKeyError) -> Bool
    {
        let result = unsafe request(identifier, at: relyingParty, by: verification) { unsafe cfido_has(handle, $0) }
        guard SecurityKeyError(result) != .noCredential else { return false }
        try Self.check(result)
        return true
    }

    /// Computes the secret of a credential and a salt, after a touch.
    ///
    /// - Parameter salt: 32 bytes.
    /// - Returns: 32 bytes.
    /// - Throws: the errors of a touch and of a verification; `.noCredential`, `.unsuitable`.
    package func secret(
        of identifier: [UInt8], at relyingParty: String, salt: [UInt8], by verification: HolderVerification
    ) throws(SecurityKeyError) -> SecretBytes {
        precondition(salt.count == 32)
        var secret: SecretBytes
        do throws(CryptoError) { secret = try SecretBytes(zeroed: 32) } catch { throw .outOfMemory }
        let result = unsafe request(identifier, at: relyingParty, by: verification) { request in
            // Salt and secret have 32 bytes.
            secret.withMutableBytes { secret in
                unsafe secret.withUnsafeMutableBytes { secret in
                    unsafe salt.withUnsafeBytes { salt in
                        unsafe cfido_secret(handle, request, salt.baseAddress, secret.baseAddress)
                    }
                }
            }
        }
        try Self.check(result)
        return secret
    }

    // MARK: A touch among several keys

    func beginTouch() throws(SecurityKeyError) { try Self.check(unsafe cfido_begin_touch(handle)) }

    func isTouched(within milliseconds: Int32) throws(SecurityKeyError) -> Bool {
        var isTouched: CInt = 0
        try Self.check(unsafe cfido_is_touched(handle, &isTouched, milliseconds))
        return isTouched != 0
    }

    func cancelTouch() { unsafe cfido_cancel(handle) }

    // MARK: Requests

    private static func check(_ result: CInt) throws(SecurityKeyError) {
        guard result == 0 else { throw SecurityKeyError(result) }
    }

    /// Lends a request, whose parts live until the end of the call.
    private func request(
        _ identifier: [UInt8], at relyingParty: String, by verification: HolderVerification,
        _ body: (UnsafePointer<cfido_request>) -> CInt
    ) -> CInt {
        unsafe identifier.withUnsafeBytes { identifier in
            unsafe relyingParty.withCString { relyingParty in
                var request = unsafe cfido_request(
                    relying_party: relyingParty, pin: nil, verifies_itself: 0, identifier: identifier.baseAddress,
                    identifier_count: identifier.count)
                switch verification {
                case .none: return unsafe body(&request)
                case .byKey:
                    unsafe request.verifies_itself = 1
                    return unsafe body(&request)
                case .pin(let pin):
                    return pin.line.withBytes { line in
                        // The line ends with a zero byte, and has no other.
                        unsafe line.withUnsafeBytes { line in
                            unsafe request.pin = unsafe line.baseAddress?.assumingMemoryBound(to: CChar.self)
                            return unsafe body(&request)
                        }
                    }
                }
            }
        }
    }
}
