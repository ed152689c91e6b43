// SPDX-License-Identifier: Apache-2.0
public import VaultCrypto

/// The conditions of a search. Attributes are compared exactly, and all must match.
///
/// Size: each property is a condition or an option of its own, as the keys of Apple's query dictionary are.
public struct Query: Sendable {
    /// The number of items to return, as Apple's `kSecMatchLimit`.
    public enum Limit: Equatable, Sendable {
        /// The first in the order of creation.
        case one
        /// All matching items.
        case all
        /// Up to this many; 0 finds nothing, a negative number all.
        case count(Int)

        /// The maximum number of results.
        package var maximum: Int {
            switch self {
            case .one: 1
            case .all: .max
            case .count(let count): count < 0 ? .max : count
            }
        }
    }

    /// `nil` only together with a persistent reference.
    public var itemClass: ItemClass?
    /// The values that attributes must have; a class refuses attributes that it does not have.
    public var attributes: [Attribute: AttributeValue]
    /// The values that custom attributes must have.
    public var userAttributes: [String: String]
    /// Selects one item. May be combined with class, limit and ``synchronizableAny``, but not with attributes.
    public var persistentReference: [UInt8]?
    /// `nil` for all, except that Apple's `SecItemCopyMatching` then returns a single item.
    public var limit: Limit?
    /// Whether synchronizable items match as well if no attribute says which. Apple's queries match only the others
    /// unless they have `kSecAttrSynchronizableAny`.
    public var synchronizableAny = true
    /// Matches internet passwords whose server is this host or a subdomain: `kSecMatchHostOrSubdomainOfHost`.
    public var hostOrSubdomain: String?
    /// Further conditions on a certificate from Apple's match keys.
    public var conditions: Set<MatchCondition> = []
    /// Words, separated by blanks, each of which must be somewhere in the item: in its name, service or server, user,
    /// URLs, folder, tags, kind or notes, or in the name or the text of a user attribute, but never in a secret or a
    /// field. Capitals and diacritics make no difference.
    public var text: String?
    /// A condition on what the item is to a person.
    package var face: FaceCondition?
    /// The items that a name means: those that the first of its rules finds, in the caller's first group with all
    /// rules, else in the others. Only ``ItemStore/copyMatching(_:)`` takes it.
    package var name: ItemName?
    /// Whether the items include their secrets, all opened at the same moment.
    public var returnsSecrets = false
    /// Whether a locked vault omits items that are readable only while unlocked. Otherwise they make the call fail.
    public var leavesOutLocked = false
    /// Finds pairs of a certificate and the private key that belongs to its public key: alternating, the certificate
    /// first, in the order of the certificates. The limit counts pairs. An attribute of both classes is the key's,
    /// except label, issuer, subject, serial number, subject key and token. The class is `nil`; a persistent reference
    /// is the certificate's, with `idnt` as its class; the identifier of a key, 16 bytes, may follow.
    ///
    /// An update changes all matching certificates and keys, and a delete deletes them, paired or not; with a
    /// persistent reference, both halves of that identity are affected, except that a key used by another certificate
    /// is not deleted.
    public var findsIdentities = false
    /// How to handle items whose reading requires user presence: see ``VaultError/presenceRequired``.
    public var presence = Presence.asked(reason: nil)
    /// Whether keys that require user presence are returned without their secret, and without asking: objects made from
    /// them ask when used.
    package var leavesKeysClosed = false
    /// The tombstones that a delete leaves (`kSecUseTombstones`): `nil` for synchronizable items, `true` for all items,
    /// `false` for none.
    public var leavesTombstones: Bool?

    /// - Parameters:
    ///   - itemClass: `nil` only together with a persistent reference.
    ///   - attributes: further conditions; `service`, `account`, `server` and `label` are shorthand for theirs.
    ///   - limit: `nil` for all.
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
    public init(_ key: ItemKey) { self.init(key.itemClass, attributes: key.attributes) }

