// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import VaultCrypto
internal import VaultFormat

/// The identity of an item: its class and the attributes of the primary key.
public struct ItemKey: Hashable, Sendable {
    /// The class, which decides which attributes form the key.
    public let itemClass: ItemClass
    /// The given attributes of the primary key; absent ones have their defaults.
    public let attributes: [Attribute: AttributeValue]

    /// - Parameter attributes: of the class's primary key. The verbs refuse others, with `.noSuchAttribute` or
    ///   `.parameter(.attributeValue)`.
    public init(_ itemClass: ItemClass, _ attributes: [Attribute: AttributeValue]) {
        self.itemClass = itemClass
        self.attributes = attributes
    }

    /// The key of a generic password. The service and the account may be empty.
    public static func genericPassword(service: String, account: String = "") -> ItemKey {
        ItemKey(.genericPassword, [.service: .string(service), .account: .string(account)])
    }

    /// - Parameter protocol: one of Apple's four-character codes, such as `htps`, or any other text.
    public static func internetPassword(
        server: String, account: String = "", protocol: String? = nil, port: Int? = nil, path: String? = nil,
        securityDomain: String? = nil,
        authenticationType: String? = nil
    ) -> ItemKey {
        var attributes: [Attribute: AttributeValue] = [.server: .string(server), .account: .string(account)]
        attributes[.protocolName] = `protocol`.map(AttributeValue.string)
        attributes[.port] = port.map { .number(Int64($0)) }
        attributes[.path] = path.map(AttributeValue.string)
        attributes[.securityDomain] = securityDomain.map(AttributeValue.string)
        attributes[.authenticationType] = authenticationType.map(AttributeValue.string)
        return ItemKey(.internetPassword, attributes)
    }

    /// - Parameters:
    ///   - issuer: the normalized distinguished name, DER.
    ///   - serialNumber: the content bytes of the DER integer.
    public static func certificate(issuer: [UInt8], serialNumber: [UInt8], type: Int = 0) -> ItemKey {
        ItemKey(
            .certificate,
            [.issuer: .data(issuer), .serialNumber: .data(serialNumber), .certificateType: .number(Int64(type))])
    }

    /// The key of a cryptographic key.
    ///
    /// - Parameters:
    ///   - applicationLabel: on Apple's systems the SHA-1 of the public key, 20 bytes.
    ///   - applicationTag: chosen by the application.
    public static func key(applicationLabel: [UInt8], applicationTag: String = "") -> ItemKey {
        ItemKey(.key, [.applicationLabel: .data(applicationLabel), .applicationTag: .string(applicationTag)])
    }
}

/// An item: searchable attributes, and a secret that is opened only when it is read.
public struct Item: Sendable {
    /// The class, which decides which attributes the item may have.
    public let itemClass: ItemClass
    /// The secret to store; in an item that was found, present only if the query asked for it.
    public var secret: Secret?
    /// More secrets of the item, by name, sealed together with the first: to store, or present if the query asked for
    /// them. A name has 1 to 255 bytes and no control characters.
    public var fields: [String: Secret]
    /// The store's record of an item that was found or added.
    public internal(set) var record: ItemRecord?
    /// The attributes that the caller gave or changed; `nil` while they equal the record's, which are decoded on
    /// demand.
    private var given: [Attribute: AttributeValue]?
    private var givenToUser: [String: String]?
    private let stored: EncodedAttributes
    let protection: Accessibility

    /// - Parameters:
    ///   - attributes: beyond the key, or in the place of the key's.
    ///   - userAttributes: custom names of 1 to 255 bytes, and values.
    ///   - accessible: the protection class; `nil` for `whenUnlocked`, or `always` for a certificate.
    ///   - secret: `nil` for an item without one, which differs from an empty secret.
    ///   - fields: more secrets by name, see ``fields``.
    public init(
        _ key: ItemKey, attributes: [Attribute: AttributeValue] = [:], userAttributes: [String: String] = [:],
        accessible: Accessibility? = nil, secret: Secret? = nil, fields: [String: Secret] = [:]
    ) {
        itemClass = key.itemClass
        var given = attributes.isEmpty ? key.attributes : key.attributes.merging(attributes) { $1 }
        if let accessible { given[.accessible] = .string(accessible.rawValue) }
        self.given = given
        givenToUser = userAttributes
        self.secret = secret
        self.fields = fields
        stored = EncodedAttributes()
        protection = .whenUnlocked
    }

    /// The item of a record, without its secret.
    init(_ record: Record, _ source: any SecretSource) {
        let itemClass = record.itemClass ?? .genericPassword
        self.init(itemClass, record.protection, ItemRecord(record, itemClass, source))
    }

    init(_ itemClass: ItemClass, _ protection: Accessibility, _ record: ItemRecord) {
        self.itemClass = itemClass
        fields = [:]
        self.protection = protection
        self.record = record
        stored = record.attributes
    }

    /// An item of which nothing but its attributes is looked at.
    init(_ itemClass: ItemClass, only attributes: EncodedAttributes) {
        self.itemClass = itemClass
        (fields, stored, protection) = ([:], attributes, .whenUnlocked)
    }

