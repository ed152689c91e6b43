// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultBus
internal import VaultCrypto
internal import VaultFormat

/// A secret in the form in which it is transferred over the bus.
struct TransferredSecret: Sendable {
    /// The session's path.
    let session: String
    /// The parameters of the cipher; `nil` if longer than they can be.
    let parameters: [UInt8]?
    /// The value; `nil` if longer than 16 MiB.
    let value: Secret?
    let contentType: String

    init(session: String, parameters: [UInt8]?, value: Secret?, contentType: String) {
        (self.session, self.parameters, self.value) = (session, parameters, value)
        self.contentType = contentType
    }

    static let signature = "oayays"

    init(from message: BusMessage) throws(BusError) {
        var (session, contentType): (String, String) = ("", "")
        var (parameters, value): ([UInt8]?, Secret?) = (nil, nil)
        try message.structure(of: TransferredSecret.signature) { () throws(BusError) in
            session = try message.path()
            parameters = try message.bytes(limit: 16)
            // With an additional block, for the padding.
            value = try message.secret(limit: Layout.valueLimit + 16)
            contentType = try message.text()
        }
        self.init(session: session, parameters: parameters, value: value, contentType: contentType)
    }

    /// Writes the structure without the secret.
    func append(to answer: BusMessage) throws(BusError) {
        try answer.appendStructure(of: TransferredSecret.signature) { () throws(BusError) in
            try answer.append(path: session)
            let parameters = parameters ?? []
            try answer.append(bytes: parameters.span)
            try answer.append(room: value?.count ?? 0)
            try answer.append(contentType)
        }
    }

    /// Fills the secret into a written answer.
    func fill(_ answer: BusMessage) throws(BusError) {
        try answer.structure(of: TransferredSecret.signature) { () throws(BusError) in
            try answer.skip("oay")
            if let value {
                try value.withBytes { bytes throws(BusError) in try answer.fill(bytes) }
            } else {
                try answer.skip("ay")
            }
            try answer.skip("s")
        }
    }
}

/// A session: the encoding of secrets to and from one client.
struct ServiceSession: Sendable {
    /// The unique name of the client that opened it; other clients may not use it.
    let owner: String
    /// The key; `nil` if secrets are transferred in clear text.
    private let key: Secret?

    static let plainName = "plain"
    static let encryptedName = "dh-ietf1024-sha256-aes128-cbc-pkcs7"

    static func plain(of owner: String) -> ServiceSession { ServiceSession(owner: owner, key: nil) }

    /// Agrees on a key with a client.
    ///
    /// - Parameter peer: the client's public key; `nil` if longer than a public key.
    /// - Returns: the session, and the public key for the client.
    /// - Throws: `.invalid` for an invalid public key, `.notSupported` without libcrypto: clients then fall back to
    ///   `plain`.
    static func encrypted(of owner: String, _ peer: [UInt8]?) throws(ServiceRefusal) -> (ServiceSession, [UInt8]) {
        do throws(CryptoError) {
            let group = try OakleyGroup2()
            guard let peer, let shared = try group.shared(with: peer.span) else { throw .authenticationFailed }
            let key = Secret(try ForeignDerivation.hkdfSHA256(shared, count: 16))
            return (ServiceSession(owner: owner, key: key), group.publicKey)
        } catch {
            switch error {
            case .authenticationFailed: throw .invalid("that is no public key of the group")
            case .unavailable: throw .notSupported("libcrypto is not there")
            default: throw ServiceRefusal(error)
            }
        }
    }

    /// Decrypts a secret from the client.
    func opened(_ secret: TransferredSecret) throws(ServiceRefusal) -> Secret {
        guard secret.contentType.utf8.count <= 255 else { throw .invalid("a content type has at most 255 bytes") }
        guard let value = secret.value else { throw ServiceSession.tooLarge }
        guard let key else {
            guard value.count <= Layout.valueLimit else { throw ServiceSession.tooLarge }
            return value
        }
        guard let vector = secret.parameters, vector.count == 16 else {
            throw .invalid("an initialization vector has 16 bytes")
        }
        let opened: Secret
        do throws(CryptoError) {
            opened = try value.withBytes { text throws(CryptoError) in
                Secret(try ForeignCipher.openedCBC(text, key: key.bytes, vector: vector.span))
            }
        } catch {
            throw error == .authenticationFailed
                ? .invalid("the secret is not encrypted for this session") : ServiceRefusal(error)
        }
        guard opened.count <= Layout.valueLimit else { throw ServiceSession.tooLarge }
        return opened
    }

    private static let tooLarge = ServiceRefusal.tooMany(VaultError.storage(.valueTooLarge).text)

    /// Encrypts a secret for the client.
    func sealed(_ secret: Secret, contentType: String, path: String) throws(ServiceRefusal) -> TransferredSecret {
        guard let key else {
            return TransferredSecret(session: path, parameters: [], value: secret, contentType: contentType)
        }
        do throws(CryptoError) {
            let vector = try SecretBytes(random: 16).withBytes { $0.array(0..<16) }
            let sealed = try secret.withBytes { text throws(CryptoError) in
                Secret(try ForeignCipher.sealedCBC(text, key: key.bytes, vector: vector.span))
            }
            return TransferredSecret(session: path, parameters: vector, value: sealed, contentType: contentType)
        } catch { throw ServiceRefusal(error) }
    }
}
