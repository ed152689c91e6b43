// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat

/// The statements of this product about an item, for which CXF has no member: an extension of the item, which other
/// readers ignore.
struct CXFExtension {
    static let name = "vault"

    /// The kind of the entry, where the credentials suggest another; empty for a login.
    var kind: String?
    /// The text of the one-time password, if it is not in the form that CXF's parts result in.
    var otp: Secret?
    /// The collections of an item in several ones, in the order of the entry.
    var folders: [String] = []
    /// The statements about passkeys by rpId and identifier, since an item may have several.
    private var passkeys: [[String]: JSONValue] = [:]

    init() {}

    init(_ extensions: JSONValue?) throws(ImportError) {
        guard let own = extensions?.elements.first(where: { $0["name"]?.text == CXFExtension.name }) else { return }
        kind = own["description"]?.text
        otp = try own["otp"]?.secret()
        folders = own["folders"]?.elements.compactMap(\.text) ?? []
        for passkey in own["passkeys"]?.elements ?? [] {
            guard let site = passkey["rpId"]?.text, let id = passkey["credentialId"]?.text else { continue }
            passkeys[[site, id]] = passkey
        }
    }

    var folderPlaces: [String: Int] { Dictionary(zip(folders, folders.indices)) { first, _ in first } }

    subscript(site: String, id: [UInt8]) -> JSONValue? { passkeys[[site, Base64URL.encoded(id)]] }

    /// The names of a passkey's statements; the parts of the passkey itself must not be stated a second time.
    private static let stated: Set = [
        PortablePasskey.Statement.created, PortablePasskey.Statement.discoverable, PortablePasskey.Statement.flags,
        PortablePasskey.Statement.pem,
    ]

    static func read(_ stated: JSONValue, _ passkey: inout PortablePasskey) throws(ImportError) {
        for (name, value) in stated["attributes"]?.members ?? [] where CXFExtension.stated.contains(name) {
            passkey.attributes[name] = value.text
        }
        for (name, value) in stated["fields"]?.members ?? [] where CXFExtension.stated.contains(name) {
            passkey.fields[name] = try value.secret()
        }
    }

    /// - Parameter isNameInTitle: returns whether the name of a passkey's site is the title of the item.
    /// - Returns: `nil` if there is nothing to state, about the item or its passkeys.
    func value(_ passkeys: [PortablePasskey], isNameInTitle: (PortablePasskey) -> Bool) -> JSONOutput? {
        let stated = passkeys.compactMap { CXFExtension.value(of: $0, isNameInTitle: isNameInTitle($0)) }
        let members = [
            ("description", kind.map(JSONOutput.text)), ("otp", otp.map { .secret($0) }),
            ("folders", folders.isEmpty ? nil : .texts(folders)),
            ("passkeys", stated.isEmpty ? nil : .array(stated)),
        ]
        let hasAny = members.contains { $0.1 != nil }
        return hasAny ? .object(present: [("name", .text(CXFExtension.name))] + members) : nil
    }

    private static func value(of portable: PortablePasskey, isNameInTitle: Bool) -> JSONOutput? {
        let passkey = portable.passkey
        let name = isNameInTitle ? "" : passkey.names.relyingParty
        let attributes = portable.attributes.sorted { $0.key < $1.key }.filter { stated.contains($0.key) }
        let fields = portable.fields.sorted { $0.key < $1.key }.filter { stated.contains($0.key) }
        guard !name.isEmpty || !passkey.isBackupEligible || !attributes.isEmpty || !fields.isEmpty else { return nil }
        return .object(present: [
            ("rpId", .text(passkey.relyingParty)), ("credentialId", .text(Base64URL.encoded(passkey.credentialID))),
            ("rpName", name.isEmpty ? nil : .text(name)),
            ("backupEligible", passkey.isBackupEligible ? nil : .boolean(false)),
            ("attributes", attributes.isEmpty ? nil : .object(attributes.map { ($0.key, .text($0.value)) })),
            ("fields", fields.isEmpty ? nil : .object(fields.map { ($0.key, .secret($0.value)) })),
        ])
    }
}
