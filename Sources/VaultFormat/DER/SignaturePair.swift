// SPDX-License-Identifier: Apache-2.0

/// r and s of an ECDSA signature, each as long as the curve's numbers, as in RFC 4754; also in the DER of X9.62.
package struct SignaturePair: Sendable {
    /// r, then s.
    package let bytes: [UInt8]

    /// Returns `nil` for another length.
    package init?(bytes: Span<UInt8>, length: Int) {
        guard bytes.count == 2 * length else { return nil }
        self.bytes = bytes.indices.map { bytes[$0] }
    }

    /// Returns `nil` if it is not a SEQUENCE of two such numbers.
    package init?(der: Span<UInt8>, length: Int) {
        var reader = DERReader(der)
        guard let content = reader.take(DERTag.sequence, of: der), reader.isAtEnd else { return nil }
        reader = DERReader(content)
        guard let r = reader.takeNumber(of: der), let s = reader.takeNumber(of: der), reader.isAtEnd,
            r.count <= length, s.count <= length
        else { return nil }
        bytes = [r, s].flatMap { number in
            [UInt8](repeating: 0, count: length - number.count) + number.map { der[$0] }
        }
    }

    package var der: [UInt8] {
        var writer = DERWriter()
        writer.put(DERTag.sequence) { inner in
            inner.putNumber(bytes[..<(bytes.count / 2)])
            inner.putNumber(bytes[(bytes.count / 2)...])
        }
        return writer.bytes
    }
}
