// SPDX-License-Identifier: Apache-2.0
// Sources from before Swift 6 force-unwrap values that they know to exist.
// swift-format-ignore-file: NeverForceUnwrap
import Foundation
import Security

/// Key calls as written by applications from before Swift 6.
struct SigningKeys {
    private let tag = "com.example.older.key".data(using: .utf8)!

    func makeKey() throws -> SecKey {
        var error: Unmanaged<CFError>?
        guard
            let access = SecAccessControlCreateWithFlags(
                kCFAllocatorDefault, kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, .privateKeyUsage, &error)
        else { throw error!.takeRetainedValue() as Error }
        let attributes: NSDictionary = [
            kSecAttrKeyType: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeySizeInBits: 256,
            kSecPrivateKeyAttrs: [
                kSecAttrIsPermanent: true,
                kSecAttrApplicationTag: tag,
                kSecAttrAccessControl: access,
            ] as NSDictionary,
        ]
        guard let key = SecKeyCreateRandomKey(attributes, &error) else {
            throw error!.takeRetainedValue() as Error
        }
        return key
    }

    func findKey() -> SecKey? {
        let query: [String: Any] = [
            kSecClass as String: kSecClassKey, kSecAttrApplicationTag as String: tag,
            kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom, kSecReturnRef as String: true,
        ]
        var item: CFTypeRef?
        guard SecItemCopyMatching(query as CFDictionary, &item) == errSecSuccess else { return nil }
        return (item as! SecKey)
    }

    func fallsBack() -> Bool {
        var error: Unmanaged<CFError>?
        let attributes =
            [
                kSecAttrTokenID as String: kSecAttrTokenIDSecureEnclave,
                kSecAttrKeyType as String: kSecAttrKeyTypeEC, kSecAttrKeySizeInBits as String: 256,
            ] as [String: Any]
        guard SecKeyCreateRandomKey(attributes as CFDictionary, &error) == nil else { return false }
        let failure = error!.takeRetainedValue() as Error as NSError
        return failure.domain == NSOSStatusErrorDomain && failure.code == errSecUnimplemented
    }

    func exchanges(_ key: SecKey, with peer: SecKey) -> Bool {
        let algorithm: SecKeyAlgorithm = .ecdhKeyExchangeStandardX963SHA256
        guard SecKeyIsAlgorithmSupported(key, .keyExchange, algorithm) else { return false }
        let parameters: [String: Any] = [
            SecKeyKeyExchangeParameter.requestedSize.rawValue as String: 32,
            SecKeyKeyExchangeParameter.sharedInfo.rawValue as String: Data("info".utf8),
        ]
        var error: Unmanaged<CFError>?
        let first =
            SecKeyCopyKeyExchangeResult(
                key, algorithm, SecKeyCopyPublicKey(peer)!, parameters as CFDictionary, &error) as Data?
        let second = SecKeyCopyKeyExchangeResult(
            peer, algorithm, SecKeyCopyPublicKey(key)!,
            [.requestedSize: 32, .sharedInfo: Data("info".utf8)] as [SecKeyKeyExchangeParameter: Any] as CFDictionary,
            &error)
        return first != nil && first == second as Data?
    }

    /// - Returns: The expectations that failed.
    func check() throws -> [String] {
        var failures: [String] = []
        if findKey() != nil { failures.append("there is a key already") }
        let key = try makeKey()
        guard let found = findKey(), let publicKey = SecKeyCopyPublicKey(found) else { return ["no key"] }
        let message = "message".data(using: .utf8)!
        var error: Unmanaged<CFError>?
        guard
            let signature = SecKeyCreateSignature(
                found, .ecdsaSignatureMessageX962SHA256, message as CFData, &error) as Data?
        else { throw error!.takeRetainedValue() as Error }
        if !SecKeyVerifySignature(
            publicKey, .ecdsaSignatureMessageX962SHA256, message as CFData, signature as CFData, &error)
        {
            failures.append("the signature does not verify")
        }
        if CFGetTypeID(key) != SecKeyGetTypeID() || key != found { failures.append("the key is another one") }
        if !fallsBack() { failures.append("there is a token") }
        if !exchanges(key, with: found) { failures.append("no exchange") }
        guard let attributes = SecKeyCopyAttributes(publicKey) as? [CFString: Any],
            attributes[kSecAttrKeySizeInBits] as? Int == 256,
            (attributes[kSecAttrKeyType] as? String) == (kSecAttrKeyTypeECSECPrimeRandom as String)
        else { return failures + ["the attributes are others"] }
        if SecItemDelete([kSecClass: kSecClassKey, kSecAttrApplicationTag: tag] as CFDictionary) != errSecSuccess
            || findKey() != nil
        {
            failures.append("the key cannot be deleted")
        }
        return failures
    }
}
