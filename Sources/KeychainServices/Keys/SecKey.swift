// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import VaultCrypto

/// A key of RSA or of a NIST curve, public or private.
///
/// A private one keeps its bytes in locked memory, and libcrypto has them for the length of an operation alone.
public final class SecKey: NSObject, @unchecked Sendable {
    static let rsaSizes = 512...8192

    let isRSA: Bool
    let isPrivate: Bool
    /// Of the modulus, or of the curve's numbers.
    let bits: Int
    /// PKCS#1, or 4, x and y.
    let publicRepresentation: [UInt8]
    private let material: KeyMaterial?

    /// What a private key is made of. A box, since the layout of a public class must not need another module.
    private final class KeyMaterial: Sendable {
        let secret: Secret

        init(_ secret: Secret) { self.secret = secret }
    }

    private init(_ representation: KeyRepresentation, _ secret: Secret?) {
        isRSA = representation.isRSA
        isPrivate = representation.isPrivate
        bits = representation.bits
        publicRepresentation = representation.publicRepresentation
        material = secret.map(KeyMaterial.init)
    }

    /// A public key. Nil: these are no bytes of one.
    ///
    /// - Parameter representation: PKCS#1, or 4, x and y. Whether the point is the curve's is not looked at.
    static func publicKey(_ representation: [UInt8], isRSA: Bool) -> SecKey? {
        KeyRepresentation(representation.span, isRSA: isRSA, isPrivate: false).map { SecKey($0, nil) }
    }

    /// A private key. Nil: these are no bytes of one.
    ///
    /// - Parameter secret: PKCS#1, or 4, x, y and the private number. Whether they belong together is not looked at.
    static func privateKey(_ secret: Secret, isRSA: Bool) -> SecKey? {
        secret.withBytes { KeyRepresentation($0, isRSA: isRSA, isPrivate: true) }.map { SecKey($0, secret) }
    }

    /// The public half.
    var publicKey: SecKey? { isPrivate ? SecKey.publicKey(publicRepresentation, isRSA: isRSA) : self }

    /// The bytes of a block: those of the modulus, or of the curve's numbers.
    var blockLength: Int { (bits + 7) / 8 }

    /// The private bytes. Nil of a public key.
    func secret() throws(StatusError) -> Secret? { material?.secret }

    /// Lends the external representation.
    func withRepresentation<R: ~Copyable>(
        _ body: (Span<UInt8>) throws(StatusError) -> R
    ) throws(StatusError) -> R {
        if let secret = try secret() { return try secret.withBytes(body) }
        let bytes = publicRepresentation
        return try body(bytes.span)
    }

    /// The key for one operation.
    func asymmetricKey() throws(StatusError) -> AsymmetricKey {
        try withRepresentation { bytes throws(StatusError) in
            guard let representation = KeyRepresentation(bytes, isRSA: isRSA, isPrivate: isPrivate) else {
                throw .parameter
            }
            return try converting { () throws(CryptoError) in try representation.key(bytes) }
        }
    }

    override public func isEqual(_ other: Any?) -> Bool {
        guard let other = other as? SecKey else { return false }
        guard isRSA == other.isRSA, isPrivate == other.isPrivate, publicRepresentation == other.publicRepresentation
        else { return false }
        guard let own = material?.secret, let others = other.material?.secret else { return true }
        return own.withBytes { own in others.withBytes { isEqualInConstantTime(own, $0) } }
    }

    override public var hash: Int { publicRepresentation.hashValue }

    override public var description: String {
        "<SecKey \(isRSA ? "RSA" : "EC") \(isPrivate ? "private" : "public") key, \(bits) bits>"
    }
}
