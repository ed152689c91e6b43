// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import VaultCrypto

/// A public or private key of RSA or of a NIST curve.
///
/// A private key keeps its bytes in locked memory; libcrypto gets them only for the duration of an operation.
public final class SecKey: NSObject, @unchecked Sendable {
    static let rsaSizes = 512...8192

    let isRSA: Bool
    let isPrivate: Bool
    /// The size of the modulus, or of the curve's field.
    let bits: Int
    /// The public key as PKCS#1, or 4, x and y.
    let publicRepresentation: [UInt8]
    private let material: KeyMaterial?

    private init(_ representation: KeyRepresentation, isPrivate: Bool, _ material: KeyMaterial?) {
        isRSA = representation.isRSA
        self.isPrivate = isPrivate
        bits = representation.bits
        publicRepresentation = representation.publicRepresentation
        self.material = material
    }

    /// Makes a public key; `nil` if the bytes are malformed.
    ///
    /// - Parameter representation: PKCS#1, or 4, x and y. Does not check that the point is on the curve.
    static func publicKey(_ representation: [UInt8], isRSA: Bool) -> SecKey? {
        KeyRepresentation(representation.span, isRSA: isRSA, isPrivate: false).map {
            SecKey($0, isPrivate: false, nil)
        }
    }

    /// Makes a private key; `nil` if the bytes are malformed.
    ///
    /// - Parameter secret: PKCS#1, or 4, x, y and the private scalar. Does not check that they belong together.
    static func privateKey(_ secret: Secret, isRSA: Bool) -> SecKey? {
        secret.withBytes { KeyRepresentation($0, isRSA: isRSA, isPrivate: true) }.map {
            SecKey($0, isPrivate: true, KeyMaterial(.memory(secret)))
        }
    }

    /// Makes a private key whose bytes stay in the vault, and whose every use requires the user's consent; `nil` if the
    /// bytes of the public key are malformed.
    ///
    /// - Parameter publicRepresentation: the public half.
    static func closedKey(_ publicRepresentation: [UInt8], isRSA: Bool, _ place: ClosedKey) -> SecKey? {
        KeyRepresentation(publicRepresentation.span, isRSA: isRSA, isPrivate: false).map {
            SecKey($0, isPrivate: true, KeyMaterial(.vault(place)))
        }
    }

    /// The public half.
    var publicKey: SecKey? { isPrivate ? SecKey.publicKey(publicRepresentation, isRSA: isRSA) : self }

    /// The block size in bytes: that of the modulus, or of the curve's field.
    var blockLength: Int { (bits + 7) / 8 }

    /// Returns the private bytes, which may require the user's consent; `nil` for a public key.
    func secret() throws(StatusError) -> Secret? {
        switch material?.place {
        case nil: return nil
        case .memory(let secret): return secret
        case .vault(let place):
            let secret = try place.secret()
            let found = secret.withBytes { KeyRepresentation($0, isRSA: isRSA, isPrivate: true) }
            // The key was replaced by another one.
            guard found?.publicRepresentation == publicRepresentation else {
                throw StatusError(status: errSecItemNotFound)
            }
            return secret
        }
    }

    /// Lends the external representation.
    func withRepresentation<R: ~Copyable>(_ body: (Span<UInt8>) throws(StatusError) -> R) throws(StatusError) -> R {
        if let secret = try secret() { return try secret.withBytes(body) }
        let bytes = publicRepresentation
        return try body(bytes.span)
    }

    /// Returns libcrypto's key, for one operation.
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
        guard case .memory(let own)? = material?.place, case .memory(let others)? = other.material?.place else {
            return true
        }
        return own.withBytes { own in others.withBytes { isEqualInConstantTime(own, $0) } }
    }

    override public var hash: Int { publicRepresentation.hashValue }

    override public var description: String {
        "<SecKey \(isRSA ? "RSA" : "EC") \(isPrivate ? "private" : "public") key, \(bits) bits>"
    }
}

/// The private part of a key. Boxed, since the layout of a public class must not depend on another module.
private final class KeyMaterial: Sendable {
    enum Place: Sendable {
        case memory(Secret)
        case vault(ClosedKey)
    }

    let place: Place

    init(_ place: Place) { self.place = place }
}
