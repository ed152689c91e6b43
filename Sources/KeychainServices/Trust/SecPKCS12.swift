// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import VaultCrypto

// Raw values of Apple's SecImportExport.c. `nonisolated(unsafe)`: see SecItemKeys.swift.

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
///   - options: `kSecImportExportPassphrase`, a string; without it the passphrase is empty. With
///     `kSecUseDataProtectionKeychain` true each identity, and the certificates of the file that lead from it to an
///     anchor, are added to the vault; other keys are attributes of the identity then. Else nothing is stored.
///   - items: gets an array of one dictionary per identity, untouched on every error: `kSecImportItemIdentity`,
///     `kSecImportItemTrust`, which has the basic policy and all certificates of the file, `kSecImportItemCertChain`,
///     `kSecImportItemKeyID`, and `kSecImportItemLabel` if the file names the key. A file without private keys has
///     none.
/// - Returns: errSecSuccess; errSecAuthFailed for a wrong or missing passphrase; errSecDecode for what is no such file,
///   is damaged or too large, wants more than 10,000,000 rounds to derive a key, or has a cipher or a key of a kind
///   that is not known; errSecParam for a passphrase that is no string; errSecUnimplemented without libcrypto; what
///   ``SecItemAdd(_:_:)`` ends with.
@discardableResult
public func SecPKCS12Import(
    _ pkcs12_data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    do throws(StatusError) {
        let order = try ImportOrder(options)
        let found = try order.identities(of: pkcs12_data)
        for identity in found { try order.store(identity) }
        // The caller's pointer is valid for the length of the call.
        unsafe items.pointee = found.map(\.dictionary) as NSArray
        return errSecSuccess
    } catch { return error.status }
}

/// What the options of an import say.
private struct ImportOrder {
    private let passphrase: NSString?
    /// Nil: nothing is stored.
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
            // The file says which certificate is the key's, and the certificate says it too, which counts.
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
        // The caller has the passphrase as a string, because Apple's signature says so; this copy of it is wiped.
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

    /// A key whose numbers fit each other.
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

/// One result of an import.
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

    /// SHA-1 of the public key, for a file that does not say what the key has in common with its certificate.
    private static func keyID(_ key: SecKey) -> NSData? {
        SecKeyCopyAttributes(key)?[kSecAttrApplicationLabel] as? NSData
    }
}

/// Adds an identity and the certificates above it to the vault. What is there already stays as it is.
///
/// - Parameters:
///   - chain: the issuers of the identity's certificate.
///   - attributes: of the identity; of the others those that say where and for whom it is stored.
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
