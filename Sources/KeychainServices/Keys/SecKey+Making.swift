// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import VaultCrypto
@_implementationOnly import VaultFormat

/// Generates a key pair, and stores it if requested.
///
/// - Parameters:
///   - parameters: `kSecAttrKeyType` (RSA or EC), `kSecAttrKeySizeInBits` (RSA 512 to 8,192; 256, 384 or 521), and
///     attributes of both keys; `kSecPrivateKeyAttrs` and `kSecPublicKeyAttrs` contain those of one. A key whose
///     `kSecAttrIsPermanent` is true is added to the vault, both in one transaction.
///   - error: errSecParam; errSecUnimplemented for a token, which is not supported, and without libcrypto; the errors
///     of ``SecItemAdd(_:_:)``. Nothing is stored on error.
/// - Returns: the private key.
public func SecKeyCreateRandomKey(
    _ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    unsafe reporting(to: error) { () throws(StatusError) in
        let order = try KeyOrder(parameters)
        return try order.store(try order.make())
    }
}

/// Generates a key pair like ``SecKeyCreateRandomKey(_:_:)``.
///
/// - Parameters:
///   - publicKey, privateKey: receive the keys; untouched on every error. May be `nil`.
@discardableResult
public func SecKeyGeneratePair(
    _ parameters: CFDictionary, _ publicKey: UnsafeMutablePointer<SecKey?>?,
    _ privateKey: UnsafeMutablePointer<SecKey?>?
) -> OSStatus {
    do throws(StatusError) {
        let order = try KeyOrder(parameters)
        let key = try order.store(try order.make())
        // The caller's pointers are valid for the duration of the call.
        unsafe publicKey?.pointee = key.publicKey
        unsafe privateKey?.pointee = key
        return errSecSuccess
    } catch { return error.status }
}

/// Makes a key from its external representation.
///
/// - Parameters:
///   - keyData: for RSA PKCS#1, or SubjectPublicKeyInfo for a public key; for a curve 4, x, y, and for a private key
///     the private scalar. The numbers are checked for consistency.
///   - attributes: `kSecAttrKeyType` and `kSecAttrKeyClass`, as numbers or their texts.
///   - error: errSecParam; errSecUnimplemented for symmetric keys and tokens, and without libcrypto.
public func SecKeyCreateWithData(
    _ keyData: CFData, _ attributes: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    unsafe reporting(to: error) { () throws(StatusError) in
        guard attributes[kSecAttrTokenID] == nil else { throw StatusError(status: errSecUnimplemented) }
        let isPrivate: Bool
        switch KeyNumber.parse(attributes[kSecAttrKeyClass]) {
        case 0: isPrivate = false
        case 1: isPrivate = true
        case 2: throw StatusError(status: errSecUnimplemented)
        default: throw .parameter
        }
        guard let isRSA = KeyNumber.isRSA(attributes[kSecAttrKeyType]) else { throw .parameter }
        let key: SecKey?
        if isPrivate {
            let secret = try converting { () throws(CryptoError) in
                try Secret(copying: keyData)
            }
            key = SecKey.privateKey(secret, isRSA: isRSA)
        } else {
            key = SecKey.publicKey(imported: Array(keyData as Data), isRSA: isRSA)
        }
        guard let key else { throw .parameter }
        let numbers = try key.asymmetricKey()
        try converting { () throws(CryptoError) in try numbers.check() }
        return key
    }
}

/// Returns the bytes of a key for ``SecKeyCreateWithData(_:_:_:)``, copied into ordinary memory.
public func SecKeyCopyExternalRepresentation(
    _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reporting(to: error) { () throws(StatusError) in
        guard let secret = try key.secret() else { return Data(key.publicRepresentation) as NSData }
        return secret.bytes.leaving()
    }
}

/// Returns the attributes of a key. Only those of a public key include its bytes: a caller that needs the size should
/// not get a copy of a private key.
public func SecKeyCopyAttributes(_ key: SecKey) -> CFDictionary? {
    guard let attributes = try? key.itemAttributes else { return nil }
    var dictionary = ResultDictionary()
    dictionary.add(attributes)
    dictionary.add(kSecClass, kSecClassKey)
    dictionary.add(kSecAttrKeyType, key.isRSA ? kSecAttrKeyTypeRSA : kSecAttrKeyTypeECSECPrimeRandom)
    dictionary.add(kSecAttrKeyClass, key.isPrivate ? kSecAttrKeyClassPrivate : kSecAttrKeyClassPublic)
    if !key.isPrivate { dictionary.add(kSecValueData, Data(key.publicRepresentation) as NSData) }
    return dictionary.object
}

/// Returns the public key of a pair, or a public key itself.
public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? { key.publicKey }

/// Returns the block size in bytes: that of the modulus for RSA, that of the field for a curve (32, 48, 66).
public func SecKeyGetBlockSize(_ key: SecKey) -> Int { key.blockLength }

/// Returns whether the key's type, class and size allow the operation.
public func SecKeyIsAlgorithmSupported(
    _ key: SecKey, _ operation: SecKeyOperationType, _ algorithm: SecKeyAlgorithm
) -> Bool {
    KeyAlgorithm(algorithm)?.isSupported(by: key, for: operation) ?? false
}

/// Apple's numeric constants, which dictionaries contain as numbers or as their texts.
enum KeyNumber {
    /// Returns the number; `nil` if the value is neither a number nor the canonical text of one.
    static func parse(_ value: Any?) -> Int? {
        switch value {
        case let number as NSNumber where !isBoolean(number): return Int(exactly: number)
        case let text as NSString:
            let text = text as String
            return Int(text).flatMap { "\($0)" == text ? $0 : nil }
        default: return nil
        }
    }

    /// Returns whether the type is RSA; `nil` for an unsupported type.
    static func isRSA(_ type: Any?) -> Bool? {
        switch parse(type) {
        case 42: true
        case 73: false
        default: nil
        }
    }
}

extension SecKey {
    /// Makes a public key from its external representation; for RSA also from a SubjectPublicKeyInfo (RFC 5280, 4.1).
    static func publicKey(imported bytes: [UInt8], isRSA: Bool) -> SecKey? {
        if let key = publicKey(bytes, isRSA: isRSA) { return key }
        guard isRSA, case .rsa(let representation)? = SubjectPublicKey(bytes.span) else { return nil }
        return publicKey(representation, isRSA: true)
    }
}
