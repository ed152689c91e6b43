// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import VaultCrypto
@_implementationOnly import VaultFormat

// The operations of a key, by the meaning of an algorithm. Every failure is errSecParam, except that of a verification.

extension SecKey {
    func sign(_ data: Span<UInt8>, _ algorithm: KeyAlgorithm) throws(StatusError) -> [UInt8] {
        guard algorithm.isSupported(by: self, for: .sign) else { throw .parameter }
        switch algorithm {
        case .rsaSignature(let scheme, let input):
            let digest = scheme == .raw ? try block(of: data) : try input.digest(of: data)
            let key = try asymmetricKey()
            return try converting { () throws(CryptoError) in try key.sign(digest.span, scheme, input.hash) }
        case .ecdsa(let isPair, let input):
            let digest = try input.digest(of: data)
            let key = try asymmetricKey()
            let signature = try converting { () throws(CryptoError) in try key.sign(digest.span, .ecdsa, nil) }
            guard isPair else { return signature }
            guard let pair = SignaturePair(der: signature.span, length: blockLength) else { throw .parameter }
            return pair.bytes
        default: throw .parameter
        }
    }

    /// - Throws: errSecVerifyFailed for every kind of invalid signature.
    func verify(_ signature: Span<UInt8>, of data: Span<UInt8>, _ algorithm: KeyAlgorithm) throws(StatusError) {
        guard algorithm.isSupported(by: self, for: .verify) else { throw .parameter }
        let key = try asymmetricKey()
        switch algorithm {
        case .rsaSignature(let scheme, let input):
            let digest = scheme == .raw ? try block(of: data) : try input.digest(of: data)
            guard signature.count == blockLength else { throw StatusError(status: errSecVerifyFailed) }
            try converting(refusal: errSecVerifyFailed) { () throws(CryptoError) in
                try key.verify(signature, of: digest.span, scheme, input.hash)
            }
        case .ecdsa(let isPair, let input):
            let digest = try input.digest(of: data)
            var der = signature.indices.map { signature[$0] }
            if isPair {
                guard let pair = SignaturePair(bytes: signature, length: blockLength) else {
                    throw StatusError(status: errSecVerifyFailed)
                }
                der = pair.der
            }
            try converting(refusal: errSecVerifyFailed) { () throws(CryptoError) in
                try key.verify(der.span, of: digest.span, .ecdsa, nil)
            }
        default: throw .parameter
        }
    }

    func encrypt(_ message: Span<UInt8>, _ algorithm: KeyAlgorithm) throws(StatusError) -> [UInt8] {
        guard algorithm.isSupported(by: self, for: .encrypt) else { throw .parameter }
        switch algorithm {
        case .rsaEncryption(.raw):
            let block = try block(of: message)
            return try encrypt(block.span, .raw, nil)
        case .rsaEncryption(.pkcs1): return try encrypt(message, .pkcs1, nil)
        case .rsaEncryption(.oaep(let hash)): return try encrypt(message, .oaep, hash)
        case .rsaHybrid(let hash): return try HybridEncryption(self, hash).seal(message)
        case .ecies(let hash, let derivesNonce):
            return try IntegratedEncryption(self, hash, derivesNonce: derivesNonce).seal(message)
        default: throw .parameter
        }
    }

    func decrypt(_ ciphertext: Span<UInt8>, _ algorithm: KeyAlgorithm) throws(StatusError) -> SecretBytes {
        guard algorithm.isSupported(by: self, for: .decrypt) else { throw .parameter }
        switch algorithm {
        case .rsaEncryption(.raw), .rsaEncryption(.pkcs1):
            let block = try block(of: ciphertext)
            guard isPrivate else { return try recover(block.span) }
            return try decrypt(block.span, algorithm == .rsaEncryption(.raw) ? .raw : .pkcs1, nil)
        case .rsaEncryption(.oaep(let hash)): return try decrypt(ciphertext, .oaep, hash)
        case .rsaHybrid(let hash): return try HybridEncryption(self, hash).open(ciphertext)
        case .ecies(let hash, let derivesNonce):
            return try IntegratedEncryption(self, hash, derivesNonce: derivesNonce).open(ciphertext)
        default: throw .parameter
        }
    }

    /// Returns the shared secret of a key exchange.
    ///
    /// - Parameter size: the number of bytes to derive; `nil` for an algorithm without derivation.
    func exchange(
        with peer: SecKey, _ algorithm: KeyAlgorithm, size: Int?, sharedInformation: Span<UInt8>
    ) throws(StatusError) -> SecretBytes {
        guard algorithm.isSupported(by: self, for: .keyExchange), case .exchange(let hash) = algorithm else {
            throw .parameter
        }
        let shared = try sharedSecret(with: peer)
        guard let hash else { return shared }
        // The maximum size of an item.
        guard let size, (1...1 << 24).contains(size) else { throw .parameter }
        return try converting { () throws(CryptoError) in
            try hash.derive(size, from: shared, sharedInformation: sharedInformation)
        }
    }

    func sharedSecret(with peer: SecKey) throws(StatusError) -> SecretBytes {
        guard !peer.isRSA, let publicPeer = peer.publicKey else { throw .parameter }
        let key = try asymmetricKey()
        let other = try publicPeer.asymmetricKey()
        return try converting { () throws(CryptoError) in try key.exchange(with: other) }
    }

    func encrypt(
        _ message: Span<UInt8>, _ scheme: AsymmetricKey.Scheme, _ hash: DigestAlgorithm?
    ) throws(StatusError) -> [UInt8] {
        let key = try asymmetricKey()
        return try converting { () throws(CryptoError) in try key.encrypt(message, scheme, hash) }
    }

    func decrypt(
        _ block: Span<UInt8>, _ scheme: AsymmetricKey.Scheme, _ hash: DigestAlgorithm?
    ) throws(StatusError) -> SecretBytes {
        let key = try asymmetricKey()
        return try converting { () throws(CryptoError) in try key.decrypt(block, scheme, hash) }
    }

    /// Returns the result of the public operation on a block that a private key made without padding.
    private func recover(_ block: Span<UInt8>) throws(StatusError) -> SecretBytes {
        let key = try asymmetricKey()
        let message = try converting { () throws(CryptoError) in try key.recover(block) }
        return try converting { () throws(CryptoError) in try SecretBytes(copying: message.span) }
    }

    /// Pads a number with leading zero bytes to the length of a block.
    private func block(of number: Span<UInt8>) throws(StatusError) -> [UInt8] {
        guard number.count <= blockLength else { throw .parameter }
        return [UInt8](repeating: 0, count: blockLength - number.count) + number.indices.map { number[$0] }
    }
}

extension KeyAlgorithm.Input {
    /// Returns the digest to be signed.
    func digest(of data: Span<UInt8>) throws(StatusError) -> [UInt8] {
        switch self {
        case .message(let hash): return try converting { () throws(CryptoError) in try hash.digest(of: data) }
        case .digest(let hash):
            guard data.count == hash?.length ?? data.count else { throw .parameter }
            return data.indices.map { data[$0] }
        }
    }
}
