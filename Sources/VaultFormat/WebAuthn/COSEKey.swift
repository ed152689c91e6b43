// SPDX-License-Identifier: Apache-2.0

/// The signature algorithms of passkeys, with their numbers of the IANA registry "COSE Algorithms".
package enum COSEAlgorithm: Int, Sendable, CaseIterable {
    /// ECDSA with SHA-256, in WebAuthn always on P-256.
    case es256 = -7
    /// In WebAuthn always Ed25519.
    case edDSA = -8
    /// PKCS#1 v1.5 with SHA-256. Only for imported passkeys: no such key is made here.
    case rs256 = -257
}

/// A public key in the form of RFC 9053, as credentials contain it (WebAuthn, 5.8.5).
package enum COSEKey: Hashable, Sendable {
    /// A point of P-256; each number has 32 bytes. Not checked to be on the curve.
    case es256(x: [UInt8], y: [UInt8])
    /// 32 bytes (RFC 8032, 5.1.5). Not checked to be a point.
    case edDSA([UInt8])
    /// Modulus and exponent, big-endian without leading zero bytes (RFC 8230, 4).
    case rs256(n: [UInt8], e: [UInt8])

    private enum Label {
        static let type = 1
        static let algorithm = 3
        static let curve = -1
        static let x = -2
        static let y = -3
        static let modulus = -1
        static let exponent = -2
    }

    private enum KeyType {
        static let pair = CBORValue(1)
        static let doubleCoordinates = CBORValue(2)
        static let rsa = CBORValue(3)
    }

    private enum Curve {
        static let p256 = CBORValue(1)
        static let ed25519 = CBORValue(6)
    }

    /// The length of a curve's number in bytes.
    private static let length = 32
    /// 2,048 bits (RFC 8230, 2).
    private static let shortestModulus = 256

    /// - Parameter point: 4, x and y (SEC 1, 2.3.3): 65 bytes.
    package init?(p256 point: Span<UInt8>) {
        guard point.count == 1 + 2 * COSEKey.length, point[0] == 4 else { return nil }
        self = .es256(x: point.array(1..<33), y: point.array(33..<65))
    }

    package var algorithm: COSEAlgorithm {
        switch self {
        case .es256: .es256
        case .edDSA: .edDSA
        case .rs256: .rs256
        }
    }

    /// The key without a container: for P-256 4, x and y, for Ed25519 32 bytes, for RSA PKCS#1.
    package var representation: [UInt8] {
        switch self {
        case .es256(let x, let y): [4] + x + y
        case .edDSA(let key): key
        case .rs256(let n, let e): RSAKeyNumbers.publicKey(modulus: n, exponent: e)
        }
    }

    /// The size of the curve or of the modulus.
    package var bits: Int {
        switch self {
        case .es256, .edDSA: 256
        case .rs256(let n, _): n.count * 8 - (n.first?.leadingZeroBitCount ?? 0)
        }
    }

    /// A SubjectPublicKeyInfo in DER (RFC 5480, 2; RFC 8410, 4; RFC 3279, 2.3.1): 91 bytes for P-256, 44 for Ed25519.
    package var subjectPublicKeyInfo: [UInt8] {
        var writer = DERWriter()
        writer.put(DERTag.sequence) { whole in
            whole.put(DERTag.sequence) { algorithm in
                switch self {
                case .es256:
                    algorithm.put(DERTag.objectIdentifier, ObjectIDs.ecPublicKey)
                    algorithm.put(DERTag.objectIdentifier, ObjectIDs.p256)
                case .edDSA: algorithm.put(DERTag.objectIdentifier, ObjectIDs.ed25519)
                case .rs256:
                    algorithm.put(DERTag.objectIdentifier, ObjectIDs.rsaEncryption)
                    algorithm.put(DERTag.null, [])
                }
            }
            // No unused bits.
            whole.put(DERTag.bitString, [0] + representation)
        }
        return writer.bytes
    }

    package var value: CBORValue {
        let algorithm = CBORValue.Pair(CBORValue(Label.algorithm), CBORValue(algorithm.rawValue))
        func pair(_ label: Int, _ value: CBORValue) -> CBORValue.Pair { CBORValue.Pair(CBORValue(label), value) }
        return switch self {
        case .es256(let x, let y):
            .map([
                pair(Label.type, KeyType.doubleCoordinates), algorithm, pair(Label.curve, Curve.p256),
                pair(Label.x, .bytes(x)), pair(Label.y, .bytes(y)),
            ])
        case .edDSA(let key):
            .map([
                pair(Label.type, KeyType.pair), algorithm, pair(Label.curve, Curve.ed25519), pair(Label.x, .bytes(key)),
            ])
        case .rs256(let n, let e):
            .map([
                pair(Label.type, KeyType.rsa), algorithm, pair(Label.modulus, .bytes(n)),
                pair(Label.exponent, .bytes(e)),
            ])
        }
    }

    /// Fails for another key or algorithm, a compressed point, a short modulus, and a key with further members, which
    /// WebAuthn does not allow.
    package init?(_ value: CBORValue) {
        guard case .map(let pairs) = value else { return nil }
        func number(_ label: Int) -> [UInt8]? {
            value[label]?.byteString.flatMap { $0.count == COSEKey.length ? $0 : nil }
        }
        switch (value[Label.type], value[Label.algorithm], pairs.count) {
        case (KeyType.doubleCoordinates, CBORValue(COSEAlgorithm.es256.rawValue), 5):
            guard value[Label.curve] == Curve.p256, let x = number(Label.x), let y = number(Label.y) else { return nil }
            self = .es256(x: x, y: y)
        case (KeyType.pair, CBORValue(COSEAlgorithm.edDSA.rawValue), 4):
            guard value[Label.curve] == Curve.ed25519, let x = number(Label.x) else { return nil }
            self = .edDSA(x)
        case (KeyType.rsa, CBORValue(COSEAlgorithm.rs256.rawValue), 4):
            guard let n = value[Label.modulus]?.byteString, let e = value[Label.exponent]?.byteString,
                n.count >= COSEKey.shortestModulus, n[0] > 0, e.first ?? 0 > 0
            else { return nil }
            self = .rs256(n: n, e: e)
        default: return nil
        }
    }
}
