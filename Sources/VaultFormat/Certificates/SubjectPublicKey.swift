// SPDX-License-Identifier: Apache-2.0

/// A public key of a supported kind, in its external representation.
package enum SubjectPublicKey: Hashable, Sendable {
    /// Presumably an RSAPublicKey (RFC 8017, A.1.1), whose contents were not parsed.
    case rsa(pkcs1: [UInt8])
    /// 04‖X‖Y, of the length that the curve of 256, 384 or 521 bits requires. Not checked to be on the curve.
    case ec(bits: Int, point: [UInt8])

    /// Reads a SubjectPublicKeyInfo (RFC 5280, 4.1).
    ///
    /// - Returns: `nil` if the bytes are not exactly one, and for every other kind of key.
    package init?(_ der: Span<UInt8>) {
        var reader = DERReader(der)
        guard let content = reader.take(DERTag.sequence, of: der), reader.isAtEnd,
            let key = SubjectPublicKeyInfo(content, of: der)?.key(of: der)
        else { return nil }
        self = key
    }
}

/// The positions of the parts of a SubjectPublicKeyInfo.
struct SubjectPublicKeyInfo {
    private let algorithm: AlgorithmIdentifier
    /// The content of the BIT STRING.
    let bits: Range<Int>

    init?(_ content: Range<Int>, of bytes: Span<UInt8>) {
        var reader = DERReader(content)
        guard let algorithm = AlgorithmIdentifier(&reader, of: bytes), let bits = reader.takeBits(of: bytes),
            reader.isAtEnd
        else { return nil }
        (self.algorithm, self.bits) = (algorithm, bits)
    }

    /// Returns `nil` for another kind of key, or bits of the wrong length.
    func key(of bytes: Span<UInt8>) -> SubjectPublicKey? {
        switch bytes.array(algorithm.identifier) {
        case ObjectIDs.rsaEncryption:
            // RFC 3279 requires NULL, which some writers omit.
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

/// An algorithm and its optional parameters, a single element.
struct AlgorithmIdentifier {
    let identifier: Range<Int>
    let parameters: DERReader.Element?

    /// Reads the next element.
    init?(_ outer: inout DERReader, of bytes: Span<UInt8>) {
        guard let content = outer.take(DERTag.sequence, of: bytes) else { return nil }
        var reader = DERReader(content)
        guard let identifier = reader.take(DERTag.objectIdentifier, of: bytes), !identifier.isEmpty else { return nil }
        self.identifier = identifier
        parameters = reader.element(of: bytes)
        guard reader.isAtEnd else { return nil }
    }
}
