// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import VaultCrypto

// Apple's two constructions for messages of any length: SecKey's ECIES, and RSA with AES-GCM.

/// ECIES. The key of AES-GCM is derived from the exchange of an ephemeral key with the recipient's, with the ephemeral
/// point as shared information. Output: the point, the ciphertext and a tag of 16 bytes.
struct IntegratedEncryption {
    private let key: SecKey
    private let hash: DigestAlgorithm
    private let derivesNonce: Bool

    init(_ key: SecKey, _ hash: DigestAlgorithm, derivesNonce: Bool) {
        (self.key, self.hash, self.derivesNonce) = (key, hash, derivesNonce)
    }

    private var pointLength: Int { 1 + 2 * key.blockLength }

    func seal(_ message: Span<UInt8>) throws(StatusError) -> [UInt8] {
        let secret = try converting { () throws(CryptoError) in
            Secret(try AsymmetricKey.make(curve: NISTCurve(rawValue: Int32(key.bits)), bits: key.bits))
        }
        guard let ephemeral = SecKey.privateKey(secret, isRSA: false) else { throw .parameter }
        let point = ephemeral.publicRepresentation
        let shared = try ephemeral.sharedSecret(with: key)
        return try converting { () throws(CryptoError) in
            let (session, nonce) = try derive(from: shared, point.span)
            return point
                + (try SessionCipher.seal(message, key: session.bytes, nonce: nonce.span, additional: [UInt8]().span))
        }
    }

    func open(_ sealed: Span<UInt8>) throws(StatusError) -> SecretBytes {
        guard sealed.count >= pointLength + SessionCipher.tagLength else { throw .parameter }
        let point = (0..<pointLength).map { sealed[$0] }
        guard let ephemeral = SecKey.publicKey(point, isRSA: false), ephemeral.bits == key.bits else {
            throw .parameter
        }
        let shared = try key.sharedSecret(with: ephemeral)
        return try converting { () throws(CryptoError) in
            let (session, nonce) = try derive(from: shared, point.span)
            return try SessionCipher.open(
                sealed.extracting(pointLength..<sealed.count), key: session.bytes, nonce: nonce.span,
                additional: [UInt8]().span)
        }
    }

    /// Derives the key (16 bytes for curves up to 256 bits, else 32) and the nonce.
    private func derive(
        from shared: borrowing SecretBytes, _ point: Span<UInt8>
    ) throws(CryptoError) -> (key: Secret, nonce: [UInt8]) {
        let keyLength = key.bits <= 256 ? 16 : 32
        let length = keyLength + (derivesNonce ? SessionCipher.nonceLength : 0)
        let derived = try hash.derive(length, from: shared, sharedInformation: point)
        let nonce = derived.withBytes { bytes in
            derivesNonce
                ? (keyLength..<length).map { bytes[$0] } : [UInt8](repeating: 0, count: SessionCipher.nonceLength)
        }
        return (Secret(derived.narrowed(to: 0..<keyLength)), nonce)
    }
}

/// A session key wrapped by OAEP, then AES-GCM, with the public key as additional data. Output: the wrapped key, the
/// ciphertext and a tag of 16 bytes.
struct HybridEncryption {
    private let key: SecKey
    private let hash: DigestAlgorithm
    private let nonce = [UInt8](repeating: 0, count: SessionCipher.nonceLength)

    init(_ key: SecKey, _ hash: DigestAlgorithm) { (self.key, self.hash) = (key, hash) }

    private var sessionLength: Int { key.bits >= 4096 ? 32 : 16 }

    func seal(_ message: Span<UInt8>) throws(StatusError) -> [UInt8] {
        let session = try converting { () throws(CryptoError) in try SystemRandom().secret(sessionLength) }
        let wrapped = try session.withBytes { bytes throws(StatusError) in try key.encrypt(bytes, .oaep, hash) }
        let (nonce, publicKey) = (nonce, key.publicRepresentation)
        return try converting { () throws(CryptoError) in
            wrapped
                + (try SessionCipher.seal(message, key: session, nonce: nonce.span, additional: publicKey.span))
        }
    }

    func open(_ sealed: Span<UInt8>) throws(StatusError) -> SecretBytes {
        guard sealed.count >= key.blockLength + SessionCipher.tagLength else { throw .parameter }
        let session = try key.decrypt(sealed.extracting(0..<key.blockLength), .oaep, hash)
        guard session.count == sessionLength else { throw .parameter }
        let (nonce, publicKey) = (nonce, key.publicRepresentation)
        let rest = sealed.extracting(key.blockLength..<sealed.count)
        return try converting { () throws(CryptoError) in
            try SessionCipher.open(rest, key: session, nonce: nonce.span, additional: publicKey.span)
        }
    }
}
