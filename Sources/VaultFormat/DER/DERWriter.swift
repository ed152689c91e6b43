// SPDX-License-Identifier: Apache-2.0

/// Writes DER (X.690). Not for secrets: see ``DERLength``.
package struct DERWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func put(_ tag: UInt8, _ content: some Collection<UInt8>) {
        bytes.append(tag)
        DERLength.append(content.count, to: &bytes)
        bytes.append(contentsOf: content)
    }

    /// Writes an element that contains the elements written by the body.
    package mutating func put(_ tag: UInt8, _ body: (inout DERWriter) -> Void) {
        var inner = DERWriter()
        body(&inner)
        put(tag, inner.bytes)
    }

    /// Writes a nonnegative number.
    ///
    /// - Parameter number: big-endian; leading zero bytes are dropped.
    package mutating func putNumber(_ number: some Collection<UInt8>) {
        let digits = number.drop { $0 == 0 }
        put(DERTag.integer, (digits.first.map { $0 >= 0x80 } ?? true ? [0] : []) + Array(digits))
    }
}

/// The length of a DER element, in its shortest form.
package enum DERLength {
    package static func append(_ length: Int, to bytes: inout [UInt8]) {
        guard length >= 0x80 else { return bytes.append(UInt8(length)) }
        let octets = (0..<8).map { UInt8(truncatingIfNeeded: length >> (8 * (7 - $0))) }.drop { $0 == 0 }
        bytes.append(0x80 | UInt8(octets.count))
        bytes.append(contentsOf: octets)
    }
}
