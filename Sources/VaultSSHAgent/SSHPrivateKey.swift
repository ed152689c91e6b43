// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// A private key, whose numbers are in locked memory and wiped with the last reference.
final class SSHPrivateKey: Sendable {
    private enum Numbers: Sendable {
        case ed25519(Ed25519Numbers)
        case foreign(ForeignNumbers)
    }

    private final class Ed25519Numbers: Sendable {
        let key: SigningKey
        let seed: SecretBytes

        init(_ key: consuming SigningKey, seed: consuming SecretBytes) {
            self.key = key
            self.seed = seed
        }
    }

    private final class ForeignNumbers: Sendable {
        let key: ForeignKey

        init(_ key: consuming ForeignKey) { self.key = key }
    }

    let publicKey: SSHPublicKey
    private let numbers: Numbers

    /// The hash requested for an RSA signature (draft-ietf-sshm-ssh-agent, 3.6.1).
    struct Flags: OptionSet {
        let rawValue: UInt32

        static let sha256 = Flags(rawValue: 2)
        static let sha512 = Flags(rawValue: 4)
    }

    // MARK: Reading

    /// Reads a key as in key files and ssh-add(1): the type, the certificate for a certificate's type, and the numbers.
    ///
    /// - Parameter certificate: receives the certificate.
    /// - Throws: `.untrue` if the numbers do not belong to one key; `.securityKey`, `.unsupported`, `.malformed`.
    init(_ reader: inout SSHReader, _ bytes: Span<UInt8>, certificate: inout SSHCertificate?) throws(SSHRefusal) {
        let type = try reader.text(bytes)
        // The types of keys and certificates in OpenSSH's PROTOCOL.u2f.
        guard !type.hasPrefix("sk-") else { throw .securityKey }
        var certified: SSHPublicKey?
        if SSHCertificate.isType(type) {
            let read = try SSHCertificate(bytes.extracting(try reader.string(bytes)))
            guard read.type == type else { throw .untrue }
            try read.verify()
            (certificate, certified) = (read, read.key)
        }
        switch certified?.type ?? type {
        case SSHPublicKey.ed25519Type:
            let (point, pair) = (try reader.data(bytes), try reader.string(bytes))
            publicKey = .ed25519(point)
            numbers = .ed25519(try SSHPrivateKey.signing(bytes.extracting(pair), point, certified))
        case SSHPublicKey.rsaType:
            let key: SSHPublicKey
            if let certified { key = certified } else { key = try SSHPrivateKey.rsaNumbers(&reader, bytes) }
            // d, iqmp, p and q.
            let secrets = [
                try reader.positive(bytes), try reader.positive(bytes), try reader.positive(bytes),
                try reader.positive(bytes),
            ]
            numbers = .foreign(try SSHPrivateKey.foreign(key, secrets, bytes))
            publicKey = key
        case let plainType:
            let key: SSHPublicKey
            if let certified { key = certified } else { key = try SSHPublicKey(plainType, &reader, bytes) }
            numbers = .foreign(try SSHPrivateKey.foreign(key, [try reader.positive(bytes)], bytes))
            publicKey = key
        }
    }

    /// - Parameter pair: the seed and the public key.
    private static func signing(
        _ pair: Span<UInt8>, _ point: [UInt8], _ certified: SSHPublicKey?
    ) throws(SSHRefusal) -> Ed25519Numbers {
        guard pair.count == 64, point.count == SigningKey.publicKeyLength else { throw .malformed }
        let numbers = try secured { () throws(CryptoError) in
            let seed = try SecretBytes(copying: pair.extracting(0..<SigningKey.seedLength))
            return Ed25519Numbers(try SigningKey(seed: seed), seed: seed)
        }
        // Signing with a public key other than the seed's reveals the seed to an attacker who has two signatures.
        guard numbers.key.publicKey == point, pair.extracting(32..<64).elementsEqual(point.span),
            certified == nil || certified == .ed25519(point)
        else { throw .untrue }
        return numbers
    }

    /// In a private key, n precedes e.
    private static func rsaNumbers(_ reader: inout SSHReader, _ bytes: Span<UInt8>) throws(SSHRefusal) -> SSHPublicKey {
        let (modulus, exponent) = (try reader.positive(bytes), try reader.positive(bytes))
        guard exponent.count <= 8, modulus.count <= 2048 else { throw .unsupported }
        return .foreign(.rsa(modulus: bytes.array(modulus), exponent: bytes.array(exponent)))
    }

