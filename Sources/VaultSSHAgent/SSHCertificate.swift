// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// An OpenSSH certificate (PROTOCOL.certkeys): a key signed by an authority.
struct SSHCertificate: Hashable, Sendable {
    enum Kind: UInt32, Sendable {
        case user = 1
        case host
    }

    /// The wire format.
    let blob: [UInt8]
    let type: String
    let key: SSHPublicKey
    let kind: Kind
    let keyID: String
    /// The valid names; empty for every name.
    let principals: [String]
    /// The validity period, in seconds since 1970.
    let validity: Range<UInt64>
    let hasCriticalOptions: Bool
    let authority: SSHPublicKey
    /// The number of bytes of the blob that the authority has signed.
    private let signedLength: Int
    private let signature: [UInt8]

    private static let suffix = "-cert-v01@openssh.com"
    private static let mostPrincipals = 256

    static func isType(_ type: String) -> Bool { type.hasSuffix(suffix) }

    /// Returns the type of the plain key for a type of certificate.
    static func plainType(_ type: String) -> String { String(type.dropLast(suffix.count)) }

    /// - Throws: `.unsupported` if the type of the key or of the authority's key is unknown; `.malformed`.
    init(_ blob: Span<UInt8>) throws(SSHRefusal) {
        var reader = SSHReader(blob)
        type = try reader.text(blob)
        guard SSHCertificate.isType(type) else { throw .unsupported }
        // A nonce, which only varies the hash.
        _ = try reader.string(blob)
        key = try SSHPublicKey(SSHCertificate.plainType(type), &reader, blob)
        // The serial number.
        _ = try reader.longNumber(blob)
        guard let kind = Kind(rawValue: try reader.number(blob)) else { throw .malformed }
        self.kind = kind
        keyID = try reader.text(blob)
        var names = SSHReader(try reader.string(blob))
        var principals: [String] = []
        while !names.isAtEnd {
            guard principals.count < SSHCertificate.mostPrincipals else { throw .malformed }
            principals.append(try names.text(blob))
        }
        self.principals = principals
        let (from, until) = (try reader.longNumber(blob), try reader.longNumber(blob))
        guard from <= until else { throw .malformed }
        validity = from..<until
        var options = SSHReader(try reader.string(blob))
        hasCriticalOptions = !options.isAtEnd
        try SSHCertificate.skipPairs(&options, blob)
        var extensions = SSHReader(try reader.string(blob))
        try SSHCertificate.skipPairs(&extensions, blob)
        // Reserved.
        _ = try reader.string(blob)
        // The authority's key is a plain one, not a certificate.
        authority = try SSHPublicKey(blob.extracting(try reader.string(blob)))
        signedLength = reader.offset
        signature = try reader.data(blob)
        try reader.finish()
        self.blob = blob.array(blob.indices)
    }

    private static func skipPairs(_ reader: inout SSHReader, _ bytes: Span<UInt8>) throws(SSHRefusal) {
        while !reader.isAtEnd {
            _ = try reader.string(bytes)
            _ = try reader.string(bytes)
        }
    }

    /// - Throws: `.untrue` if the authority's signature is invalid.
    func verify() throws(SSHRefusal) {
        try authority.verify(signature.span, of: blob.span.extracting(0..<signedLength))
    }

    /// - Parameter seconds: since 1970.
    func isValid(at seconds: UInt64) -> Bool { validity.contains(seconds) }

    /// Returns whether this is the certificate of a host whose name matches, valid at a time.
    ///
    /// - Parameters:
    ///   - pattern: a pattern of host names.
    ///   - seconds: since 1970.
    func isOfHost(_ pattern: String, at seconds: UInt64) -> Bool {
        guard kind == .host, !hasCriticalOptions, isValid(at: seconds) else { return false }
        return principals.isEmpty || principals.contains { SSHPattern.matches($0, pattern) }
    }
}

/// The name of a key in requests: the plain key, or a certificate of it.
enum SSHKeyName: Hashable, Sendable {
    case plain(SSHPublicKey)
    case certificate(SSHCertificate)

    init(_ blob: Span<UInt8>) throws(SSHRefusal) {
        var reader = SSHReader(blob)
        let type = try reader.text(blob)
        self = SSHCertificate.isType(type) ? .certificate(try SSHCertificate(blob)) : .plain(try SSHPublicKey(blob))
    }

    var blob: [UInt8] {
        switch self {
        case .plain(let key): key.blob
        case .certificate(let certificate): certificate.blob
        }
    }

    var type: String {
        switch self {
        case .plain(let key): key.type
        case .certificate(let certificate): certificate.type
        }
    }

    /// Whether no host accepts the name: a certificate that has expired, or is not valid yet.
    ///
    /// - Parameter seconds: since 1970.
    func isRefusedEverywhere(at seconds: UInt64) -> Bool {
        if case .certificate(let certificate) = self { !certificate.isValid(at: seconds) } else { false }
    }

    /// The key that signs.
    var key: SSHPublicKey {
        switch self {
        case .plain(let key): key
        case .certificate(let certificate): certificate.key
        }
    }
}

/// Patterns of ssh_config(5): `*` matches any text, `?` any one character.
enum SSHPattern {
    static func matches(_ text: String, _ pattern: String) -> Bool {
        let (text, pattern) = (Array(text.utf8), Array(pattern.utf8))
        var (index, place) = (0, 0)
        // The position of the last star, and the end of the text that it matches: backtracking no further than that, a
        // match takes at most the product of both lengths.
        var (star, covered): (Int?, Int) = (nil, 0)
        while index < text.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                (star, covered) = (place, index)
                place += 1
            } else if place < pattern.count, pattern[place] == UInt8(ascii: "?") || pattern[place] == text[index] {
                index += 1
                place += 1
            } else if let star {
                covered += 1
                (index, place) = (covered, star + 1)
            } else {
                return false
            }
        }
        while place < pattern.count, pattern[place] == UInt8(ascii: "*") { place += 1 }
        return place == pattern.count
    }
}