    /// The item to which the reference belongs.
    public init(persistentReference: [UInt8]) {
        self.init(nil)
        self.persistentReference = persistentReference
    }
}

extension Query {
    /// A condition on a part of ``ItemFace``. The index finds the items.
    package enum FaceCondition: Equatable, Sendable {
        case title(String)
        /// A place of the item has one of these hosts, each the text of a ``WebHost``.
        case hosts([String])
        /// A program that searches with these attributes finds the item.
        case program([String: String])

        func isMet(by face: ItemFace) -> Bool {
            switch self {
            // Canonically equivalent texts are different names.
            case .title(let title): face.title.utf8.elementsEqual(title.utf8)
            case .hosts(let hosts): face.places.contains { hosts.contains($0.host.text) }
            case .program(let wanted): face.programAttributes.areFound(by: wanted)
            }
        }
    }

    /// The handling of items whose reading requires user presence.
    public enum Presence: Equatable, Sendable {
        /// A person is asked if an agent can do so; otherwise as ``refused``.
        ///
        /// - Parameter reason: the program's message to the person. The client shows it, marked as the program's words.
        case asked(reason: String?)
        /// The call throws `.presenceRequired`.
        case refused
        /// Such items do not match. In an update: as ``refused``.
        case leftOut
    }

    /// A condition beyond attributes: one of Apple's `kSecMatch…` keys.
    public enum MatchCondition: UInt8, Sendable {
        /// `kSecMatchPolicy`.
        case policy = 1
        /// `kSecMatchIssuers`.
        case issuers
        /// `kSecMatchEmailAddressIfPresent`.
        case emailAddress
        /// `kSecMatchTrustedOnly`.
        case trustedOnly
        /// `kSecMatchValidOnDate`.
        case validOnDate
        /// A key that Apple's systems accept and ignore, such as `kSecMatchCaseInsensitive`.
        case withoutEffect

        func hasNoEffect(on itemClass: ItemClass) -> Bool {
            switch self {
            case .policy, .issuers: false
            case .emailAddress, .trustedOnly, .validOnDate: itemClass != .certificate
            case .withoutEffect: true
            }
        }
    }

    /// An update or a delete affects all matching items, so a caller that limits it would expect the others to stay.
    func checkForChange() throws(VaultError) {
        guard limit == nil || limit == .all else { throw .parameter(.limit) }
        guard hostOrSubdomain == nil, text == nil, face == nil, conditions.isEmpty else { throw .parameter(.matchKey) }
    }
}

/// The changes that an update makes to the matching items.
public struct ItemChanges: Sendable {
    /// The fate of an item that an update would leave as it is. Neither makes an older version of it, so that
    /// programs that store the same value each night push nothing out of the history.
    ///
    /// An item with a conflict or a hidden twin is written all the same, which resolves it, and so is an item whose
    /// reading requires user presence, since a comparison would open it.
    public enum Unchanged: UInt8, Sendable {
        /// The item stays, and is not counted as changed.
        case skip = 1
        /// Only its modification date changes, as Apple's `SecItemUpdate` does.
        case touch
    }

    /// Attributes with new values. Attributes cannot be removed, as on Apple's systems.
    public var attributes: [Attribute: AttributeValue]
    /// User attributes with new values; `nil` removes one.
    public var userAttributes: [String: String?]
    /// The new secret; `nil` keeps the old one. The fields stay in either case.
    public var secret: Secret?
    /// Fields with new values; `nil` removes one. The secret itself and the other fields stay.
    public var fields: [String: Secret?]
    /// The version that each item must have.
    public var version: UInt64?
    /// The fate of an item that is already as the changes would make it.
    public var ifUnchanged = Unchanged.skip

    /// - Parameters:
    ///   - secret: `nil` keeps the old one.
    ///   - fields: by name; `nil` removes a field.
    ///   - version: the version that each item must have; `nil` for any.
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
