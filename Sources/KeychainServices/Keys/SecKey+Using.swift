// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import VaultCrypto

/// Signs a message or a digest.
///
/// - Parameter error: errSecParam for an algorithm that the key does not support, a digest of another length, or a raw
///   block that is too long.
public func SecKeyCreateSignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ dataToSign: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reporting(to: error, algorithm.rawValue as String) { () throws(StatusError) in
        guard let algorithm = KeyAlgorithm(algorithm) else { throw .parameter }
        return Data(try dataToSign.withSpan { data throws(StatusError) in try key.sign(data, algorithm) }) as NSData
    }
}

/// Verifies a signature.
///
/// - Parameter error: errSecVerifyFailed for every kind of invalid signature; errSecParam as in
///   ``SecKeyCreateSignature(_:_:_:_:)``.
public func SecKeyVerifySignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ signedData: CFData, _ signature: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Bool {
    let verified: Void? = unsafe reporting(to: error, algorithm.rawValue as String) { () throws(StatusError) in
        guard let algorithm = KeyAlgorithm(algorithm) else { throw .parameter }
        try signedData.withSpan { data throws(StatusError) in
            try signature.withSpan { signature throws(StatusError) in
                try key.verify(signature, of: data, algorithm)
            }
        }
    }
    return verified != nil
}

/// Encrypts with a public key.
///
/// - Parameter error: errSecParam for an algorithm that the key does not support, and for a text that is too long.
public func SecKeyCreateEncryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plaintext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reporting(to: error, algorithm.rawValue as String) { () throws(StatusError) in
        guard let algorithm = KeyAlgorithm(algorithm) else { throw .parameter }
        return Data(try plaintext.withSpan { text throws(StatusError) in try key.encrypt(text, algorithm) }) as NSData
    }
}

/// Decrypts with a private key; the text is copied into ordinary memory.
///
/// - Parameter error: errSecParam for an algorithm that the key does not support, and for an invalid ciphertext. PKCS#1
///   never reveals whether the padding was valid: an invalid one gives a random-looking text, and success.
public func SecKeyCreateDecryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ ciphertext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reporting(to: error, algorithm.rawValue as String) { () throws(StatusError) in
        guard let algorithm = KeyAlgorithm(algorithm) else { throw .parameter }
        return try ciphertext.withSpan { text throws(StatusError) in try key.decrypt(text, algorithm).leaving() }
    }
}

/// Computes the shared secret of two keys of the same curve, copied into ordinary memory.
///
/// - Parameters:
///   - parameters: `SecKeyKeyExchangeParameter.requestedSize`, 1 to 16,777,216 bytes, required by the algorithms with
///     X963, and `.sharedInfo`.
///   - error: errSecParam for a key of another curve, an algorithm other than a key exchange, or a missing size.
public func SecKeyCopyKeyExchangeResult(
    _ privateKey: SecKey, _ algorithm: SecKeyAlgorithm, _ publicKey: SecKey, _ parameters: CFDictionary,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reporting(to: error, algorithm.rawValue as String) { () throws(StatusError) in
        guard let algorithm = KeyAlgorithm(algorithm) else { throw .parameter }
        let size = KeyNumber.parse(parameters[SecKeyKeyExchangeParameter.requestedSize.rawValue])
        let information = parameters[SecKeyKeyExchangeParameter.sharedInfo.rawValue]
        guard information == nil || information is NSData else { throw .parameter }
        let shared = try (information as? NSData ?? NSData()).withSpan { bytes throws(StatusError) in
            try privateKey.exchange(with: publicKey, algorithm, size: size, sharedInformation: bytes)
        }
        return shared.leaving()
    }
}
