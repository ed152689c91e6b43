// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
package import Vault
internal import VaultCrypto
internal import VaultFormat

/// A passkey with its secrets opened, as products exchange it.
package struct PortablePasskey: Sendable {
    package let passkey: Passkey
    /// PKCS#8 in DER, byte for byte as the source has it.
    let key: Secret
    /// 1 to 64 bytes.
    let userHandle: Secret
    /// The key of the extension `prf`: 32 bytes.
    let pseudoRandomKey: Secret?
    /// Statements of the source that have no part of their own, by ``Statement`` and as text: an export to a format
    /// that has room for them repeats them.
    var attributes: [String: String] = [:]
    var fields: [String: Secret] = [:]

    /// The names of statements.
    enum Statement {
        /// The time of creation, as Bitwarden writes it.
        static let created = "passkey.created"
        /// Whether sites find the passkey without its identifier, where Bitwarden denies it.
        static let discoverable = "passkey.discoverable"
        /// The flags of KeePass databases, such as `BE=1 BS=0`; `none` for KeePassXC, which has none.
        static let flags = "passkey.flags"
        /// The key as text, where it is not in the form that KeePassXC writes.
        static let pem = "passkey.pem"
        /// CXF's second key of the extension `hmac-secret`, 32 bytes, where it differs from that of `prf`.
        static let unverifiedPseudoRandomKey = "passkey.prf-without-uv"
        /// CXF's other extensions, in JSON.
        static let extensions = "passkey.fido2-extensions"
        /// The prefix of the names of members that this version does not know, in JSON.
        static let member = "passkey.member."
    }

    /// The bytes of a name at most.
    static let longestName = 256

    /// - Parameters:
    ///   - relyingParty: the rpId.
    ///   - key: PKCS#8 in DER.
    ///   - pseudoRandomKey: 32 bytes.
    ///   - isBackupEligible: what sites were told (BE).
    /// - Returns: `nil` if no site could accept the passkey, such as one with another kind of key: its reader keeps the
    ///   parts as attributes and fields.
    /// - Throws: `.missing` without libcrypto.
    static func usable(
        _ relyingParty: String, _ names: Passkey.Names, credentialID: [UInt8], key: Secret, userHandle: Secret,
        pseudoRandomKey: Secret? = nil, counter: UInt32 = 0, isBackupEligible: Bool
    ) throws(ImportError) -> PortablePasskey? {
        guard isDomain(relyingParty), pseudoRandomKey.map({ $0.count == 32 }) ?? true,
            [names.relyingParty, names.user, names.display].allSatisfy({ $0.utf8.count <= longestName })
        else { return nil }
        do throws(CryptoError) {
            let passkey = try Passkey(
                relyingParty, names, credentialID: credentialID, key: key, userHandle: userHandle,
                pseudoRandomKey: pseudoRandomKey, counter: counter, isBackupEligible: isBackupEligible)
            return PortablePasskey(
                passkey: passkey, key: key, userHandle: userHandle, pseudoRandomKey: pseudoRandomKey)
        } catch {
            switch error {
            case .authenticationFailed: return nil
            case .unavailable: throw .missing("libcrypto 3", package: "libssl3")
            default: throw .cryptography(error)
            }
        }
    }

    /// Returns whether a text is a domain in ASCII and lower case, as an rpId is.
    private static func isDomain(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count) && !text.hasPrefix(".") && !text.hasSuffix(".")
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "-"), UInt8(ascii: "."): true
                default: false
                }
            }
    }

    private init(passkey: Passkey, key: Secret, userHandle: Secret, pseudoRandomKey: Secret?) {
        (self.passkey, self.key, self.userHandle) = (passkey, key, userHandle)
        self.pseudoRandomKey = pseudoRandomKey
    }

    /// Opens a stored passkey.
    ///
    /// - Throws: the vault's error if a secret cannot be opened.
    init(_ passkey: Passkey) throws(VaultError) {
        self.init(
            passkey: passkey, key: try passkey.exportedKey(), userHandle: try passkey.userHandle(),
            pseudoRandomKey: try passkey.pseudoRandomKey())
        attributes = passkey.furtherAttributes
        for name in passkey.furtherFields { fields[name] = try passkey.item.openedSecret(field: name) }
    }

    /// Whether the source stated extensions other than `prf`.
    var hasFurtherExtensions: Bool {
        fields[Statement.extensions] != nil || fields[Statement.unverifiedPseudoRandomKey] != nil
    }

    /// Returns the members that the source's version did not know, in JSON.
    ///
    /// - Parameter isFitting: whether the name may be written.
    func furtherMembers(_ isFitting: (String) -> Bool) -> [(String, JSONOutput)] {
        fields.sorted { $0.key < $1.key }.compactMap { field, value in
            let name = String(field.dropFirst(Statement.member.count))
            let isMember = field.hasPrefix(Statement.member) && value.isShallowJSON() && isFitting(name)
            return isMember ? (name, .source(value)) : nil
        }
    }

    /// Removes the statements that an item has no room for: any file may have members of any length and name.
    ///
    /// - Returns: whether all of them stay.
    mutating func keepFittingStatements() -> Bool {
        func isFitting(_ name: String) -> Bool {
            (1...255).contains(name.utf8.count)
                && !name.unicodeScalars.contains { $0.properties.generalCategory == .control }
        }
        let count = attributes.count + fields.count
        attributes = attributes.filter { isFitting($0.key) && $0.value.utf8.count <= PortablePasskey.longestStatement }
        fields = fields.filter { isFitting($0.key) && $0.value.count <= PortablePasskey.longestSecretStatement }
        if fields.count > PortablePasskey.mostStatements { fields = [:] }
        return attributes.count + fields.count == count
    }

    /// The limits of statements, in bytes and in number; a key of RSA as text has 13 KiB at most.
    private static let longestStatement = 4096
    private static let longestSecretStatement = 65_536
    private static let mostStatements = 32

    /// Returns the item to be stored.
    ///
    /// - Parameters:
    ///   - source: the value of ``ItemNames/source``.
    ///   - created: the time of creation at the source.
    ///   - group: the access group; `nil` for the store's first one.
    func item(source: String, created: Date?, in group: String?) -> Item {
        var item = passkey.item
        item[.creationDate] = created.map(AttributeValue.date)
        item.userAttributes.merge(attributes) { own, _ in own }
        item.userAttributes[ItemNames.source] = source
        item.userAttributes[ItemNames.made] = Maker.of(importFrom: String(source.prefix { $0 != ":" }))
        item.fields.merge(fields) { own, _ in own }
        if let group { item[.accessGroup] = .string(group) }
        return item
    }
}
