// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// An OpenSSH certificate (PROTOCOL.certkeys): a key that an authority has signed.
struct SSHCertificate: Hashable, Sendable {
    enum Kind: UInt32, Sendable {
        case user = 1
        case host
    }

    /// As it goes over the wire.
    let blob: [UInt8]
    let type: String
    let key: SSHPublicKey
    let kind: Kind
    let keyID: String
    /// None: for every name.
    let principals: [String]
    /// In seconds since 1970.
    let validity: Range<UInt64>
    let hasCriticalOptions: Bool
    let authority: SSHPublicKey
    /// How many bytes of the blob the authority has signed.
    private let signedLength: Int
    private let signature: [UInt8]

    private static let suffix = "-cert-v01@openssh.com"
    private static let mostPrincipals = 256

    static func isType(_ type: String) -> Bool { type.hasSuffix(suffix) }

    /// The type of the key in a certificate of a type.
    static func plainType(_ type: String) -> String { String(type.dropLast(suffix.count)) }

    /// - Throws: `.unsupported` for a key of another kind, or another authority's; `.malformed`.
    init(_ blob: Span<UInt8>) throws(SSHRefusal) {
        var reader = SSHReader(blob)
        type = try reader.text(blob)
        guard SSHCertificate.isType(type) else { throw .unsupported }
        // A nonce, which only makes the hash another one.
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
        // An authority's key is a plain one.
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

    /// - Throws: `.untrue` unless the authority has signed it.
    func verify() throws(SSHRefusal) {
        try authority.verify(signature.span, of: blob.span.extracting(0..<signedLength))
    }

    /// Whether it is a host's that has a name like this, at this time.
    ///
    /// - Parameters:
    ///   - pattern: of names.
    ///   - seconds: since 1970.
    func isOfHost(_ pattern: String, at seconds: UInt64) -> Bool {
        guard kind == .host, !hasCriticalOptions, validity.contains(seconds) else { return false }
        return principals.isEmpty || principals.contains { SSHPattern.matches($0, pattern) }
    }
}

/// What a client names a key by: the key, or a certificate of it.
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

    /// The key that signs.
    var key: SSHPublicKey {
        switch self {
        case .plain(let key): key
        case .certificate(let certificate): certificate.key
        }
    }
}

/// Patterns of ssh_config(5): `*` stands for any text, `?` for any one character.
enum SSHPattern {
    static func matches(_ text: String, _ pattern: String) -> Bool {
        let (text, pattern) = (Array(text.utf8), Array(pattern.utf8))
        var (index, place) = (0, 0)
        // Where the last star stands, and up to where it stands for text: without going back further, no pattern takes
        // longer than the product of both lengths.
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
