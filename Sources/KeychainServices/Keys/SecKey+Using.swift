// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import VaultCrypto

/// Signs a message or a digest.
///
/// - Parameter error: errSecParam for an algorithm that is not this key's, a digest of another length, a raw block that
///   is too long.
public func SecKeyCreateSignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ dataToSign: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reporting(to: error, algorithm.rawValue as String) { () throws(StatusError) in
        guard let algorithm = KeyAlgorithm(algorithm) else { throw .parameter }
        return Data(try dataToSign.withSpan { data throws(StatusError) in try key.sign(data, algorithm) }) as NSData
    }
}

/// Checks a signature.
///
/// - Parameter error: errSecVerifyFailed whatever is wrong with the signature; errSecParam as
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
/// - Parameter error: errSecParam for an algorithm that is not this key's, and for a text that is too long for it.
public func SecKeyCreateEncryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plaintext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reporting(to: error, algorithm.rawValue as String) { () throws(StatusError) in
        guard let algorithm = KeyAlgorithm(algorithm) else { throw .parameter }
        return Data(try plaintext.withSpan { text throws(StatusError) in try key.encrypt(text, algorithm) }) as NSData
    }
}

/// Decrypts with a private key; the text leaves its protection here.
///
/// - Parameter error: errSecParam for an algorithm that is not this key's, and for a ciphertext that does not open.
///   PKCS#1 never tells whether the padding was right: a wrong one gives a text that looks random, and success.
public func SecKeyCreateDecryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ ciphertext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reporting(to: error, algorithm.rawValue as String) { () throws(StatusError) in
        guard let algorithm = KeyAlgorithm(algorithm) else { throw .parameter }
        return try ciphertext.withSpan { text throws(StatusError) in try key.decrypt(text, algorithm).leaving() }
    }
}

/// Makes the secret that two keys of one curve share; it leaves its protection here.
///
/// - Parameters:
///   - parameters: `SecKeyKeyExchangeParameter.requestedSize`, 1 to 16,777,216 bytes, which the algorithms with X963
///     need, and `.sharedInfo`.
///   - error: errSecParam for a key of another curve, an algorithm that is none, and without a size that is needed.
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
