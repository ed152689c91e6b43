// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultBus
internal import VaultCrypto
internal import VaultFormat

/// The properties of an item of a provider of `org.freedesktop.secrets`, without its secret.
struct SecretServiceItem {
    /// The maximum length of an attribute in the vault, like the limits of ``Login``; longer values become fields.
    private static let longestAttribute = 255
    private static let attributesLimit = 48 << 10
    private static let readLimit = 1 << 20
    /// The schema that gnome-keyring adds to items without one, but only after reading them from its file; a search for
    /// it also finds items without it. The schema says nothing about an item, and would change its identity at times.
    private static let noSchema = ProgramAttributes.genericSchema

    let path: String
    private(set) var label = ""
    private(set) var attributes: [String: String] = [:]
    private(set) var isLocked = false
    /// Whether the label and attributes exceed the limits of an item of the vault.
    private(set) var isTooLarge = false

    init(_ path: String, of provider: SecretServiceProvider) throws(BusError) {
        self.path = path
        var (read, kept) = (0, 0)
        try provider.readProperties(of: path, "Item") { name, value throws(BusError) in
            switch name {
            case "Label": try value.variant(of: "s") { () throws(BusError) in label = try value.text() }
            case "Locked": try value.variant(of: "b") { () throws(BusError) in isLocked = try value.flag() }
            case "Attributes":
                try value.variant(of: "a{ss}") { () throws(BusError) in
                    try value.dictionary(of: "ss") { () throws(BusError) in
                        let (name, text) = (try value.text(), try value.text())
                        read += name.utf8.count + text.utf8.count + 16
                        let length = text.utf8.count
                        kept += name.utf8.count + (length > Self.longestAttribute ? 0 : length) + 16
                        let isNothing = name == "xdg:schema" && text == Self.noSchema
                        if read <= Self.readLimit, !isNothing { attributes[name] = text }
                    }
                }
            default: return false
            }
            return true
        }
        let given = ProgramAttributes(given: attributes)
        kept += label.utf8.count * 2 + given.service(label: "").utf8.count + given.account.utf8.count
        isTooLarge = read > Self.readLimit || kept > Self.attributesLimit
    }

    /// Returns an identity of the item's properties and collection: providers may renumber items as they restart.
    func identity(in collection: String) -> String {
        var hash = KeyedHash()
        hash.update(framed: collection)
        hash.update(framed: label)
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            hash.update(framed: name)
            hash.update(framed: value)
        }
        let digest = hash.digest()
        return hexadecimal((0..<16).map { digest.bytes[$0] })
    }

    /// - Parameter collection: the label of the collection; `nil` for the user's default collection.
    func login(id: String, place: String, collection: String?, _ secret: Secret, contentType: String) -> Login {
        var login = Login(id: id, place: place)
        login.title = label
        let given = ProgramAttributes(given: attributes)
        let service = given.service(label: label)
        login.user = given.account
        login.address = internetAddress ?? .service(service.isEmpty ? "secret" : service)
        login.collection = collection
        // Earlier versions made folders of collections.
        login.earlierAttributes = collection.map { [ItemNames.folder: $0] } ?? [:]
        login.password = secret
        login.keepsAttributeNames = true
        login.attributes = attributes.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        login.contentType = contentType.isEmpty || contentType == "text/plain" ? nil : contentType
        return login
    }

    /// The address of a network password, as stored by git and GNOME.
    private var internetAddress: Login.Address? {
        guard attributes[ProgramAttributes.schema] == ProgramAttributes.networkSchema,
            let server = attributes["server"], !server.isEmpty
        else { return nil }
        func text(_ name: String) -> String? { attributes[name].flatMap { $0.isEmpty ? nil : $0 } }
        var address: [Attribute: AttributeValue] = [.server: .string(server)]
        address[.protocolName] = text("protocol").map { .string(ProtocolNames.code($0)) }
        address[.port] = text("port").flatMap { UInt16($0) }.map { .number(Int64($0)) }
        address[.path] = text("object").map(AttributeValue.string)
        address[.securityDomain] = text("domain").map(AttributeValue.string)
        return .internet(address)
    }
}
