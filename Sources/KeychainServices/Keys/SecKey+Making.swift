// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import VaultCrypto
@_implementationOnly import VaultFormat

/// Makes a key pair, and stores it if that is asked for.
///
/// - Parameters:
///   - parameters: `kSecAttrKeyType` (RSA or EC), `kSecAttrKeySizeInBits` (RSA 512 to 8,192; 256, 384 or 521), and
///     attributes of both keys; `kSecPrivateKeyAttrs` and `kSecPublicKeyAttrs` have those of one. A key whose
///     `kSecAttrIsPermanent` is true is added to the vault, both in one transaction.
///   - error: errSecParam; errSecUnimplemented for a token, of which there are none, and without libcrypto; what
///     ``SecItemAdd(_:_:)`` ends with. Nothing is stored then.
/// - Returns: the private key.
public func SecKeyCreateRandomKey(
    _ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    unsafe reporting(to: error) { () throws(StatusError) in
        let order = try KeyOrder(parameters)
        return try order.store(try order.make())
    }
}

/// Makes a key pair as ``SecKeyCreateRandomKey(_:_:)`` does.
///
/// - Parameters:
///   - publicKey, privateKey: get the keys; untouched on every error. Nil is fine.
@discardableResult
public func SecKeyGeneratePair(
    _ parameters: CFDictionary, _ publicKey: UnsafeMutablePointer<SecKey?>?,
    _ privateKey: UnsafeMutablePointer<SecKey?>?
) -> OSStatus {
    do throws(StatusError) {
        let order = try KeyOrder(parameters)
        let key = try order.store(try order.make())
        // The caller's pointers are valid for the length of the call.
        unsafe publicKey?.pointee = key.publicKey
        unsafe privateKey?.pointee = key
        return errSecSuccess
    } catch { return error.status }
}

/// Makes a key of its external representation.
///
/// - Parameters:
///   - keyData: RSA in PKCS#1, a public key also as SubjectPublicKeyInfo; of a curve 4, x, y, and of a private key the
///     private number. All of its numbers are checked against each other.
///   - attributes: `kSecAttrKeyType` and `kSecAttrKeyClass`, numbers or their texts.
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

/// The bytes of a key, as ``SecKeyCreateWithData(_:_:_:)`` takes them: here they leave their protection.
public func SecKeyCopyExternalRepresentation(
    _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe reporting(to: error) { () throws(StatusError) in
        guard let secret = try key.secret() else { return Data(key.publicRepresentation) as NSData }
        return secret.bytes.leaving()
    }
}

/// What is known of a key, with the names of attributes. The bytes are there of public keys alone: a caller that wants
/// to know a size should not get a copy of a private key with it.
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

/// The public key of a pair; a public key itself.
public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? { key.publicKey }

/// The bytes of a block: of RSA those of the modulus, of a curve those of its numbers (32, 48, 66).
public func SecKeyGetBlockSize(_ key: SecKey) -> Int { key.blockLength }

/// Whether the key's type, class and size allow the operation.
public func SecKeyIsAlgorithmSupported(
    _ key: SecKey, _ operation: SecKeyOperationType, _ algorithm: SecKeyAlgorithm
) -> Bool {
    KeyAlgorithm(algorithm)?.isSupported(by: key, for: operation) ?? false
}

/// Numbers of Apple's that stand in dictionaries as numbers or as their texts.
enum KeyNumber {
    /// Nil: it is neither a number nor the canonical text of one.
    static func parse(_ value: Any?) -> Int? {
        switch value {
        case let number as NSNumber where !isBoolean(number): return Int(exactly: number)
        case let text as NSString:
            let text = text as String
            return Int(text).flatMap { "\($0)" == text ? $0 : nil }
        default: return nil
        }
    }

    /// Nil: no type of keys that there is.
    static func isRSA(_ type: Any?) -> Bool? {
        switch parse(type) {
        case 42: true
        case 73: false
        default: nil
        }
    }
}

extension SecKey {
    /// A public key of its external representation; of RSA also of a SubjectPublicKeyInfo (RFC 5280, 4.1).
    static func publicKey(imported bytes: [UInt8], isRSA: Bool) -> SecKey? {
        if let key = publicKey(bytes, isRSA: isRSA) { return key }
        guard isRSA, case .rsa(let representation)? = SubjectPublicKey(bytes.span) else { return nil }
        return publicKey(representation, isRSA: true)
    }
}
