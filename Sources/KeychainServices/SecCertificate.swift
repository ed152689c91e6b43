// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A certificate as its DER bytes. It is looked at by who asks for them: nothing here evaluates trust.
public final class SecCertificate: NSObject, @unchecked Sendable {
    let data: Data

    /// - Returns: nil when the bytes are not one DER SEQUENCE of a SEQUENCE, a SEQUENCE and a BIT STRING, as RFC 5280
    ///   has a certificate.
    init?(_ data: Data) {
        var reader = DERReader(Array(data))
        guard let certificate = reader.take(0x30), reader.isAtEnd else { return nil }
        var parts = DERReader(certificate)
        guard parts.take(0x30) != nil, parts.take(0x30) != nil, parts.take(0x03) != nil, parts.isAtEnd else {
            return nil
        }
        self.data = data
    }

    override public func isEqual(_ other: Any?) -> Bool { (other as? SecCertificate)?.data == data }

    override public var hash: Int { data.hashValue }
}

/// - Returns: nil when the data is no certificate in DER.
public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? {
    SecCertificate(Data(referencing: data))
}

/// The DER bytes.
public func SecCertificateCopyData(_ certificate: SecCertificate) -> CFData { certificate.data as NSData }

/// Walks over DER elements (X.690) with tags below 31 and lengths in their shortest form.
private struct DERReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: some Sequence<UInt8>) { rest = ArraySlice(bytes) }

    var isAtEnd: Bool { rest.isEmpty }

    /// The content of the next element. Nil: it has another tag, or goes beyond the end.
    mutating func take(_ tag: UInt8) -> ArraySlice<UInt8>? {
        guard rest.popFirst() == tag, var length = rest.popFirst().map(Int.init) else { return nil }
        if length >= 0x80 {
            let octets = rest.prefix(length - 0x80)
            guard (1...4).contains(length - 0x80), octets.count == length - 0x80, octets.first != 0 else { return nil }
            rest = rest.dropFirst(octets.count)
            length = octets.reduce(0) { $0 << 8 | Int($1) }
            guard length >= 0x80 else { return nil }
        }
        guard length <= rest.count else { return nil }
        defer { rest = rest.dropFirst(length) }
        return rest.prefix(length)
    }
}
