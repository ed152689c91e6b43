// SPDX-License-Identifier: Apache-2.0

/// The positions of the numbers in a private key in DER (PKCS#8, RFC 5208 and RFC 5958), which stays in the memory that
/// the caller locks and wipes.
///
/// Writers differ in whether they include the public key, the curve a second time, or attributes. All such forms are
/// read; one is written.
package struct PKCS8PrivateKey: Hashable, Sendable {
    package enum Kind: Sendable {
        /// RFC 5915.
        case p256
        /// RFC 8410.
        case ed25519
        /// RFC 3279, 2.3.1.
        case rsa
    }

    package let kind: Kind
    /// 32 bytes: the private number of P-256, big-endian, or the seed of Ed25519; for RSA the key in PKCS#1.
    package let secret: Range<Int>
    /// For P-256 4, x and y; for Ed25519 32 bytes. `nil` if the writer omitted it, and for RSA. Not checked to belong to
    /// the secret.
    package let publicKey: Range<Int>?

    private static let secretLength = 32

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
            guard let curve = algorithm.parameters, PKCS8PrivateKey.isP256(curve, of: der),
                let (secret, point) = PKCS8PrivateKey.curveKey(key, of: der), publicKey == nil || point == nil
            else { return nil }
            self.init(.p256, secret, point ?? publicKey, length: 65)
        case ObjectIDs.ed25519:
            var inner = DERReader(key)
            guard algorithm.parameters == nil, let seed = inner.take(DERTag.octetString, of: der), inner.isAtEnd else {
                return nil
            }
            self.init(.ed25519, seed, publicKey, length: 32)
        case ObjectIDs.rsaEncryption:
            guard algorithm.parameters?.tag == DERTag.null, algorithm.parameters?.content.isEmpty == true, publicKey == nil,
                RSAKeyNumbers(der, in: key, isPrivate: true) != nil
            else { return nil }
            self.init(.rsa, key, nil, length: 0)
        default: return nil
        }
    }

    private init?(_ kind: Kind, _ secret: Range<Int>, _ publicKey: Range<Int>?, length: Int) {
        guard kind == .rsa || secret.count == PKCS8PrivateKey.secretLength, publicKey.map({ $0.count == length }) ?? true else {
            return nil
        }
        (self.kind, self.secret, self.publicKey) = (kind, secret, publicKey)
    }

    private static func isP256(_ element: DERReader.Element, of der: Span<UInt8>) -> Bool {
        element.tag == DERTag.objectIdentifier && der.array(element.content) == ObjectIDs.p256
    }

    /// Reads an ECPrivateKey (RFC 5915).
    private static func curveKey(
        _ range: Range<Int>, of der: Span<UInt8>
    ) -> (secret: Range<Int>, point: Range<Int>?)? {
        var reader = DERReader(range)
        guard let content = reader.take(DERTag.sequence, of: der), reader.isAtEnd else { return nil }
        reader = DERReader(content)
        guard let version = reader.takeNumber(of: der), version.map({ der[$0] }) == [1],
            let secret = reader.take(DERTag.octetString, of: der)
        else { return nil }
        if let parameters = reader.take(Tag.parameters, of: der) {
            var inner = DERReader(parameters)
            guard let curve = inner.element(of: der), inner.isAtEnd, isP256(curve, of: der) else { return nil }
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

extension PKCS8PrivateKey {
    /// The public bytes around a secret of 32 bytes: before, secret and after are together a key in DER, as OpenSSL
    /// writes it.
    package struct Frame: Hashable, Sendable {
        package let before: [UInt8]
        package let after: [UInt8]

        /// - Parameter point: 4, x and y.
        package static func p256(point: some Collection<UInt8>) -> Frame {
            var tail = DERWriter()
            tail.put(Tag.point) { $0.put(DERTag.bitString, [0] + Array(point)) }
            var algorithm = DERWriter()
            algorithm.put(DERTag.sequence) {
                $0.put(DERTag.objectIdentifier, ObjectIDs.ecPublicKey)
                $0.put(DERTag.objectIdentifier, ObjectIDs.p256)
            }
            var head = DERWriter()
            head.putNumber([1])
            let number = head.bytes + [DERTag.octetString, UInt8(secretLength)]
            return Frame(algorithm.bytes, DERTag.sequence, number, tail.bytes)
        }

        package static var ed25519: Frame {
            var algorithm = DERWriter()
            algorithm.put(DERTag.sequence) { $0.put(DERTag.objectIdentifier, ObjectIDs.ed25519) }
            return Frame(algorithm.bytes, DERTag.octetString, [], [])
        }

        /// - Parameters:
        ///   - tag: the tag of the key within its OCTET STRING.
        ///   - number: the bytes between that tag's length and the secret.
        ///   - tail: the bytes after the secret.
        private init(_ algorithm: [UInt8], _ tag: UInt8, _ number: [UInt8], _ tail: [UInt8]) {
            var key = [tag]
            DERLength.append(number.count + secretLength + tail.count, to: &key)
            key += number
            var content = DERWriter()
            content.putNumber([])
            var inner = content.bytes + algorithm + [DERTag.octetString]
            DERLength.append(key.count + secretLength + tail.count, to: &inner)
            inner += key
            var whole = [DERTag.sequence]
            DERLength.append(inner.count + secretLength + tail.count, to: &whole)
            (before, after) = (whole + inner, tail)
        }
    }
}
