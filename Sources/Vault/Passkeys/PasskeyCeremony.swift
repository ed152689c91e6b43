// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

/// The facts of a ceremony that the options do not have.
package struct PasskeyCeremony: Hashable, Sendable {
    /// The rpId, checked against the origin.
    package let relyingParty: String
    /// As browsers serialize it.
    package let origin: String
    /// Whether the page is a frame in a page of another origin.
    package var isCrossOrigin = false
    /// Whether the user was asked for the passphrase for this ceremony (UV).
    package var isVerified = false
    /// Whether another device or a backup has the passkey (BS); of no effect if the key may not leave this device.
    package var isBackedUp = false

    package init(
        relyingParty: String, origin: String, isCrossOrigin: Bool = false, isVerified: Bool = false,
        isBackedUp: Bool = false
    ) {
        (self.relyingParty, self.origin, self.isCrossOrigin) = (relyingParty, origin, isCrossOrigin)
        (self.isVerified, self.isBackedUp) = (isVerified, isBackedUp)
    }

    /// The answer to a registration.
    package struct Registration: Sendable {
        /// To be stored before the site receives the rest.
        package let passkey: Passkey
        package let clientData: [UInt8]
        package let authenticatorData: [UInt8]
        package let attestationObject: [UInt8]
        package let publicKey: COSEKey
        /// The results of the extension `prf`: one or two of 32 bytes, none if the site gave no inputs, or the user was
        /// not verified.
        package let pseudoRandom: [Secret]
    }

    /// The answer to a sign-in.
    package struct Assertion: Sendable {
        package let credentialID: [UInt8]
        package let clientData: [UInt8]
        package let authenticatorData: [UInt8]
        package let signature: [UInt8]
        /// 1 to 64 bytes.
        package let userHandle: [UInt8]
        /// As in ``Registration``.
        package let pseudoRandom: [Secret]
    }

    private static let credentialIDLength = 32
    private static let pseudoRandomKeyLength = 32

    /// Makes a key and the answer that registers it (WebAuthn, 6.3.2).
    ///
    /// - Parameters:
    ///   - accessible: also decides whether the key may leave this device.
    ///   - group: the access group of the site's logins; `nil` for the store's first one.
    ///   - random: the source of the credential's identifier.
    /// - Throws: `.unavailable` without libcrypto 3, also for Ed25519, since `klbl` is a SHA-1; `.outOfMemory`.
    package func register(
        _ options: CreationOptions, accessible: Accessibility = .whenUnlocked, in group: String? = nil,
        random: any RandomSource = SystemRandom()
    ) throws(CryptoError) -> Registration {
        guard let algorithm = options.algorithms.first else { throw .unavailable }
        let key = try PasskeyKey.make(algorithm)
        let pseudoRandomKey = Secret(try random.secret(PasskeyCeremony.pseudoRandomKeyLength))
        let passkey = try Passkey(
            relyingParty,
            Passkey.Names(
                relyingParty: options.relyingPartyName, user: options.userName, display: options.displayName),
            credentialID: random.bytes(PasskeyCeremony.credentialIDLength),
            key: key, userHandle: Secret(try SecretBytes(copying: options.userID.span)),
            pseudoRandomKey: pseudoRandomKey, accessible: accessible, group: group)
        let publicKey = try key.withBytes { bytes throws(CryptoError) in try PasskeyKey(bytes).publicKey }
        guard let credential = AttestedCredential(id: passkey.credentialID, key: publicKey) else {
            throw .authenticationFailed
        }
        let data = AuthenticatorData(
            relyingPartyHash: try PasskeyCeremony.hash(relyingParty), flags: flags(passkey), counter: passkey.counter,
            credential: credential)
        let inputs = options.common.pseudoRandom?.common
        return Registration(
            passkey: passkey, clientData: clientData(.create, options.common.challenge),
            authenticatorData: data.encoded, attestationObject: AttestationObject(data).encoded,
            publicKey: publicKey, pseudoRandom: try results(inputs, pseudoRandomKey))
    }

    /// Signs the answer to a sign-in (WebAuthn, 6.3.3).
    ///
    /// - Parameters:
    ///   - passkey: one of this relying party that the options allow.
    ///   - counter: the result of ``ItemStore/countSignature(of:)``.
    /// - Throws: `.valueMismatch` if the secret is not the private key of a passkey, or the passkey is of another site;
    ///   as ``Item/openedSecret(field:)``; `.storage(.resourceUnavailable)` without libcrypto 3.
    package func sign(
        _ options: RequestOptions, with passkey: Passkey, counter: UInt32
    ) throws(VaultError) -> Assertion {
        guard passkey.relyingParty == relyingParty, options.allows(passkey.credentialID) else {
            throw .valueMismatch(path: "")
        }
        let userHandle = try passkey.userHandle().withBytes { $0.array($0.indices) }
        let key = try passkey.key()
        let inputs = options.common.pseudoRandom?.pair(for: passkey.credentialID)
        let pseudoRandomKey = inputs == nil || !isVerified ? nil : try passkey.pseudoRandomKey()
        let clientData = clientData(.get, options.common.challenge)
        do throws(CryptoError) {
            let data = AuthenticatorData(
                relyingPartyHash: try PasskeyCeremony.hash(relyingParty), flags: flags(passkey), counter: counter
            ).encoded
            let message = data + (try MessageAuthentication.plainSHA256(clientData.span))
            return Assertion(
                credentialID: passkey.credentialID, clientData: clientData, authenticatorData: data,
                signature: try key.sign(message.span), userHandle: userHandle,
                pseudoRandom: try results(inputs, pseudoRandomKey))
        } catch { throw VaultError(error, field: "") }
    }

    private func clientData(_ ceremony: ClientData.Ceremony, _ challenge: [UInt8]) -> [UInt8] {
        ClientData(ceremony, challenge: challenge, origin: origin, isCrossOrigin: isCrossOrigin).json
    }

    private func flags(_ passkey: Passkey) -> AuthenticatorData.Flags {
        var flags: AuthenticatorData.Flags = .userPresent
        if isVerified { flags.insert(.userVerified) }
        if passkey.isBackupEligible { flags.insert(.backupEligible) }
        if passkey.isBackupEligible && isBackedUp { flags.insert(.backedUp) }
        return flags
    }

    private static func hash(_ relyingParty: String) throws(CryptoError) -> Bytes32 {
        let name = Array(relyingParty.utf8)
        return Bytes32(try MessageAuthentication.plainSHA256(name.span))
    }

    /// The outputs of the extension `prf` (WebAuthn, 10.1.4), those of CTAP's `hmac-secret`: HMAC-SHA256 of a salt, the
    /// SHA-256 of an input and its prefix. The function is that for verified users, and has no outputs for others.
    func results(_ inputs: PseudoRandomInputs.Pair?, _ key: Secret?) throws(CryptoError) -> [Secret] {
        guard let inputs, let key, isVerified else { return [] }
        var results: [Secret] = []
        for message in inputs.messages {
            let salt = try MessageAuthentication.plainSHA256(message.span)
            results.append(Secret(try MessageAuthentication.sha256.code(of: salt.span, key: key.bytes)))
        }
        return results
    }
}
