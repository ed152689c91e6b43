// SPDX-License-Identifier: Apache-2.0
public import VaultCrypto

/// What to look for. Attributes are compared exactly and all must match.
public struct Query: Sendable {
    /// How many items to return, with Apple's `kSecMatchLimit`.
    public enum Limit: Equatable, Sendable {
        case one
        case all
        /// Up to this many; 0 finds nothing, a negative number all.
        case count(Int)

        /// The most that are found.
        package var maximum: Int {
            switch self {
            case .one: 1
            case .all: .max
            case .count(let count): count < 0 ? .max : count
            }
        }
    }

    /// Nil only together with a persistent reference.
    public var itemClass: ItemClass?
    public var attributes: [Attribute: AttributeValue]
    public var userAttributes: [String: String]
    /// Selects one item. Class, limit and ``synchronizableAny`` may stand beside it, attributes may not.
    public var persistentReference: [UInt8]?
    /// Nil: all, except that a single item is enough for Apple's `SecItemCopyMatching`.
    public var limit: Limit?
    /// Whether synchronizable items match beside the others where no attribute says which. Apple's queries find the
    /// others alone, unless they have `kSecAttrSynchronizableAny`.
    public var synchronizableAny = true
    /// Internet passwords whose server is this host or below it: `kSecMatchHostOrSubdomainOfHost`.
    public var hostOrSubdomain: String?
    /// What else Apple's match keys ask of a certificate.
    public var conditions: Set<MatchCondition> = []
    /// A part of the service, the server, the account or the label.
    public var text: String?
    /// Whether the items come with their secrets, all opened at one moment.
    public var returnsSecrets = false
    /// Whether items that can be read while unlocked only are left out of a locked vault's answer. Without it they make
    /// the call fail.
    public var leavesOutLocked = false
    /// Pairs of a certificate and a private key whose public key it has: one after the other, the certificate first, in
    /// the order of the certificates. The limit is one of pairs. An attribute of both classes is the key's, but for the
    /// label, the issuer, the subject, the serial number, the subject key and the token. The class is nil; a persistent
    /// reference is the certificate's, with `idnt` in the place of its class; the identifier of a key may follow, 16
    /// bytes.
    ///
    /// An update changes all certificates and all keys that match, a delete deletes them, in pairs or not; with a
    /// persistent reference it is both halves of that identity, of which a key that another certificate has stays.
    public var findsIdentities = false
    /// What becomes of items that a person has to allow the reading of: see ``VaultError/presenceRequired``.
    public var presence = Presence.asked(reason: nil)
    /// Whether keys that a person has to allow the reading of come without their secret, and need nobody: what is made
    /// of them asks when it is used.
    package var leavesKeysClosed = false
    /// What a delete makes of a synchronizable item: nil, a tombstone; true, always one; false, nothing
    /// (`kSecUseTombstones`).
    public var leavesTombstones: Bool?

    public init(
        _ itemClass: ItemClass?, service: String? = nil, account: String? = nil, server: String? = nil,
        label: String? = nil,
        attributes: [Attribute: AttributeValue] = [:], userAttributes: [String: String] = [:], limit: Limit? = nil
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.userAttributes = userAttributes
        self.limit = limit
        self.attributes.reserveCapacity(attributes.count + 4)
        if let service { self.attributes[.service] = .string(service) }
        if let account { self.attributes[.account] = .string(account) }
        if let server { self.attributes[.server] = .string(server) }
        if let label { self.attributes[.label] = .string(label) }
    }

    /// The item with this key.
    public init(_ key: ItemKey) {
        self.init(key.itemClass, attributes: key.attributes)
    }

    /// The item that the reference was made for.
    public init(persistentReference: [UInt8]) {
        self.init(nil)
        self.persistentReference = persistentReference
    }
}

extension Query {
    /// What becomes of items that a person has to allow the reading of.
    public enum Presence: Equatable, Sendable {
        /// A person is asked where an agent can have that done; otherwise as ``refused``.
        ///
        /// - Parameter reason: what the program says to them. It stays with the client, and is shown as what it is: a
        ///   program's words.
        case asked(reason: String?)
        /// The call throws `.presenceRequired`.
        case refused
        /// They do not match. Of an update: as ``refused``.
        case leftOut
    }

    /// A condition that is not about attributes: one of Apple's `kSecMatch…` keys.
    public enum MatchCondition: UInt8, Sendable {
        case policy = 1
        case issuers, emailAddress, trustedOnly, validOnDate
        /// One that Apple's systems accept and do not heed, such as `kSecMatchCaseInsensitive`.
        case withoutEffect

        func hasNoEffect(on itemClass: ItemClass) -> Bool {
            switch self {
            case .policy, .issuers: false
            case .emailAddress, .trustedOnly, .validOnDate: itemClass != .certificate
            case .withoutEffect: true
            }
        }
    }

    /// Everything that matches is meant by an update or a delete: who asks for one expects the rest to stay.
    func checkForChange() throws(VaultError) {
        guard limit == nil || limit == .all else { throw .parameter(.limit) }
        guard hostOrSubdomain == nil, text == nil, conditions.isEmpty else { throw .parameter(.matchKey) }
    }
}

/// What an update does to the items that match.
public struct ItemChanges: Sendable {
    /// Attributes that get a new value. None can be removed, as on Apple's systems.
    public var attributes: [Attribute: AttributeValue]
    /// User attributes that get a new value, or go where it is nil.
    public var userAttributes: [String: String?]
    /// The new secret; nil keeps the old one. The fields stay in either case.
    public var secret: Secret?
    /// Fields that get a new value, or go where it is nil. The secret itself and the other fields stay.
    public var fields: [String: Secret?]
    /// The version that each item must have.
    public var version: UInt64?

    public init(
        attributes: [Attribute: AttributeValue] = [:], userAttributes: [String: String?] = [:], secret: Secret? = nil,
        fields: [String: Secret?] = [:], version: UInt64? = nil
    ) {
        self.attributes = attributes
        self.userAttributes = userAttributes
        self.secret = secret
        self.fields = fields
        self.version = version
    }
}