    private static func foreign(
        _ key: SSHPublicKey, _ secrets: [Range<Int>], _ bytes: Span<UInt8>
    ) throws(SSHRefusal) -> ForeignNumbers {
        guard case .foreign(let foreign) = key else { throw .unsupported }
        return try secured { () throws(CryptoError) in
            var numbers: [Secret] = []
            for range in secrets { numbers.append(Secret(try SecretBytes(copying: bytes.extracting(range)))) }
            return ForeignNumbers(try ForeignKey(foreign, private: numbers))
        }
    }

    static func secured<R: ~Copyable>(_ body: () throws(CryptoError) -> R) throws(SSHRefusal) -> R {
        do throws(CryptoError) { return try body() } catch { throw SSHRefusal(error) }
    }

    // MARK: Signing

    /// - Returns: the signature type, and the signature (RFC 4253, 6.6).
    /// - Throws: `.unsupported` for an authentication by RSA without a SHA-2 hash.
    func sign(_ message: Span<UInt8>, _ flags: Flags) throws(SSHRefusal) -> [UInt8] {
        var flags = flags
        // `ssh-add -T` requests no hash for its test signature and accepts any. In an authentication, that means SHA-1.
        if flags.isDisjoint(with: [.sha256, .sha512]), !SSHSignatureRequest.isOne(message) { flags = .sha256 }
        var signature: [UInt8] = []
        switch numbers {
        case .ed25519(let numbers):
            let nothing: [UInt8] = []
            let signed = try SSHPrivateKey.secured { () throws(CryptoError) in
                try numbers.key.sign(nothing.span, message)
            }
            signature.put(SSHPublicKey.ed25519Type)
            signature.put(string: signed.span)
        case .foreign(let numbers):
            let publicKey = numbers.key.publicKey
            guard let kind = publicKey.kind(flags), let hash = publicKey.hash(of: kind) else { throw .unsupported }
            let signed = try SSHPrivateKey.secured { () throws(CryptoError) in
                try numbers.key.sign(message, hash: hash)
            }
            signature.put(kind)
            if case .ecdsa(let curve, _) = publicKey {
                var pair: [UInt8] = []
                pair.put(positive: signed.span.extracting(0..<curve.length))
                pair.put(positive: signed.span.extracting(curve.length..<2 * curve.length))
                signature.put(string: pair.span)
            } else {
                signature.put(string: signed.span)
            }
        }
        return signature
    }

    // MARK: Files

    private static let head = "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    private static let tail = "-----END OPENSSH PRIVATE KEY-----\n"
    private static let lineLength = 70
    /// The maximum size, in bytes: enough for the largest RSA key with a long comment.
    private static let longestFile = 64 << 10

    /// Returns the key file without a passphrase, in the format of ssh-keygen(1) (PROTOCOL.key).
    ///
    /// - Parameter check: any number; in an encrypted key it shows whether the passphrase was right.
    func file(comment: String, check: UInt32) throws(SSHRefusal) -> SecretBytes {
        try SSHPrivateKey.secured { () throws(CryptoError) in
            var inner = try SecretBuffer(capacity: 1024)
            for _ in 0..<2 { try inner.put(check) }
            try put(to: &inner)
            try inner.put(comment)
            var padding: UInt8 = 1
            while !inner.count.isMultiple(of: 8) {
                try inner.append(padding)
                padding += 1
            }
            var whole = try SecretBuffer(capacity: 2048)
            try whole.append("openssh-key-v1\0")
            for text in ["none", "none", ""] { try whole.put(text) }
            try whole.put(1 as UInt32)
            try whole.put(string: publicKey.blob.span)
            try inner.withBytes { bytes throws(CryptoError) in try whole.put(string: bytes) }
            var text = try SecretBuffer(capacity: 4096)
            try whole.withBytes { bytes throws(CryptoError) in try text.append(base64: bytes) }
            var file = try SecretBuffer(capacity: 4096)
            try file.append(SSHPrivateKey.head)
            try text.withBytes { bytes throws(CryptoError) in
                var start = 0
                while start < bytes.count {
                    let end = min(start + SSHPrivateKey.lineLength, bytes.count)
                    try file.append(bytes.extracting(start..<end))
                    try file.append(UInt8(ascii: "\n"))
                    start = end
                }
            }
            try file.append(SSHPrivateKey.tail)
            return try file.bytes()
        }
    }

