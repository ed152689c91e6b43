// SPDX-License-Identifier: Apache-2.0

/// Writes DER (X.690). What is a secret is not written with it: see ``DERLength``.
package struct DERWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func put(_ tag: UInt8, _ content: some Collection<UInt8>) {
        bytes.append(tag)
        DERLength.append(content.count, to: &bytes)
        bytes.append(contentsOf: content)
    }

    /// An element of the elements that the body writes.
    package mutating func put(_ tag: UInt8, _ body: (inout DERWriter) -> Void) {
        var inner = DERWriter()
        body(&inner)
        put(tag, inner.bytes)
    }

    /// A number that is not negative.
    ///
    /// - Parameter number: big-endian; zero bytes before it are left out.
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
