// SPDX-License-Identifier: Apache-2.0

/// The positions of the numbers in a private key in DER (PKCS#8, RFC 5208 and RFC 5958), which stays in the memory that
/// the caller locks and wipes.
///
/// Writers differ in whether they include the public key, the curve a second time, or attributes. All such forms are
/// read; one is written.
package struct PKCS8PrivateKey: Hashable, Sendable {
    package enum Kind: Sendable {
        /// RFC 5915, on the curves of FIPS 186-4.
        case p256, p384, p521
        /// RFC 8410.
        case ed25519
        /// RFC 3279, 2.3.1.
        case rsa
    }

    package let kind: Kind
    /// The private number of a curve, big-endian, in 32, 48 or 66 bytes; the seed of Ed25519, 32 bytes; for RSA the key
    /// in PKCS#1.
    package let secret: Range<Int>
    /// For a curve 4, x and y; for Ed25519 32 bytes. `nil` if the writer omitted it, and for RSA. Not checked to belong
    /// to the secret.
    package let publicKey: Range<Int>?

    private enum Tag {
        /// [0] and [1] of a structure, explicit in an ECPrivateKey and implicit in PKCS#8.
        static let parameters: UInt8 = 0xa0
        static let point: UInt8 = 0xa1
        static let attributes: UInt8 = 0xa0
        static let publicKey: UInt8 = 0x81
    }

    /// Fails for bytes that are not exactly one such key, and for other kinds of keys.
    package init?(_ der: Span<UInt8>) {
        var reader = DERReader(der)
        guard let content = reader.take(DERTag.sequence, of: der), reader.isAtEnd else { return nil }
        reader = DERReader(content)
        // Version 0, or 1 with a public key (RFC 5958, 2).
        guard let version = reader.takeNumber(of: der), version.isEmpty || version.map({ der[$0] }) == [1],
            let algorithm = AlgorithmIdentifier(&reader, of: der),
            let key = reader.take(DERTag.octetString, of: der)
        else { return nil }
        _ = reader.take(Tag.attributes, of: der)
        var publicKey: Range<Int>?
        if !version.isEmpty, let bits = reader.take(Tag.publicKey, of: der) {
            guard let unused = bits.first, der[unused] == 0 else { return nil }
            publicKey = bits.dropFirst()
        }
        guard reader.isAtEnd else { return nil }
        switch der.array(algorithm.identifier) {
        case ObjectIDs.ecPublicKey:
            guard let kind = algorithm.parameters.flatMap({ Kind(curve: $0, of: der) }),
                let (secret, point) = PKCS8PrivateKey.curveKey(key, kind, of: der), publicKey == nil || point == nil
            else { return nil }
            self.init(kind, secret, point ?? publicKey, lengths: (kind.length, 1 + 2 * kind.length))
        case ObjectIDs.ed25519:
            var inner = DERReader(key)
            guard algorithm.parameters == nil, let seed = inner.take(DERTag.octetString, of: der), inner.isAtEnd else {
                return nil
            }
            self.init(.ed25519, seed, publicKey, lengths: (Kind.ed25519.length, 32))
        case ObjectIDs.rsaEncryption:
            guard algorithm.parameters?.tag == DERTag.null, algorithm.parameters?.content.isEmpty == true,
                publicKey == nil, RSAKeyNumbers(der, in: key, isPrivate: true) != nil
            else { return nil }
            self.init(.rsa, key, nil, lengths: (key.count, 0))
        default: return nil
        }
    }

    private init?(
        _ kind: Kind, _ secret: Range<Int>, _ publicKey: Range<Int>?, lengths: (secret: Int, publicKey: Int)
    ) {
        guard secret.count == lengths.secret, publicKey.map({ $0.count == lengths.publicKey }) ?? true else {
            return nil
        }
        (self.kind, self.secret, self.publicKey) = (kind, secret, publicKey)
    }

    /// Reads an ECPrivateKey (RFC 5915).
    private static func curveKey(
        _ range: Range<Int>, _ kind: Kind, of der: Span<UInt8>
    ) -> (secret: Range<Int>, point: Range<Int>?)? {
        var reader = DERReader(range)
        guard let content = reader.take(DERTag.sequence, of: der), reader.isAtEnd else { return nil }
        reader = DERReader(content)
        guard let version = reader.takeNumber(of: der), version.map({ der[$0] }) == [1],
            let secret = reader.take(DERTag.octetString, of: der)
        else { return nil }
        if let parameters = reader.take(Tag.parameters, of: der) {
            var inner = DERReader(parameters)
            guard let curve = inner.element(of: der), inner.isAtEnd, Kind(curve: curve, of: der) == kind else {
                return nil
            }
        }
        var point: Range<Int>?
        if let wrapped = reader.take(Tag.point, of: der) {
            var inner = DERReader(wrapped)
            point = inner.takeBits(of: der)
            guard point != nil, inner.isAtEnd else { return nil }
        }
        return reader.isAtEnd ? (secret, point) : nil
    }
}

