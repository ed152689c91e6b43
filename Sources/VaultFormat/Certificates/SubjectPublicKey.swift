// SPDX-License-Identifier: Apache-2.0

/// A public key of a kind that keys can have here, in its external representation.
package enum SubjectPublicKey: Hashable, Sendable {
    /// What should be an RSAPublicKey (RFC 8017, A.1.1): nothing within it was read.
    case rsa(pkcs1: [UInt8])
    /// 04‖X‖Y, as long as the curve of 256, 384 or 521 bits wants it. Whether the point lies on it was not looked at.
    case ec(bits: Int, point: [UInt8])

    /// Reads a SubjectPublicKeyInfo (RFC 5280, 4.1).
    ///
    /// - Returns: nil when the bytes are none, or more than one, and for every other kind of key.
    package init?(_ der: Span<UInt8>) {
        var reader = DERReader(der)
        guard let content = reader.take(DERTag.sequence, of: der), reader.isAtEnd,
            let key = SubjectPublicKeyInfo(content, of: der)?.key(of: der)
        else { return nil }
        self = key
    }
}

/// Where the parts of a SubjectPublicKeyInfo stand.
struct SubjectPublicKeyInfo {
    private let algorithm: AlgorithmIdentifier
    /// What the BIT STRING holds.
    let bits: Range<Int>

    init?(_ content: Range<Int>, of bytes: Span<UInt8>) {
        var reader = DERReader(content)
        guard let algorithm = AlgorithmIdentifier(&reader, of: bytes), let bits = reader.takeBits(of: bytes),
            reader.isAtEnd
        else { return nil }
        (self.algorithm, self.bits) = (algorithm, bits)
    }

    /// Nil: a key of another kind, or bits of another length than its own.
    func key(of bytes: Span<UInt8>) -> SubjectPublicKey? {
        switch bytes.array(algorithm.identifier) {
        case ObjectIDs.rsaEncryption:
            // RFC 3279 wants NULL, and some writers leave it out.
            let isPlain = algorithm.parameters.map { $0.tag == DERTag.null && $0.content.isEmpty } ?? true
            return isPlain ? .rsa(pkcs1: bytes.array(bits)) : nil
        case ObjectIDs.ecPublicKey:
            guard let curve = algorithm.parameters, curve.tag == DERTag.objectIdentifier,
                let size = ObjectIDs.curveBits(bytes.array(curve.content)),
                bits.count == 1 + 2 * ((size + 7) / 8), bytes[bits.lowerBound] == 0x04
            else { return nil }
            return .ec(bits: size, point: bytes.array(bits))
        default: return nil
        }
    }
}

/// An algorithm and its parameters, which are one element or nothing.
struct AlgorithmIdentifier {
    let identifier: Range<Int>
    let parameters: DERReader.Element?

    /// Takes the next element of the reader.
    init?(_ outer: inout DERReader, of bytes: Span<UInt8>) {
        guard let content = outer.take(DERTag.sequence, of: bytes) else { return nil }
        var reader = DERReader(content)
        guard let identifier = reader.take(DERTag.objectIdentifier, of: bytes), !identifier.isEmpty else { return nil }
        self.identifier = identifier
        parameters = reader.element(of: bytes)
        guard reader.isAtEnd else { return nil }
    }
}
