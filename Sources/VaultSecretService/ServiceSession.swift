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

    static let signature = "oayays"

    /// The secret as a value of a message.
    var message: BusValue {
        let value = value.map { BusValue.secret($0) } ?? .bytes([])
        return .structure([.path(session), .bytes(parameters ?? []), value, .text(contentType)])
    }
}

extension TransferredSecret {
    init(from message: BusMessage) throws(BusError) {
        self = try message.structure(of: TransferredSecret.signature) { () throws(BusError) in
            // The value may have an additional block, for the padding.
            TransferredSecret(
                session: try message.path(), parameters: try message.bytes(limit: 16),
                value: try message.secret(limit: Layout.valueLimit + 16), contentType: try message.text())
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