extension PKCS8PrivateKey.Kind {
    /// Fails for an element that is not the name of one of the curves.
    fileprivate init?(curve: DERReader.Element, of der: Span<UInt8>) {
        guard curve.tag == DERTag.objectIdentifier else { return nil }
        switch ObjectIDs.curveBits(der.array(curve.content)) {
        case 256: self = .p256
        case 384: self = .p384
        case 521: self = .p521
        default: return nil
        }
    }

    /// The length of the secret; 0 for RSA, where it varies.
    fileprivate var length: Int {
        switch self {
        case .p256, .ed25519: 32
        case .p384: 48
        case .p521: 66
        case .rsa: 0
        }
    }

    fileprivate var curve: [UInt8]? {
        switch self {
        case .p256: ObjectIDs.p256
        case .p384: ObjectIDs.p384
        case .p521: ObjectIDs.p521
        case .ed25519, .rsa: nil
        }
    }
}

extension PKCS8PrivateKey {
    /// The public bytes around a secret: before, secret and after are together a key in DER, as OpenSSL writes it.
    package struct Frame: Hashable, Sendable {
        package let before: [UInt8]
        package let after: [UInt8]

        /// Returns the frame of a private number, which has the length of the curve's; `nil` for a kind that is not a
        /// curve.
        ///
        /// - Parameter point: 4, x and y.
        package static func curve(_ kind: Kind, point: some Collection<UInt8>) -> Frame? {
            guard let curve = kind.curve else { return nil }
            var tail = DERWriter()
            tail.put(Tag.point) { $0.put(DERTag.bitString, [0] + Array(point)) }
            var number = DERWriter()
            number.putNumber([1])
            let inner = number.bytes + [DERTag.octetString, UInt8(kind.length)]
            var key = [DERTag.sequence]
            DERLength.append(inner.count + kind.length + tail.bytes.count, to: &key)
            return Frame(
                algorithm: [(DERTag.objectIdentifier, ObjectIDs.ecPublicKey), (DERTag.objectIdentifier, curve)],
                key + inner, kind.length, tail.bytes)
        }

        /// The frame of a seed of 32 bytes.
        package static var ed25519: Frame {
            let length = Kind.ed25519.length
            return Frame(
                algorithm: [(DERTag.objectIdentifier, ObjectIDs.ed25519)], [DERTag.octetString, UInt8(length)], length,
                [])
        }

        /// The frame of a key in PKCS#1.
        ///
        /// - Parameter length: its bytes.
        package static func rsa(length: Int) -> Frame {
            Frame(
                algorithm: [(DERTag.objectIdentifier, ObjectIDs.rsaEncryption), (DERTag.null, [])], [], length, [])
        }

        /// - Parameters:
        ///   - algorithm: the elements of the AlgorithmIdentifier.
        ///   - head: the bytes of the key in front of the secret.
        ///   - length: that of the secret.
        ///   - tail: the bytes of the key behind the secret.
        private init(algorithm: [(tag: UInt8, content: [UInt8])], _ head: [UInt8], _ length: Int, _ tail: [UInt8]) {
            var content = DERWriter()
            content.putNumber([])
            content.put(DERTag.sequence) { inner in
                for (tag, content) in algorithm { inner.put(tag, content) }
            }
            var inner = content.bytes + [DERTag.octetString]
            DERLength.append(head.count + length + tail.count, to: &inner)
            inner += head
            var whole = [DERTag.sequence]
            DERLength.append(inner.count + length + tail.count, to: &whole)
            (before, after) = (whole + inner, tail)
        }
    }
}