    /// All attributes with a value, the protection class and the dates of an item that was found included.
    public var attributes: [Attribute: AttributeValue] {
        get {
            if let given { return given }
            var attributes: [Attribute: AttributeValue] = [:]
            for field in stored.values.fields {
                if let attribute = Attribute(field.tag) { attributes[attribute] = AttributeValue(field.value) }
            }
            for attribute in [Attribute.accessible, .creationDate, .modificationDate] {
                attributes[attribute] = field(attribute)
            }
            return attributes
        }
        set { given = newValue }
    }

    /// Custom names and values outside the primary key. A name has 1 to 255 bytes.
    public var userAttributes: [String: String] {
        get { givenToUser ?? stored.user }
        set { givenToUser = newValue }
    }

    /// The value of an attribute; `nil` if the item has none.
    public subscript(attribute: Attribute) -> AttributeValue? {
        get {
            if let given { return given[attribute] }
            return field(attribute) ?? (attribute.isEncoded ? stored[attribute.tag].map { AttributeValue($0) } : nil)
        }
        set { attributes[attribute] = newValue }
    }

    /// The attributes that are not encoded in a record.
    private func field(_ attribute: Attribute) -> AttributeValue? {
        switch attribute {
        case .accessible: .string(protection.rawValue)
        case .creationDate: (record?.created).map(AttributeValue.date)
        case .modificationDate: (record?.modified).map(AttributeValue.date)
        default: nil
        }
    }

    /// The names of its fields, available without opening a secret.
    public var fieldNames: [String] { record?.fieldNames ?? stored.fields?.fields.map(\.name) ?? fields.keys.sorted() }

    /// The secret, or a field of it: already present in the item, or opened now.
    ///
    /// - Parameter field: the field's name; `nil` for the secret itself.
    /// - Returns: `nil` if the item has no secret, which differs from an empty one, or no such field.
    /// - Throws: `.itemChanged` if the secret was replaced since the item was found, `.itemNotFound` if the item was
    ///   deleted, `.locked`, `.storage(.damaged)`.
    public func openedSecret(field: String? = nil) throws(VaultError) -> Secret? {
        if let brought = field.map({ fields[$0] }) ?? secret { return brought }
        return try record?.secret(field: field)
    }

    /// Lends the secret, or a field of it: opened now if necessary, wiped on return.
    ///
    /// - Returns: `nil` if there is none, which differs from an empty one.
    /// - Throws: as ``openedSecret(field:)``.
    public func withSecret<R>(
        field: String? = nil, _ body: (Span<UInt8>) throws(VaultError) -> R
    ) throws(VaultError) -> R? {
        try openedSecret(field: field)?.withBytes(body)
    }

    /// As ``withSecret(field:_:)``, for a body that also throws its own errors.
    @_disfavoredOverload
    public func withSecret<R>(field: String? = nil, _ body: (Span<UInt8>) throws -> R) throws -> R? {
        try openedSecret(field: field)?.withBytes(body)
    }
}

/// The place and version of an item in its store.
public struct ItemRecord: Sendable {
    /// The item's class.
    public let itemClass: ItemClass
    /// The item's UUID, which never changes.
    public var id: UUID { UUID(itemID) }
    let itemID: ItemID
    /// 1 at creation, incremented by each change.
    public let version: UInt64
    /// The time of the item's creation, or the date that was given for it.
    public let created: Date
    /// The time of the newest change, of the secret or of an attribute.
    public let modified: Date
    /// Whether the item has a secret, which may be empty.
    public let hasSecret: Bool
    let valueVersion: UInt64
    let attributes: EncodedAttributes
    let source: any SecretSource

    init(_ record: Record, _ itemClass: ItemClass, _ source: any SecretSource) {
        self.itemClass = itemClass
        itemID = record.id
        version = record.version
        created = Date(timeIntervalSinceReferenceDate: record.created)
        modified = Date(timeIntervalSinceReferenceDate: record.modified)
        hasSecret = record.hasValue
        attributes = record.attributes
        valueVersion = record.valueVersion
        self.source = source
    }

    /// The names of the item's fields, in the order of their bytes.
    public var fieldNames: [String] { attributes.fields?.fields.map(\.name) ?? [] }

    /// Opens the secret, or a field of it.
    ///
    /// - Parameter field: the field's name; `nil` for the secret itself.
    /// - Returns: `nil` if there is none.
    /// - Throws: as ``SecretSource/secret(of:field:)``.
    public func secret(field: String? = nil) throws(VaultError) -> Secret? {
        hasSecret ? try source.secret(of: self, field: field) : nil
    }

    /// The class (4 bytes) and the identifier (16 bytes): stable across updates.
    public var persistentReference: [UInt8] { ItemRecord.reference(itemClass, itemID) }

    /// The reference of an item with this identifier, whether or not it exists.
    package static func persistentReference(_ itemClass: ItemClass, _ id: UUID) -> [UInt8] {
        reference(itemClass, ItemID(id))
    }

    static func reference(_ itemClass: ItemClass, _ id: ItemID) -> [UInt8] {
        var reference = Array(itemClass.rawValue.utf8)
        reference.append(id.bytes)
        return reference
    }
}

extension ItemID {
    init(_ id: UUID) {
        let u = id.uuid
        let bytes = [
            u.0, u.1, u.2, u.3, u.4, u.5, u.6, u.7, u.8, u.9, u.10, u.11, u.12, u.13, u.14, u.15,
        ]
        self.init(bytes.span)
    }
}

extension UUID {
    init(_ id: ItemID) {
        let b = id.bytes
        self.init(
            uuid: (b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15])
        )
    }
}
