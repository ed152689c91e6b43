// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultCrypto
internal import VaultFormat

/// A public key (RFC 4253, 6.6; RFC 5656, 3.1; RFC 8709, 4), of a type with which this agent signs.
enum SSHPublicKey: Hashable, Sendable {
    /// 32 bytes.
    case ed25519([UInt8])
    case foreign(ForeignPublicKey)

    /// - Throws: `.unsupported` for another type; `.malformed`, also for numbers that are not minimally encoded, and
    ///   for trailing bytes.
    init(_ blob: Span<UInt8>) throws(SSHRefusal) {
        var reader = SSHReader(blob)
        let type = try reader.text(blob)
        try self.init(type, &reader, blob)
        try reader.finish()
    }

    /// Reads the numbers after the type, which is a plain key's.
    init(_ type: String, _ reader: inout SSHReader, _ bytes: Span<UInt8>) throws(SSHRefusal) {
        if type == SSHPublicKey.ed25519Type {
            let point = try reader.data(bytes)
            guard point.count == SigningKey.publicKeyLength else { throw .malformed }
            self = .ed25519(point)
        } else if type == SSHPublicKey.rsaType {
            let (exponent, modulus) = (try reader.positive(bytes), try reader.positive(bytes))
            guard exponent.count <= 8, modulus.count <= 2048 else { throw .unsupported }
            self = .foreign(.rsa(modulus: bytes.array(modulus), exponent: bytes.array(exponent)))
        } else if let curve = NISTCurve.allCases.first(where: { $0.keyType == type }) {
            let (name, point) = (try reader.text(bytes), try reader.data(bytes))
            guard name == curve.sshName, point.count == curve.pointLength, point[0] == 4 else { throw .malformed }
            self = .foreign(.ecdsa(curve, point: point))
        } else {
            throw .unsupported
        }
    }

    static let ed25519Type = "ssh-ed25519"
    static let rsaType = "ssh-rsa"

    var type: String {
        switch self {
        case .ed25519: SSHPublicKey.ed25519Type
        case .foreign(.ecdsa(let curve, _)): curve.keyType
        case .foreign(.rsa): SSHPublicKey.rsaType
        }
    }

    var isRSA: Bool { type == SSHPublicKey.rsaType }

    /// The wire format.
    var blob: [UInt8] {
        var blob: [UInt8] = []
        blob.put(type)
        putNumbers(to: &blob)
        return blob
    }

    /// Writes the numbers after the type.
    func putNumbers(to blob: inout [UInt8]) {
        switch self {
        case .ed25519(let point): blob.put(string: point.span)
        case .foreign(.ecdsa(let curve, let point)):
            blob.put(curve.sshName)
            blob.put(string: point.span)
        case .foreign(.rsa(let modulus, let exponent)):
            blob.put(positive: exponent.span)
            blob.put(positive: modulus.span)
        }
    }

    /// Returns `SHA256:` and the hash of the blob, in base64 without padding, as ssh-keygen(1) prints it.
    func fingerprint() throws(CryptoError) -> String {
        let hash = try MessageAuthentication.plainSHA256(blob.span)
        return "SHA256:" + Data(hash).base64EncodedString().prefix { $0 != "=" }
    }

    /// The size in bits, and the common name of the type.
    var size: (bits: Int, kind: String) {
        switch self {
        case .ed25519: (256, "ED25519")
        case .foreign(.ecdsa(let curve, _)): (Int(curve.rawValue), "ECDSA")
        case .foreign(.rsa(let modulus, _)):
            (modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0), "RSA")
        }
    }

    /// Checks the numbers by the rules of the key's type.
    func check() throws(SSHRefusal) {
        guard case .foreign(let key) = self else { return }
        do throws(CryptoError) { try key.check() } catch { throw SSHRefusal(error) }
    }

    /// Verifies a signature (RFC 4253, 6.6). RSA with SHA-1 is rejected.
    ///
    /// - Parameter signature: the signature type, and its data.
    /// - Throws: `.untrue`, `.malformed`.
    func verify(_ signature: Span<UInt8>, of message: Span<UInt8>) throws(SSHRefusal) {
        var reader = SSHReader(signature)
        let kind = try reader.text(signature)
        let range = try reader.string(signature)
        try reader.finish()
        let blob = signature.extracting(range)
        do throws(CryptoError) {
            switch self {
            case .ed25519(let point):
                guard kind == SSHPublicKey.ed25519Type else { throw .authenticationFailed }
                let nothing: [UInt8] = []
                try SigningKey.verify(blob, nothing.span, message, publicKey: point.span)
            case .foreign(let key):
                guard let hash = key.hash(of: kind) else { throw .authenticationFailed }
                let signed = try SSHPublicKey.signed(blob, by: key)
                try key.verify(signed.span, of: message, hash: hash)
            }
        } catch { throw SSHRefusal(error) }
    }

    /// Returns both numbers of an ECDSA signature, in the format of ``ForeignPublicKey``.
    private static func signed(_ blob: Span<UInt8>, by key: ForeignPublicKey) throws(CryptoError) -> [UInt8] {
        guard case .ecdsa(let curve, _) = key else { return blob.array(blob.indices) }
        var reader = SSHReader(blob)
        do throws(SSHRefusal) {
            let numbers = [try reader.positive(blob), try reader.positive(blob)]
            try reader.finish()
            var signed: [UInt8] = []
            for number in numbers {
                guard number.count <= curve.length else { throw .untrue }
                signed.appendZeros(curve.length - number.count)
                signed.append(blob.extracting(number))
            }
            return signed
        } catch { throw .authenticationFailed }
    }
}

extension NISTCurve {
    /// RFC 5656, 10.1.
    var sshName: String { "nistp\(rawValue)" }
    var keyType: String { "ecdsa-sha2-" + sshName }

    /// RFC 5656, 6.2.1.
    var hash: DigestAlgorithm {
        switch self {
        case .p256: .sha256
        case .p384: .sha384
        case .p521: .sha512
        }
    }
}

extension ForeignPublicKey {
    /// Returns the hash of a signature type; `nil` if the type does not belong to this key.
    func hash(of kind: String) -> DigestAlgorithm? {
        switch self {
        case .ecdsa(let curve, _): kind == curve.keyType ? curve.hash : nil
        case .rsa: kind == "rsa-sha2-256" ? .sha256 : kind == "rsa-sha2-512" ? .sha512 : nil
        }
    }
}
