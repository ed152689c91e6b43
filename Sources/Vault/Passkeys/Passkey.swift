// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

/// A key for signing in to a site (WebAuthn): an item of the class `key`, whose secret is the private key in PKCS#8.
///
/// The public parts are user attributes; the identifier of the user, which only the site may know, and the key of the
/// extension `prf` are fields.
package struct Passkey: Sendable {
    private enum Name {
        static let prefix = "passkey."
        static let relyingParty = "passkey.rp"
        static let relyingPartyName = "passkey.rp-name"
        static let user = "passkey.user"
        static let displayName = "passkey.display-name"
        static let credential = "passkey.credential"
        static let backup = "passkey.backup"
        static let counter = "passkey.counter"
        // Fields.
        static let userHandle = "passkey.user-handle"
        static let pseudoRandom = "passkey.prf"

        static let attributes: Set = [
            relyingParty, relyingPartyName, user, displayName, credential, backup, counter,
        ]
        static let fields: Set = [userHandle, pseudoRandom]
    }

    /// The names that a site chose for itself and its user, at most 256 bytes each. A page may choose any text, also
    /// the name of another site.
    package struct Names: Hashable, Sendable {
        package var relyingParty = ""
        package var user = ""
        package var display = ""

        package init(relyingParty: String = "", user: String = "", display: String = "") {
            (self.relyingParty, self.user, self.display) = (relyingParty, user, display)
        }
    }

    /// The rpId: the domain of the site, in ASCII and lower case.
    package let relyingParty: String
    package let names: Names
    /// 1 to 1,023 bytes.
    package let credentialID: [UInt8]
    package let algorithm: COSEAlgorithm
    /// Whether the key may leave this device, as the site was told when the key was made (BE).
    package let isBackupEligible: Bool
    /// The number of signatures so far; 0 for a key that does not count.
    package let counter: UInt32
    /// The item: to be stored, or as it was found.
    package let item: Item

    // MARK: New ones

    /// Makes the passkey of a key that was made or imported.
    ///
    /// - Parameters:
    ///   - key: PKCS#8 in DER.
    ///   - userHandle: 1 to 64 bytes.
    ///   - pseudoRandomKey: 32 bytes; `nil` for a key without the extension `prf`.
    ///   - isBackupEligible: `nil` if the accessibility decides.
    ///   - group: the access group of the site's logins; `nil` for the store's first one.
    /// - Throws: `.authenticationFailed` for another kind of key, numbers that do not belong together, or an identifier
    ///   of another length; `.unavailable` without libcrypto 3.
    package init(
        _ relyingParty: String, _ names: Names, credentialID: [UInt8], key: Secret, userHandle: Secret,
        pseudoRandomKey: Secret? = nil, counter: UInt32 = 0, isBackupEligible: Bool? = nil,
        accessible: Accessibility = .whenUnlocked, group: String? = nil
    ) throws(CryptoError) {
        guard (1...AttestedCredential.longestID).contains(credentialID.count), (1...64).contains(userHandle.count)
        else {
            throw .authenticationFailed
        }
        let publicKey = try key.withBytes { bytes throws(CryptoError) in
            let key = try PasskeyKey(bytes)
            // With another public key, a site would never accept a signature.
            try key.check()
            return key.publicKey
        }
        let representation = publicKey.representation
        let label = try DigestAlgorithm.sha1.digest(of: representation.span)
        let isBackupEligible = isBackupEligible ?? !accessible.isThisDeviceOnly
        (self.relyingParty, self.names, self.credentialID) = (relyingParty, names, credentialID)
        (algorithm, self.counter, self.isBackupEligible) = (publicKey.algorithm, counter, isBackupEligible)
        let credential = Base64URL.encoded(credentialID)
        var user = [
            Name.relyingParty: relyingParty, Name.relyingPartyName: names.relyingParty, Name.user: names.user,
            Name.displayName: names.display, Name.credential: credential,
            Name.backup: isBackupEligible ? "true" : "false",
        ]
        if counter > 0 { user[Name.counter] = String(counter) }
        var fields = [Name.userHandle: userHandle]
        fields[Name.pseudoRandom] = pseudoRandomKey
        // The site and the credential are in the primary key: an import cannot add a passkey twice.
        let itemKey = ItemKey.key(applicationLabel: label, applicationTag: "\(relyingParty) \(credential)")
        var attributes = Passkey.attributes(of: publicKey)
        attributes[.label] = .string(names.user.isEmpty ? relyingParty : "\(names.user) @ \(relyingParty)")
        attributes[.accessGroup] = group.map(AttributeValue.string)
        item = Item(
            itemKey, attributes: attributes, userAttributes: user, accessible: accessible, secret: key, fields: fields)
    }

    /// The attributes that Apple's calls give to a private key of the kind.
    private static func attributes(of key: COSEKey) -> [Attribute: AttributeValue] {
        let size = AttributeValue.number(Int64(key.bits))
        return [
            .keyClass: 1, .type: .number(KeyType.number(of: key.algorithm)), .keySizeInBits: size,
            .effectiveKeySize: size, .isPermanent: true, .isPrivate: true, .isExtractable: true,
            .canSign: true, .canDecrypt: false, .canDerive: false,
        ]
    }

    /// The values of `kSecAttrKeyType`.
    private enum KeyType {
        static func number(of algorithm: COSEAlgorithm) -> Int64 {
            switch algorithm {
            case .es256: 73
            case .edDSA: 105
            case .rs256: 42
            }
        }

        static func algorithm(of value: AttributeValue?) -> COSEAlgorithm? {
            COSEAlgorithm.allCases.first { .number(number(of: $0)) == value }
        }
    }

    // MARK: Stored ones

    /// Fails for an item that lacks a part of a passkey: attributes are free, and any program may use the same names.
    package init?(_ item: Item) {
        let user = item.userAttributes
        guard item.itemClass == .key, item[.keyClass] == .number(1), let relyingParty = user[Name.relyingParty],
            !relyingParty.isEmpty, let credentialID = user[Name.credential].flatMap({ Base64URL.decoded($0) }),
            (1...AttestedCredential.longestID).contains(credentialID.count),
            let algorithm = KeyType.algorithm(of: item[.type]), item.fieldNames.contains(Name.userHandle)
        else { return nil }
        (self.relyingParty, self.credentialID, self.algorithm) = (relyingParty, credentialID, algorithm)
        names = Names(
            relyingParty: user[Name.relyingPartyName] ?? "", user: user[Name.user] ?? "",
            display: user[Name.displayName] ?? "")
        isBackupEligible = user[Name.backup] == "true"
        counter = user[Name.counter].flatMap { UInt32($0) } ?? 0
        self.item = item
    }

    /// Opens the private key, for one operation.
    ///
    /// - Throws: `.valueMismatch` if the secret is not the private key of a passkey; as ``Item/openedSecret(field:)``.
    package func key() throws(VaultError) -> PasskeyKey {
        let secret = try opened(nil)
        do throws(CryptoError) {
            return try secret.withBytes { bytes throws(CryptoError) in try PasskeyKey(bytes) }
        } catch { throw VaultError(error, field: "") }
    }

    /// Opens the private key in PKCS#8, byte for byte as it was imported, for an export.
    package func exportedKey() throws(VaultError) -> Secret { try opened(nil) }

    /// Opens the identifier of the user, which every sign-in tells the site.
    package func userHandle() throws(VaultError) -> Secret { try opened(Name.userHandle) }

    /// Opens the key of the extension `prf`: 32 bytes; `nil` for a passkey without the extension.
    package func pseudoRandomKey() throws(VaultError) -> Secret? {
        guard item.fieldNames.contains(Name.pseudoRandom) else { return nil }
        return try opened(Name.pseudoRandom)
    }

    /// Returns whether an attribute of a passkey is a part of every passkey.
    static func isPart(_ name: String) -> Bool { Name.attributes.contains(name) }

    /// The attributes that begin with `passkey.` and are not parts of every passkey: an import keeps statements of its
    /// source there.
    package var furtherAttributes: [String: String] {
        item.userAttributes.filter { $0.key.hasPrefix(Name.prefix) && !Name.attributes.contains($0.key) }
    }

    /// The names of such fields.
    package var furtherFields: [String] {
        item.fieldNames.filter { $0.hasPrefix(Name.prefix) && !Name.fields.contains($0) }.sorted()
    }

    private func opened(_ field: String?) throws(VaultError) -> Secret {
        guard let secret = try item.openedSecret(field: field) else { throw .valueMismatch(path: field ?? "") }
        return secret
    }

    /// The query for the passkeys of a site, or of all sites.
    package static func query(of relyingParty: String?, in group: String? = nil) -> Query {
        var query = Query(.key, attributes: [.keyClass: 1], limit: .all)
        query.userAttributes[Name.relyingParty] = relyingParty
        query.attributes[.accessGroup] = group.map(AttributeValue.string)
        return query
    }

    /// The changes that give a stored passkey what another copy of it has beyond it: the key of `prf`, and a larger
    /// number of signatures, below which a site may refuse the key; `nil` if there is nothing.
    package func completion(from copy: Passkey, pseudoRandomKey: Secret?) -> ItemChanges? {
        var changes = ItemChanges()
        if let pseudoRandomKey, !item.fieldNames.contains(Name.pseudoRandom) {
            changes.fields[Name.pseudoRandom] = .some(pseudoRandomKey)
        }
        if copy.counter > counter { changes.userAttributes[Name.counter] = .some(String(copy.counter)) }
        return changes.fields.isEmpty && changes.userAttributes.isEmpty ? nil : changes
    }

    /// The change that stores another number of signatures.
    static func change(toCounter counter: UInt32) -> ItemChanges {
        ItemChanges(userAttributes: [Name.counter: String(counter)])
    }
}

extension VaultError {
    /// An error of a key that was opened.
    init(_ error: CryptoError, field: String) {
        self = error == .authenticationFailed ? .valueMismatch(path: field) : .storage(StorageError(error))
    }
}
