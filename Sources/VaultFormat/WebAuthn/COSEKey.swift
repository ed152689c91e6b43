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

    private enum Label {
        static let type = 1
        static let algorithm = 3
        static let curve = -1
        static let x = -2
        static let y = -3
    }

    private enum KeyType {
        static let pair = CBORValue(1)
        static let doubleCoordinates = CBORValue(2)
    }

    private enum Curve {
        static let p256 = CBORValue(1)
        static let ed25519 = CBORValue(6)
    }

    /// The length of a number in bytes.
    private static let length = 32

    /// - Parameter point: 4, x and y (SEC 1, 2.3.3): 65 bytes.
    package init?(p256 point: Span<UInt8>) {
        guard point.count == 1 + 2 * COSEKey.length, point[0] == 4 else { return nil }
        self = .es256(x: point.array(1..<33), y: point.array(33..<65))
    }

    package var algorithm: COSEAlgorithm {
        switch self {
        case .es256: .es256
        case .edDSA: .edDSA
        }
    }

    /// The key without a container: for P-256 4, x and y, for Ed25519 32 bytes.
    package var representation: [UInt8] {
        switch self {
        case .es256(let x, let y): [4] + x + y
        case .edDSA(let key): key
        }
    }

    /// A SubjectPublicKeyInfo in DER (RFC 5480, 2; RFC 8410, 4): 91 bytes for P-256, 44 for Ed25519.
    package var subjectPublicKeyInfo: [UInt8] {
        var writer = DERWriter()
        writer.put(DERTag.sequence) { whole in
            whole.put(DERTag.sequence) { algorithm in
                switch self {
                case .es256:
                    algorithm.put(DERTag.objectIdentifier, ObjectIDs.ecPublicKey)
                    algorithm.put(DERTag.objectIdentifier, ObjectIDs.p256)
                case .edDSA: algorithm.put(DERTag.objectIdentifier, ObjectIDs.ed25519)
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
        }
    }

    /// Fails for another key or algorithm, a compressed point, and a key with further members, which WebAuthn does not
    /// allow.
    package init?(_ value: CBORValue) {
        guard case .map(let pairs) = value, let x = value[Label.x]?.byteString, x.count == COSEKey.length else {
            return nil
        }
        switch (value[Label.type], value[Label.algorithm], value[Label.curve], pairs.count) {
        case (KeyType.doubleCoordinates, CBORValue(COSEAlgorithm.es256.rawValue), Curve.p256, 5):
            guard let y = value[Label.y]?.byteString, y.count == COSEKey.length else { return nil }
            self = .es256(x: x, y: y)
        case (KeyType.pair, CBORValue(COSEAlgorithm.edDSA.rawValue), Curve.ed25519, 4): self = .edDSA(x)
        default: return nil
        }
    }
}
