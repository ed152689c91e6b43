// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import VaultCrypto

/// The meaning of an algorithm's name.
enum KeyAlgorithm: Hashable {
    /// The input of a signature.
    enum Input: Hashable {
        case message(DigestAlgorithm)
        /// A digest; `nil` for any length.
        case digest(DigestAlgorithm?)

        var hash: DigestAlgorithm? {
            switch self {
            case .message(let hash): hash
            case .digest(let hash): hash
            }
        }
    }

    enum Padding: Hashable { case raw, pkcs1, oaep(DigestAlgorithm) }

    case rsaSignature(AsymmetricKey.Scheme, Input)
    /// - Parameter isPair: whether r and s are concatenated (RFC 4754), rather than in DER (X9.62).
    case ecdsa(isPair: Bool, Input)
    case rsaEncryption(Padding)
    case rsaHybrid(DigestAlgorithm)
    /// - Parameter derivesNonce: whether the nonce is derived, rather than zero.
    case ecies(DigestAlgorithm, derivesNonce: Bool)
    /// - Parameter hash: the hash of the X9.63 derivation; `nil` for the raw shared secret.
    case exchange(DigestAlgorithm?)

    /// Fails for an unknown name.
    init?(_ algorithm: SecKeyAlgorithm) {
        guard let known = KeyAlgorithm.known[algorithm.rawValue as String] else { return nil }
        self = known
    }

    /// The algorithms in Apple's public headers, by name.
    static let known: [String: KeyAlgorithm] = {
        var known: [String: KeyAlgorithm] = [
            "algid:sign:RSA:raw": .rsaSignature(.raw, .digest(nil)),
            "algid:sign:RSA:digest-PKCS1v15": .rsaSignature(.pkcs1, .digest(nil)),
            "algid:sign:ECDSA:digest-X962": .ecdsa(isPair: false, .digest(nil)),
            "algid:sign:ECDSA:digest-RFC4754": .ecdsa(isPair: true, .digest(nil)),
            "algid:sign:ECDSA:RFC4754": .ecdsa(isPair: true, .digest(nil)),
            "algid:encrypt:RSA:raw": .rsaEncryption(.raw),
            "algid:encrypt:RSA:PKCS1": .rsaEncryption(.pkcs1),
            "algid:keyexchange:ECDH": .exchange(nil),
            "algid:keyexchange:ECDHC": .exchange(nil),
        ]
        for hash in DigestAlgorithm.allCases {
            let name = hash == .sha1 ? "SHA1" : "SHA\(hash.rawValue)"
            for (kind, input) in [("message", Input.message(hash)), ("digest", .digest(hash))] {
                known["algid:sign:RSA:\(kind)-PKCS1v15:\(name)"] = .rsaSignature(.pkcs1, input)
                // The name for SHA-224 ends in 24, although the salt has 28 bytes.
                let salt = hash == .sha224 ? 24 : hash.length
                known["algid:sign:RSA:\(kind)-PSS:\(name):\(name):\(salt)"] = .rsaSignature(.pss, input)
                known["algid:sign:ECDSA:\(kind)-X962:\(name)"] = .ecdsa(isPair: false, input)
                known["algid:sign:ECDSA:\(kind)-RFC4754:\(name)"] = .ecdsa(isPair: true, input)
            }
            known["algid:encrypt:RSA:OAEP:\(name)"] = .rsaEncryption(.oaep(hash))
            known["algid:encrypt:RSA:OAEP:\(name):AESGCM"] = .rsaHybrid(hash)
            // The cofactor of these curves is 1, so that ECDH and ECDHC are the same.
            for exchange in ["ECDH", "ECDHC"] {
                known["algid:keyexchange:\(exchange):KDFX963:\(name)"] = .exchange(hash)
                let ecies = "algid:encrypt:ECIES:\(exchange):KDFX963:\(name):AESGCM"
                known[ecies] = .ecies(hash, derivesNonce: false)
                if hash != .sha1 { known[ecies + "-KDFIV"] = .ecies(hash, derivesNonce: true) }
            }
        }
        return known
    }()

    /// Returns whether a key supports the operation by its type, class and size.
    func isSupported(by key: SecKey, for operation: SecKeyOperationType) -> Bool {
        switch self {
        case .rsaSignature(let scheme, let input):
            guard key.isRSA, operation == (key.isPrivate ? .sign : .verify) else { return false }
            guard scheme == .pss, let hash = input.hash else { return true }
            return key.bits >= 16 * hash.length + 9
        case .ecdsa: return !key.isRSA && operation == (key.isPrivate ? .sign : .verify)
        case .rsaEncryption(let padding):
            // A raw signature is read by "decrypting" with the public key.
            let canDecrypt = key.isPrivate || padding == .raw
            guard key.isRSA, operation == .decrypt && canDecrypt || operation == .encrypt && !key.isPrivate else {
                return false
            }
            if case .oaep(let hash) = padding { return key.blockLength >= 2 * hash.length + 2 }
            return true
        case .rsaHybrid(let hash):
            return key.isRSA && operation == (key.isPrivate ? .decrypt : .encrypt)
                && key.blockLength >= 2 * hash.length + 2
        case .ecies: return !key.isRSA && operation == (key.isPrivate ? .decrypt : .encrypt)
        case .exchange: return !key.isRSA && key.isPrivate && operation == .keyExchange
        }
    }
}
