// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// The statements of this product about an item, for which CXF has no member: an extension of the item, which other
/// readers ignore.
struct CXFExtension {
    /// Statements about a passkey for which CXF has no member.
    struct Statements {
        var relyingParty: String?
        var isBackupEligible = true
        /// The attributes and fields of a ``PortablePasskey``.
        var attributes: [String: String] = [:]
        var fields: [String: Secret] = [:]

        /// Whether the passkey has nothing to state.
        var isEmpty: Bool { relyingParty == nil && isBackupEligible && attributes.isEmpty && fields.isEmpty }
    }

    static let name = "vault"

    private enum Member {
        static let name = "name"
        static let kind = "description"
        static let otp = "otp"
        static let folders = "folders"
        static let passkeys = "passkeys"
        static let site = "rpId"
        static let credential = "credentialId"
        static let siteName = "rpName"
        static let backup = "backupEligible"
        static let attributes = "attributes"
        static let fields = "fields"
    }

    /// The kind of the entry, where the credentials suggest another; empty for a login.
    var kind: String?
    /// The text of the one-time password, if it is not in the form that CXF's parts result in.
    var otp: Secret?
    /// The collections of an item in several ones, in the order of the entry.
    var folders: [String] = []
    /// By rpId and identifier, since an item may have several.
    private var passkeys: [String: Statements] = [:]

    init() {}

    /// - Parameter extensions: those of an item.
    init(_ extensions: JSONValue?) throws(ImportError) {
        guard let own = extensions?.elements.first(where: { $0[Member.name]?.text == CXFExtension.name }) else {
            return
        }
        kind = own[Member.kind]?.text
        otp = try own[Member.otp]?.secret()
        folders = own[Member.folders]?.elements.compactMap(\.text) ?? []
        for passkey in own[Member.passkeys]?.elements ?? [] {
            guard let site = passkey[Member.site]?.text, let credential = passkey[Member.credential]?.text else {
                continue
            }
            var statements = Statements()
            statements.relyingParty = passkey[Member.siteName]?.text
            statements.isBackupEligible = passkey[Member.backup]?.boolean ?? true
            for (name, value) in passkey[Member.attributes]?.members ?? [] where CXFExtension.isStatement(name) {
                statements.attributes[name] = value.text
            }
            for (name, value) in passkey[Member.fields]?.members ?? [] where CXFExtension.isStatement(name) {
                statements.fields[name] = try value.secret()
            }
            passkeys[CXFExtension.key(site, credential)] = statements
        }
    }

    /// The parts of a passkey itself must not be stated a second time.
    private static func isStatement(_ name: String) -> Bool {
        switch name {
        case PortablePasskey.Statement.created, PortablePasskey.Statement.discoverable,
            PortablePasskey.Statement.flags, PortablePasskey.Statement.pem:
            true
        default: false
        }
    }

    /// The places of collections among those of the item.
    var folderPlaces: [String: Int] { Dictionary(zip(folders, folders.indices)) { first, _ in first } }

    private static func key(_ site: String, _ credential: String) -> String { "\(site) \(credential)" }

    subscript(site: String, credential: String) -> Statements? { passkeys[CXFExtension.key(site, credential)] }

    // MARK: Writing

    /// - Parameter isNameInTitle: whether the name of the site is the title of the item.
    static func statements(_ portable: PortablePasskey, isNameInTitle: Bool) -> Statements {
        let passkey = portable.passkey
        var statements = Statements()
        let name = passkey.names.relyingParty
        statements.relyingParty = isNameInTitle || name.isEmpty ? nil : name
        statements.isBackupEligible = passkey.isBackupEligible
        statements.attributes = portable.attributes.filter { isStatement($0.key) }
        statements.fields = portable.fields.filter { isStatement($0.key) }
        return statements
    }

    /// Returns the extension; `nil` if there is nothing to state, about the item or its passkeys.
    func value(_ passkeys: [(passkey: Passkey, statements: Statements)]) -> JSONOutput? {
        var members: [(String, JSONOutput)] = []
        if let kind { members.append((Member.kind, .text(kind))) }
        if let otp { members.append((Member.otp, .secret(otp))) }
        if !folders.isEmpty { members.append((Member.folders, .array(folders.map(JSONOutput.text)))) }
        let stated = passkeys.filter { !$0.statements.isEmpty }
        if !stated.isEmpty { members.append((Member.passkeys, .array(stated.map(CXFExtension.value)))) }
        return members.isEmpty ? nil : .object([(Member.name, .text(CXFExtension.name))] + members)
    }

    private static func value(of passkey: Passkey, _ statements: Statements) -> JSONOutput {
        var members: [(String, JSONOutput)] = [
            (Member.site, .text(passkey.relyingParty)),
            (Member.credential, .text(Base64URL.encoded(passkey.credentialID))),
        ]
        if let name = statements.relyingParty { members.append((Member.siteName, .text(name))) }
        if !statements.isBackupEligible { members.append((Member.backup, .json("false"))) }
        let attributes = statements.attributes.sorted { $0.key < $1.key }.map { ($0.key, JSONOutput.text($0.value)) }
        if !attributes.isEmpty { members.append((Member.attributes, .object(attributes))) }
        let fields = statements.fields.sorted { $0.key < $1.key }.map { ($0.key, JSONOutput.secret($0.value)) }
        if !fields.isEmpty { members.append((Member.fields, .object(fields))) }
        return .object(members)
    }
}
