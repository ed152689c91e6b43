// SPDX-License-Identifier: Apache-2.0
internal import Vault
package import VaultCrypto
internal import VaultFormat

/// Conversions between the key files that the door stores, of ssh-keygen(1), and PKCS#8 in DER (RFC 5958), in which
/// other products exchange ssh keys.
package enum SSHKeyConversion {
    /// The parts of a key file.
    package struct Exported: Sendable {
        /// The name of the algorithm, such as `ssh-ed25519`.
        package let type: String
        package let comment: String
        /// PKCS#8 in DER.
        package let key: Secret
    }

    /// Returns the parts of a key file; `nil` if it has a passphrase, or the door cannot use it.
    package static func exported(file: Secret) -> Exported? {
        guard
            let (key, comment) = try? file.withBytes({ bytes throws(SSHRefusal) in
                try SSHPrivateKey.commented(file: bytes)
            }), let der = try? der(key)
        else { return nil }
        return Exported(type: key.publicKey.type, comment: comment, key: der)
    }

    /// Returns the file of a key, the same each time.
    ///
    /// - Parameter key: PKCS#8 in DER, of Ed25519, RSA, or a curve of FIPS 186-4; P-384 and P-521 with their point.
    /// - Returns: `nil` for another key, and for numbers that do not belong together.
    package static func file(_ key: Secret, comment: String) -> Secret? {
        guard let place = key.withBytes({ PKCS8PrivateKey($0) }),
            let wire = try? key.withBytes({ bytes throws(CryptoError) in try wire(place, of: bytes) }),
            let file = try? wire.withBytes({ bytes throws(SSHRefusal) in
                var reader = SSHReader(bytes)
                var certificate: SSHCertificate?
                let key = try SSHPrivateKey(&reader, bytes, certificate: &certificate)
                try reader.finish()
                return Secret(try key.file(comment: comment, check: 0))
            })
        else { return nil }
        return file
    }

    /// Writes the numbers of a key in the form of ssh-add(1).
    private static func wire(_ place: PKCS8PrivateKey, of der: Span<UInt8>) throws(CryptoError) -> SecretBytes {
        var wire = try SecretBuffer(capacity: der.count + 256)
        switch place.kind {
        case .ed25519:
            let seed = der.extracting(place.secret)
            let point = try SigningKey(seed: SecretBytes(copying: seed)).publicKey
            if let stated = place.publicKey, !der.extracting(stated).elementsEqual(point.span) {
                throw .authenticationFailed
            }
            try wire.put(SSHPublicKey.ed25519Type)
            try wire.put(string: point.span)
            try wire.put(UInt32(seed.count + point.count))
            try wire.append(seed)
            try wire.append(point.span)
        case .p256: try put(.p256, place, of: der, to: &wire)
        case .p384: try put(.p384, place, of: der, to: &wire)
        case .p521: try put(.p521, place, of: der, to: &wire)
        case .rsa:
            guard let ranges = RSAKeyNumbers(der, in: place.secret, isPrivate: true)?.ranges else {
                throw .authenticationFailed
            }
            try wire.put(SSHPublicKey.rsaType)
            // n, e, d, iqmp, p and q; dP and dQ are left out.
            for index in [0, 1, 2, 7, 3, 4] { try wire.put(positive: der.extracting(ranges[index])) }
        }
        return try wire.bytes()
    }

    private static func put(
        _ curve: NISTCurve, _ place: PKCS8PrivateKey, of der: Span<UInt8>, to wire: inout SecretBuffer
    ) throws(CryptoError) {
        var number = der.extracting(place.secret)
        while number.count > 1, number[0] == 0 { number = number.extracting(1..<number.count) }
        try wire.put(curve.keyType)
        try wire.put(curve.sshName)
        if let stated = place.publicKey {
            try wire.put(string: der.extracting(stated))
        } else if curve == .p256 {
            let whole = try AsymmetricKey.completing(p256: number)
            try whole.withBytes { bytes throws(CryptoError) in
                try wire.put(string: bytes.extracting(0..<curve.pointLength))
            }
        } else {
            throw .authenticationFailed
        }
        try wire.put(positive: number)
    }

    private static func der(_ key: SSHPrivateKey) throws(SSHRefusal) -> Secret {
        let wire = try SSHPrivateKey.secured { () throws(CryptoError) in
            var wire = try SecretBuffer(capacity: 4096)
            try key.put(to: &wire)
            return try wire.bytes()
        }
        return try wire.withBytes { bytes throws(SSHRefusal) in
            var reader = SSHReader(bytes)
            _ = try reader.string(bytes)
            switch key.publicKey {
            case .ed25519:
                _ = try reader.string(bytes)
                let seed = try reader.string(bytes).prefix(SigningKey.seedLength)
                return try SSHPrivateKey.secured { () throws(CryptoError) in
                    try PKCS8PrivateKey.Frame.ed25519.secret(around: bytes.extracting(seed))
                }
            case .foreign(.ecdsa(let curve, let point)):
                for _ in 0..<2 { _ = try reader.string(bytes) }
                let number = bytes.extracting(try reader.positive(bytes))
                guard let frame = PKCS8PrivateKey.Frame.curve(curve.kind, point: point) else { throw .unsupported }
                return try SSHPrivateKey.secured { () throws(CryptoError) in
                    var padded = try SecretBytes(zeroed: curve.length)
                    padded.replace(at: curve.length - number.count, with: number)
                    return try padded.withBytes { bytes throws(CryptoError) in try frame.secret(around: bytes) }
                }
            case .foreign(.rsa):
                // n, e, d, iqmp, p and q.
                var ranges: [Range<Int>] = []
                for _ in 0..<6 { ranges.append(try reader.positive(bytes)) }
                return try SSHPrivateKey.secured { () throws(CryptoError) in try rsa(bytes, ranges) }
            }
        }
    }

    /// - Parameter ranges: of n, e, d, qInv, p and q.
    private static func rsa(_ bytes: Span<UInt8>, _ ranges: [Range<Int>]) throws(CryptoError) -> Secret {
        let (p, q, inverse) = (ranges[4], ranges[5], ranges[3])
        let whole = try AsymmetricKey.completed(rsa: bytes, ranges[..<3] + [p, q, inverse])
        let dp = bytes.count..<bytes.count + p.count
        let dq = dp.upperBound..<dp.upperBound + q.count
        let key = try whole.withBytes { bytes throws(CryptoError) in
            try RSAKeyNumbers.privateKey(bytes, ranges[..<3] + [p, q, dp, dq, inverse])
        }
        return try key.withBytes { bytes throws(CryptoError) in
            try PKCS8PrivateKey.Frame.rsa(length: bytes.count).secret(around: bytes)
        }
    }
}

extension NISTCurve {
    fileprivate var kind: PKCS8PrivateKey.Kind {
        switch self {
        case .p256: .p256
        case .p384: .p384
        case .p521: .p521
        }
    }
}
