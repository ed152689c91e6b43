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
    /// Statements of the source without a part of their own, by ``Statement``, for exports that have room for them.
    var attributes: [String: String] = [:]
    var fields: [String: Secret] = [:]

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

    static let longestName = 256

    /// The names of a passkey's members in the JSON of a product.
    struct Members {
        let credential, relyingParty, user, displayName, userHandle, key: String
        /// The other members that the product's reader knows.
        let others: Set<String>

        var all: Set<String> { others.union([credential, relyingParty, user, displayName, userHandle, key]) }

        /// Reads a passkey, whose members that are not known become statements; `nil` if no site could accept it.
        func usable(
            _ passkey: JSONValue, _ id: [UInt8], siteName: String, pseudoRandomKey: Secret? = nil, counter: UInt32 = 0,
            isBackupEligible: Bool
        ) throws(ImportError) -> PortablePasskey? {
            func text(_ member: String) -> String { passkey[member]?.text ?? "" }
            guard let key = try passkey[key]?.decodedBase64URL(),
                let userHandle = try passkey[userHandle]?.decodedBase64URL()
            else { return nil }
            let names = Passkey.Names(relyingParty: siteName, user: text(user), display: text(displayName))
            var usable = try PortablePasskey.usable(
                text(relyingParty), names, credentialID: id, key: key, userHandle: userHandle,
                pseudoRandomKey: pseudoRandomKey, counter: counter, isBackupEligible: isBackupEligible)
            let known = all
            for (member, value) in passkey.members where !known.contains(member) {
                usable?.fields[Statement.member + member] = try value.source()
            }
            return usable
        }
    }

    /// - Parameter isBackupEligible: what sites were told (BE).
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
            return PortablePasskey(passkey: passkey, key: key, userHandle: userHandle, pseudoRandomKey: pseudoRandomKey)
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
            && text.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-.".utf8.contains($0) }
    }

    var hasFurtherExtensions: Bool {
        fields[Statement.extensions] != nil || fields[Statement.unverifiedPseudoRandomKey] != nil
    }

    /// Returns the members that the source's version did not know, in JSON: another product's may have known names.
    func furtherMembers(beside known: Members) -> [(String, JSONOutput)] {
        fields.sorted { $0.key < $1.key }.compactMap { field, value in
            let name = String(field.dropFirst(Statement.member.count))
            let isMember = field.hasPrefix(Statement.member) && value.isShallowJSON() && !known.all.contains(name)
            return isMember ? (name, .source(value)) : nil
        }
    }

    /// Removes the statements that an item has no room for, of any length and name; returns whether all stay.
    mutating func keepFittingStatements() -> Bool {
        func isFitting(_ name: String) -> Bool {
            (1...255).contains(name.utf8.count)
                && !name.unicodeScalars.contains { $0.properties.generalCategory == .control }
        }
        let count = attributes.count + fields.count
        attributes = attributes.filter { isFitting($0.key) && $0.value.utf8.count <= 4096 }
        // A key of RSA as text has 13 KiB at most.
        fields = fields.filter { isFitting($0.key) && $0.value.count <= 65_536 }
        if fields.count > 32 { fields = [:] }
        return attributes.count + fields.count == count
    }

    /// Returns the item to be stored; without a group, it gets the store's first one.
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

extension PortablePasskey {
    init(_ passkey: Passkey) throws(ImportError) {
        do throws(VaultError) {
            self.init(
                passkey: passkey, key: try passkey.exportedKey(), userHandle: try passkey.userHandle(),
                pseudoRandomKey: try passkey.pseudoRandomKey())
        } catch { throw .outside(error) }
        attributes = passkey.furtherAttributes
        for name in passkey.furtherFields { fields[name] = try passkey.item.opened(name) }
    }
}