    /// Writes the type and the numbers, in the format of ssh-add(1).
    func put(to buffer: inout SecretBuffer) throws(CryptoError) {
        try buffer.put(publicKey.type)
        switch numbers {
        case .ed25519(let numbers):
            let point = numbers.key.publicKey
            try buffer.put(string: point.span)
            try buffer.put(64 as UInt32)
            try numbers.seed.withBytes { bytes throws(CryptoError) in try buffer.append(bytes) }
            try buffer.append(point.span)
        case .foreign(let numbers):
            switch numbers.key.publicKey {
            case .ecdsa(let curve, let point):
                try buffer.put(curve.sshName)
                try buffer.put(string: point.span)
                try numbers.key.withPrivateNumber(0) { bytes throws(CryptoError) in
                    try buffer.put(positive: bytes)
                }
            case .rsa(let modulus, let exponent):
                try buffer.put(positive: modulus.span)
                try buffer.put(positive: exponent.span)
                for index in 0..<4 {
                    try numbers.key.withPrivateNumber(index) { bytes throws(CryptoError) in
                        try buffer.put(positive: bytes)
                    }
                }
            }
        }
    }

    /// Reads an unencrypted key file.
    ///
    /// - Throws: `.unsupported` for an encrypted file, or one with several keys; `.untrue`, `.malformed`.
    static func read(file: Span<UInt8>) throws(SSHRefusal) -> SSHPrivateKey { try commented(file: file).key }

    /// Reads an unencrypted key file, and the comment in it.
    ///
    /// - Throws: as ``read(file:)``.
    static func commented(file: Span<UInt8>) throws(SSHRefusal) -> (key: SSHPrivateKey, comment: String) {
        let text = try body(of: file)
        let decoded = try secured { () throws(CryptoError) in
            try SecretBytes.decoding(base64: file.extracting(text))
        }
        guard let decoded else { throw .malformed }
        return try decoded.withBytes { bytes throws(SSHRefusal) in try commented(decoded: bytes) }
    }

    /// Returns the range of the base64 text.
    private static func body(of file: Span<UInt8>) throws(SSHRefusal) -> Range<Int> {
        let (head, tail) = (Array(head.utf8), Array(tail.utf8))
        var end = file.count
        // The last line may lack its line feed.
        let hasEnd = end > 0 && file[end - 1] == UInt8(ascii: "\n")
        let tailLength = tail.count - (hasEnd ? 0 : 1)
        guard file.count <= longestFile, end >= head.count + tailLength else { throw .malformed }
        end -= tailLength
        guard file.extracting(0..<head.count).elementsEqual(head.span),
            file.extracting(end..<end + tailLength).elementsEqual(tail.span.extracting(0..<tailLength))
        else { throw .malformed }
        return head.count..<end
    }

    private static func commented(
        decoded bytes: Span<UInt8>
    ) throws(SSHRefusal) -> (key: SSHPrivateKey, comment: String) {
        let magic = Array("openssh-key-v1\0".utf8)
        guard bytes.count > magic.count, bytes.extracting(0..<magic.count).elementsEqual(magic.span) else {
            throw .malformed
        }
        var reader = SSHReader(magic.count..<bytes.count)
        guard try reader.text(bytes) == "none", try reader.text(bytes) == "none", try reader.text(bytes).isEmpty,
            try reader.number(bytes) == 1
        else { throw .unsupported }
        let named = try SSHPublicKey(bytes.extracting(try reader.string(bytes)))
        var inner = SSHReader(try reader.string(bytes))
        try reader.finish()
        guard try inner.number(bytes) == inner.number(bytes) else { throw .malformed }
        var certificate: SSHCertificate?
        let key = try SSHPrivateKey(&inner, bytes, certificate: &certificate)
        let comment = String(decoding: try inner.data(bytes), as: UTF8.self)
        var padding: UInt8 = 1
        while !inner.isAtEnd {
            guard padding < 8, try inner.byte(bytes) == padding else { throw .malformed }
            padding += 1
        }
        guard certificate == nil, key.publicKey == named else { throw .untrue }
        return (key, comment)
    }
}

extension ForeignPublicKey {
    /// Returns the requested signature type; `nil` if this agent does not make it.
    fileprivate func kind(_ flags: SSHPrivateKey.Flags) -> String? {
        switch self {
        case .ecdsa(let curve, _): curve.keyType
        case .rsa: flags.contains(.sha256) ? "rsa-sha2-256" : flags.contains(.sha512) ? "rsa-sha2-512" : nil
        }
    }
}
