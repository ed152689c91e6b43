// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import VaultCrypto

// The raw values of Apple's SecImportExport.c. `nonisolated(unsafe)`: see SecItemKeys.swift.

@safe nonisolated(unsafe) public let kSecImportExportPassphrase: CFString = "passphrase"
@safe nonisolated(unsafe) public let kSecImportExportKeychain: CFString = "keychain"
@safe nonisolated(unsafe) public let kSecImportExportAccess: CFString = "access"
@safe nonisolated(unsafe) public let kSecImportToMemoryOnly: CFString = "memory"
@safe nonisolated(unsafe) public let kSecImportItemLabel: CFString = "label"
@safe nonisolated(unsafe) public let kSecImportItemKeyID: CFString = "keyid"
@safe nonisolated(unsafe) public let kSecImportItemTrust: CFString = "trust"
@safe nonisolated(unsafe) public let kSecImportItemCertChain: CFString = "chain"
@safe nonisolated(unsafe) public let kSecImportItemIdentity: CFString = "identity"

/// Reads the identities of a PKCS#12 file: private keys with their certificates.
///
/// - Parameters:
///   - pkcs12_data: at most 16 MiB.
///   - options: `kSecImportExportPassphrase`, a string; the passphrase is empty by default. If
///     `kSecUseDataProtectionKeychain` is true, each identity, and the certificates of the file that lead from it to an
///     anchor, are added to the vault, and further keys are attributes of the identity. Otherwise nothing is stored.
///   - items: receives an array with one dictionary per identity, untouched on every error: `kSecImportItemIdentity`,
///     `kSecImportItemTrust`, with the basic policy and all certificates of the file, `kSecImportItemCertChain`,
///     `kSecImportItemKeyID`, and `kSecImportItemLabel` if the file names the key. Empty for a file without private
///     keys.
/// - Returns: errSecSuccess; errSecAuthFailed for a wrong or missing passphrase; errSecDecode for a file in another
///   format, damaged or too large, with more than 10,000,000 rounds of key derivation, or with an unknown cipher or
///   type of key; errSecParam for a passphrase that is not a string; errSecUnimplemented without libcrypto; the errors
///   of ``SecItemAdd(_:_:)``.
@discardableResult
public func SecPKCS12Import(
    _ pkcs12_data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    do throws(StatusError) {
        let order = try ImportOrder(options)
        let found = try order.identities(of: pkcs12_data)
        for identity in found { try order.store(identity) }
        // The caller's pointer is valid for the duration of the call.
        unsafe items.pointee = found.map(\.dictionary) as NSArray
        return errSecSuccess
    } catch { return error.status }
}

/// The options of an import.
private struct ImportOrder {
    private let passphrase: NSString?
    /// The attributes for storing; `nil` to store nothing.
    private let attributes: [String: Any]?

    init(_ options: NSDictionary) throws(StatusError) {
        let passphrase = options[kSecImportExportPassphrase]
        guard passphrase == nil || passphrase is NSString else { throw .parameter }
        self.passphrase = passphrase as? NSString
        let isStored = (options[kSecUseDataProtectionKeychain] as? NSNumber)?.boolValue ?? false
        let isInMemory = (options[kSecImportToMemoryOnly] as? NSNumber)?.boolValue ?? false
        guard isStored, !isInMemory else {
            attributes = nil
            return
        }
        let own: Set<NSString> = [
            kSecImportExportPassphrase, kSecImportExportKeychain, kSecImportExportAccess, kSecImportToMemoryOnly,
            kSecUseDataProtectionKeychain,
        ]
        var attributes: [String: Any] = [:]
        for (key, value) in options.entries {
            guard let name = key as? NSString, !own.contains(name) else { continue }
            attributes[name as String] = value
        }
        self.attributes = attributes
    }

    func identities(of data: NSData) throws(StatusError) -> [ImportedIdentity] {
        let file = try read(data)
        let certificates = file.certificates.compactMap { certificate in
            SecCertificate(Data(certificate.bytes)).map { (certificate, $0) }
        }
        var found: [ImportedIdentity] = []
        for key in file.keys {
            let made = try ImportOrder.key(key)
            // The file's assignment of certificates to keys is only a hint; a certificate's own public key decides.
            let named = certificates.filter { $0.0.keyID != nil && $0.0.keyID == key.keyID }
            guard
                let own = (named + certificates).first(where: { _, certificate in
                    SecCertificateCopyKey(certificate)?.isEqual(made.publicKey) ?? false
                })
            else { continue }
            let others = certificates.map(\.1).filter { !$0.isEqual(own.1) }
            found.append(
                ImportedIdentity(
                    SecIdentity(certificate: own.1, key: made), others: others, keyID: key.keyID ?? own.0.keyID,
                    name: key.name ?? own.0.name))
        }
        return found
    }

