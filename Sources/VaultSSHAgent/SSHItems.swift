// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
package import Vault
internal import VaultCrypto
internal import VaultFormat

/// The ssh keys of a vault: generic passwords of the service `ssh`, whose account is the key's fingerprint. The secret
/// is the key file, without a passphrase; the public parts are attributes.
package struct SSHItems: Sendable {
    package static let service = "ssh"

    private enum Name {
        static let type = "ssh.type"
        static let publicKey = "ssh.public"
        static let certificate = "ssh.certificate"
        static let confirm = "ssh.confirm"
    }

    private let store: any ItemStore
    private let group: String?

    /// - Parameter group: the access group of the keys; `nil` for any group of the store.
    package init(_ store: any ItemStore, in group: String? = nil) { (self.store, self.group) = (store, group) }

    /// A key in a listing.
    package struct Listed: Sendable {
        package let fingerprint: String
        package let comment: String
        package let bits: Int
        package let kind: String
        package let isConfirmed: Bool
        /// The key, and its certificate, as lines of authorized_keys(5) without the comment.
        package let lines: [String]
        package let item: Item
    }

    /// The keys, in the order in which they were added.
    package func listed() throws(VaultError) -> [Listed] {
        try found().map { found in
            let (key, size) = (found.key, found.key.publicKey.size)
            return Listed(
                fingerprint: found.item.account ?? "", comment: key.comment, bits: size.bits, kind: size.kind,
                isConfirmed: key.isConfirmed, lines: key.names.map(SSHItems.line), item: found.item)
        }
    }

    /// The parts of a key's item other than its file.
    package struct Described: Sendable {
        package let fingerprint: String
        package let attributes: [(name: String, value: String)]
    }

    /// - Parameter isConfirmed: whether the user is asked before each use.
    /// - Returns: `nil` if the file is not a private key that the door can use, or has a passphrase.
    package static func described(file: Secret, isConfirmed: Bool) -> Described? {
        guard let key = try? file.withBytes({ bytes throws(SSHRefusal) in try SSHPrivateKey.read(file: bytes) }),
            let fingerprint = try? key.publicKey.fingerprint()
        else { return nil }
        return Described(
            fingerprint: fingerprint, attributes: attributes(of: key.publicKey, isConfirmed: isConfirmed))
    }

    private static func attributes(of key: SSHPublicKey, isConfirmed: Bool) -> [(name: String, value: String)] {
        [
            (Name.type, key.type), (Name.publicKey, line(.plain(key))),
            (Name.confirm, isConfirmed ? "true" : "false"),
        ]
    }

    // MARK: As an agent has them

    func keys() throws(VaultError) -> [StoredSSHKey] { try found().map(\.key) }

    func key(_ key: SSHPublicKey) throws(VaultError) -> (key: StoredSSHKey, file: Secret)? {
        guard let fingerprint = try? key.fingerprint() else { return nil }
        var query = query(account: fingerprint)
        query.returnsSecrets = true
        for item in try store.allMatching(query) {
            if let found = SSHItems.key(item), found.publicKey == key, let file = try item.openedSecret() {
                return (found, file)
            }
        }
        return nil
    }

    func keep(_ new: NewSSHKey, file: Secret) throws(VaultError) {
        guard let fingerprint = try? new.key.publicKey.fingerprint() else { throw .storage(.resourceUnavailable) }
        let key = ItemKey.genericPassword(service: SSHItems.service, account: fingerprint)
        var attributes = try store.first(query(account: fingerprint))?.userAttributes ?? [:]
        for (name, value) in SSHItems.attributes(of: new.key.publicKey, isConfirmed: new.isConfirmed) {
            attributes[name] = value
        }
        if let certificate = new.certificate { attributes[Name.certificate] = SSHItems.line(.certificate(certificate)) }
        var own: [Attribute: AttributeValue] = new.comment.isEmpty ? [:] : [.label: .string(new.comment)]
        own[.accessGroup] = group.map(AttributeValue.string)
        try store.set(Item(key, attributes: own, userAttributes: attributes, secret: file))
    }

    /// - Returns: whether the name was found, and the certificate removed together with its key.
    func remove(_ name: SSHKeyName) throws(VaultError) -> (isFound: Bool, certificate: SSHCertificate?) {
        for found in try found() where found.key.names.contains(name) {
            guard let record = found.item.record else { continue }
            guard case .plain = name else {
                try store.update(record, with: SSHItems.withoutCertificate)
                return (true, nil)
            }
            try store.delete(record)
            return (true, found.key.certificate)
        }
        return (false, nil)
    }

    // MARK: Items

    private static var withoutCertificate: ItemChanges {
        var changes = ItemChanges()
        changes.userAttributes.updateValue(nil, forKey: Name.certificate)
        return changes
    }

    private func query(account: String? = nil) -> Query {
        var query = Query(.genericPassword, service: SSHItems.service, account: account, limit: .all)
        query.attributes[.accessGroup] = group.map(AttributeValue.string)
        return query
    }

    private func found() throws(VaultError) -> [(item: Item, key: StoredSSHKey)] {
        var found: [(Item, StoredSSHKey)] = []
        var known: Set<SSHPublicKey> = []
        for item in try store.allMatching(query()) {
            // Two groups may contain the same key.
            if let key = SSHItems.key(item), known.insert(key.publicKey).inserted { found.append((item, key)) }
        }
        return found
    }

    /// Returns the key of an item; `nil` for another kind of item, such as a password of a service called ssh.
    private static func key(_ item: Item) -> StoredSSHKey? {
        let attributes = item.userAttributes
        guard let text = attributes[Name.publicKey], case .plain(let key)? = name(text),
            let fingerprint = try? key.fingerprint(), item.account == fingerprint
        else { return nil }
        var certificate: SSHCertificate?
        if case .certificate(let named)? = attributes[Name.certificate].flatMap(name), named.key == key {
            certificate = named
        }
        return StoredSSHKey(
            publicKey: key, certificate: certificate, comment: item.label ?? "",
            // In doubt about a hand-written value, ask.
            isConfirmed: !["", "false", "no", "0"].contains(attributes[Name.confirm] ?? ""))
    }

    private static func line(_ name: SSHKeyName) -> String { name.type + " " + Data(name.blob).base64EncodedString() }

    private static func name(_ line: String) -> SSHKeyName? {
        let parts = line.split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, let blob = Data(base64Encoded: String(parts[1])),
            let name = try? SSHKeyName(Array(blob).span), name.type == parts[0]
        else { return nil }
        return name
    }
}