    private func read(_ data: NSData) throws(StatusError) -> PersonalInformationFile {
        // Apple's signature takes the passphrase as a string, in ordinary memory; this copy is wiped.
        let text = (passphrase ?? "") as String
        let password = try converting { () throws(CryptoError) in Secret(try SecretBytes(copying: text.utf8.span)) }
        do throws(PersonalInformationFileError) {
            return try data.withSpan { bytes throws(PersonalInformationFileError) in
                try PersonalInformationFile(bytes, password: password.bytes)
            }
        } catch {
            switch error {
            case .wrongPassword: throw StatusError(status: errSecAuthFailed)
            case .damaged, .unknownAlgorithm, .tooMuch: throw StatusError(status: errSecDecode)
            case .outOfMemory: throw StatusError(status: errSecAllocate)
            case .unavailable: throw StatusError(.unavailable)
            }
        }
    }

    /// Returns a key whose numbers are consistent.
    private static func key(_ key: PersonalInformationFile.Key) throws(StatusError) -> SecKey {
        guard let made = SecKey.privateKey(key.bytes, isRSA: key.isRSA) else { throw StatusError(status: errSecDecode) }
        let numbers = try made.asymmetricKey()
        try converting(refusal: errSecDecode) { () throws(CryptoError) in try numbers.check() }
        return made
    }

    func store(_ identity: ImportedIdentity) throws(StatusError) {
        guard let attributes else { return }
        let status = addImported(identity.identity, chain: identity.issuers, attributes: attributes)
        guard status == errSecSuccess else { throw StatusError(status: status) }
    }
}

/// A result of an import.
private struct ImportedIdentity {
    let identity: SecIdentity
    let dictionary: NSDictionary
    /// The certificates of the file that lead to an anchor, from the identity's issuer on.
    let issuers: [SecCertificate]

    init(_ identity: SecIdentity, others: [SecCertificate], keyID: [UInt8]?, name: String?) {
        let trust = SecTrust(
            TrustQuestion(judged: identity.certificate, others: others, policies: [SecPolicyCreateBasicX509()]))
        let chain = trust.judged().chain
        self.identity = identity
        issuers = chain.dropFirst().filter { link in others.contains { $0.isEqual(link) } }
        let dictionary = NSMutableDictionary()
        dictionary[kSecImportItemIdentity] = identity
        dictionary[kSecImportItemTrust] = trust
        dictionary[kSecImportItemCertChain] = chain as NSArray
        dictionary[kSecImportItemKeyID] = keyID.map { Data($0) as NSData } ?? ImportedIdentity.keyID(identity.key)
        if let name { dictionary[kSecImportItemLabel] = name as NSString }
        self.dictionary = dictionary
    }

    /// SHA-1 of the public key, for a file that does not link the key to its certificate.
    private static func keyID(_ key: SecKey) -> NSData? {
        SecKeyCopyAttributes(key)?[kSecAttrApplicationLabel] as? NSData
    }
}

/// Adds an identity and the certificates above it to the vault. Existing items stay unchanged.
///
/// - Parameters:
///   - chain: the issuers of the identity's certificate.
///   - attributes: the attributes of the identity; those about storage and access also apply to the issuers.
func addImported(_ identity: SecIdentity, chain: [SecCertificate], attributes: [String: Any]) -> OSStatus {
    let places = [kSecAttrAccessGroup, kSecAttrAccessible, kSecAttrSynchronizable].map { $0 as String }
    let shared = attributes.filter { places.contains($0.key) }
    let items = [(identity as NSObject, attributes)] + chain.map { ($0 as NSObject, shared) }
    for (object, attributes) in items {
        let item = attributes.merging([kSecValueRef as String: object]) { $1 }
        let status = SecItemAdd(item as NSDictionary, nil)
        guard status == errSecSuccess || status == errSecDuplicateItem else { return status }
    }
    return errSecSuccess
}
