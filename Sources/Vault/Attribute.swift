// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The classes of items, with Apple's raw values for `kSecClass`.
public enum ItemClass: String, Sendable, CaseIterable {
    case genericPassword = "genp"
    case internetPassword = "inet"
    case certificate = "cert"
    case key = "keys"

    var stored: VaultFormat.ItemClass {
        switch self {
        case .genericPassword: .genericPassword
        case .internetPassword: .internetPassword
        case .certificate: .certificate
        case .key: .key
        }
    }

    /// Nil for the vault's own settings, which are no items.
    init?(_ stored: VaultFormat.ItemClass) {
        switch stored {
        case .settings: return nil
        case .genericPassword: self = .genericPassword
        case .internetPassword: self = .internetPassword
        case .certificate: self = .certificate
        case .key: self = .key
        }
    }
}

/// When an item can be read, with Apple's raw values for `kSecAttrAccessible`.
public enum Accessibility: String, Sendable, CaseIterable {
    /// While the vault is unlocked. The default, except for certificates.
    case whenUnlocked = "ak"
    /// After the first unlock, also while locked again, until the agent ends.
    case afterFirstUnlock = "ck"
    /// As ``afterFirstUnlock``.
    case always = "dk"
    /// While the vault is unlocked, on this device.
    case whenUnlockedThisDeviceOnly = "aku"
    /// After the first unlock, on this device.
    case afterFirstUnlockThisDeviceOnly = "cku"
    /// As ``afterFirstUnlockThisDeviceOnly``.
    case alwaysThisDeviceOnly = "dku"
    /// While the vault is unlocked, on this device, and as long as the vault has a passphrase.
    case whenPasscodeSetThisDeviceOnly = "akpu"

    var stored: Protection {
        switch self {
        case .whenUnlocked: .whenUnlocked
        case .afterFirstUnlock: .afterFirstUnlock
        case .always: .always
        case .whenUnlockedThisDeviceOnly: .whenUnlockedThisDeviceOnly
        case .afterFirstUnlockThisDeviceOnly: .afterFirstUnlockThisDeviceOnly
        case .alwaysThisDeviceOnly: .alwaysThisDeviceOnly
        case .whenPasscodeSetThisDeviceOnly: .whenPasscodeSetThisDeviceOnly
        }
    }

    init(_ stored: Protection) {
        switch stored {
        case .whenUnlocked: self = .whenUnlocked
        case .afterFirstUnlock: self = .afterFirstUnlock
        case .always: self = .always
        case .whenUnlockedThisDeviceOnly: self = .whenUnlockedThisDeviceOnly
        case .afterFirstUnlockThisDeviceOnly: self = .afterFirstUnlockThisDeviceOnly
        case .alwaysThisDeviceOnly: self = .alwaysThisDeviceOnly
        case .whenPasscodeSetThisDeviceOnly: self = .whenPasscodeSetThisDeviceOnly
        }
    }
}

/// An attribute of an item. ``name`` is Apple's raw value of the `kSecAttr…` constant.
///
/// The raw value is the attribute's number in the file; those from 0xF000 lie elsewhere in the file or nowhere.
public enum Attribute: UInt16, Sendable, CaseIterable {
    case accessGroup = 0x0001
    case synchronizable, tombstone, syncViewHint, tokenID, label, alias, accessControl, multiUser
    case account = 0x0010
    case service, generic, itemDescription, comment, creator, type, scriptCode, isInvisible, isNegative, hasCustomIcon, legacyProtocol
    case server = 0x0020
    case securityDomain, protocolName, authenticationType, port, path
    case certificateType = 0x0030
    case certificateEncoding, subject, issuer, serialNumber, subjectKeyID, publicKeyHash
    case keyClass = 0x0040
    case applicationLabel, applicationTag, keySizeInBits, effectiveKeySize, startDate, endDate, isPermanent, isPrivate, isModifiable
    case isSensitive, wasAlwaysSensitive, isExtractable, wasNeverExtractable, canEncrypt, canDecrypt, canDerive, canSign, canVerify
    case canSignRecover, canVerifyRecover, canWrap, canUnwrap
    case accessible = 0xF000
    case creationDate, modificationDate, sha1

    /// Apple's raw value: four characters.
    public var name: String { Attribute.names[self] ?? "" }

    /// The attribute of Apple's name. Nil: there is none, in any class.
    public init?(name: String) {
        guard let attribute = Attribute.byName[name] else { return nil }
        self = attribute
    }

    private static let names: [Attribute: String] = [
        .accessGroup: "agrp", .synchronizable: "sync", .tombstone: "tomb", .syncViewHint: "vwht", .tokenID: "tkid", .label: "labl",
        .alias: "alis", .accessControl: "accc", .multiUser: "musr", .account: "acct", .service: "svce", .generic: "gena",
        .itemDescription: "desc", .comment: "icmt", .creator: "crtr", .type: "type", .scriptCode: "scrp", .isInvisible: "invi",
        .isNegative: "nega", .hasCustomIcon: "cusi", .legacyProtocol: "prot", .server: "srvr", .securityDomain: "sdmn",
        .protocolName: "ptcl", .authenticationType: "atyp", .port: "port", .path: "path", .certificateType: "ctyp",
        .certificateEncoding: "cenc", .subject: "subj", .issuer: "issr", .serialNumber: "slnr", .subjectKeyID: "skid",
        .publicKeyHash: "pkhh", .keyClass: "kcls", .applicationLabel: "klbl", .applicationTag: "atag", .keySizeInBits: "bsiz",
        .effectiveKeySize: "esiz", .startDate: "sdat", .endDate: "edat", .isPermanent: "perm", .isPrivate: "priv",
        .isModifiable: "modi", .isSensitive: "sens", .wasAlwaysSensitive: "asen", .isExtractable: "extr",
        .wasNeverExtractable: "next", .canEncrypt: "encr", .canDecrypt: "decr", .canDerive: "drve", .canSign: "sign",
        .canVerify: "vrfy", .canSignRecover: "snrc", .canVerifyRecover: "vyrc", .canWrap: "wrap", .canUnwrap: "unwp",
        .accessible: "pdmn", .creationDate: "cdat", .modificationDate: "mdat", .sha1: "sha1",
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: names.map { ($0.value, $0.key) })

    var tag: AttributeTag { AttributeTag(rawValue: rawValue) }

    init?(_ tag: AttributeTag) {
        guard let attribute = Attribute(rawValue: tag.rawValue), attribute.isEncoded else { return nil }
        self = attribute
    }

    /// Whether the attribute is among the encoded ones, and not in a field of its own or nowhere.
    var isEncoded: Bool { rawValue < 0xF000 }
}

// MARK: Classes

extension Attribute {
    /// Whether items of the class can have the attribute.
    public func belongs(to itemClass: ItemClass) -> Bool {
        switch self {
        case .accessGroup, .synchronizable, .tombstone, .syncViewHint, .tokenID, .label, .alias, .accessControl, .multiUser, .accessible,
            .creationDate, .modificationDate, .sha1:
            true
        case .account, .itemDescription, .comment, .scriptCode, .isInvisible, .isNegative, .hasCustomIcon, .legacyProtocol:
            itemClass == .genericPassword || itemClass == .internetPassword
        case .creator, .type: itemClass != .certificate
        case .service, .generic: itemClass == .genericPassword
        case .server, .securityDomain, .protocolName, .authenticationType, .port, .path: itemClass == .internetPassword
        case .certificateType, .certificateEncoding, .subject, .issuer, .serialNumber, .subjectKeyID, .publicKeyHash:
            itemClass == .certificate
        case .keyClass, .applicationLabel, .applicationTag, .keySizeInBits, .effectiveKeySize, .startDate, .endDate, .isPermanent,
            .isPrivate, .isModifiable, .isSensitive, .wasAlwaysSensitive, .isExtractable, .wasNeverExtractable, .canEncrypt, .canDecrypt,
            .canDerive, .canSign, .canVerify, .canSignRecover, .canVerifyRecover, .canWrap, .canUnwrap:
            itemClass == .key
        }
    }

    /// The attributes that, with ``commonPrimaryKey``, no two items of the class may have in common.
    static func primaryKey(of itemClass: ItemClass) -> [Attribute] {
        switch itemClass {
        case .genericPassword: [.account, .service]
        case .internetPassword: [.account, .securityDomain, .server, .protocolName, .authenticationType, .port, .path]
        case .certificate: [.certificateType, .issuer, .serialNumber]
        case .key:
            [.keyClass, .applicationLabel, .applicationTag, .creator, .type, .keySizeInBits, .effectiveKeySize, .startDate, .endDate]
        }
    }

    static let commonPrimaryKey: [Attribute] = [.accessGroup, .synchronizable, .syncViewHint, .tokenID, .multiUser]

    /// What a query must ask for to find items without the attribute. Nil: nothing finds them by it.
    var absentValue: EncodedValue? {
        switch self {
        case .tombstone: .integer(0)
        case .syncViewHint, .tokenID: .string("")
        case .multiUser: .data([])
        default: nil
        }
    }

    /// The value of an attribute of the primary key that the caller left out.
    func defaultValue(in itemClass: ItemClass) -> EncodedValue? {
        switch kind(in: itemClass) {
        case .blob: .string("")
        case .number, .flag: .integer(0)
        case .data: .data([])
        case .date: .date(0)
        default: nil
        }
    }
}

// MARK: Kinds

/// How values of an attribute are taken, stored and compared.
enum AttributeKind {
    /// String, data or number, kept in the caller's type; strings and data of the same bytes are equal.
    case blob
    case string
    case data
    /// Numbers; text that is no canonical decimal stays text.
    case number
    /// A number that says yes or no: synchronizable, tombstone.
    case flag
    case date
    case digest
    case identifier
    case accessControl
    case accessibility
}

extension Attribute {
    func kind(in itemClass: ItemClass) -> AttributeKind {
        switch self {
        case .label, .alias, .account, .service, .generic, .itemDescription, .comment, .legacyProtocol, .server, .securityDomain,
            .authenticationType, .path, .applicationTag:
            .blob
        case .accessGroup, .syncViewHint, .tokenID: .string
        case .subject, .issuer, .serialNumber, .subjectKeyID, .publicKeyHash, .applicationLabel: .data
        case .synchronizable, .tombstone: .flag
        case .startDate, .endDate, .creationDate, .modificationDate: .date
        case .sha1: .digest
        case .multiUser: .identifier
        case .accessControl: .accessControl
        case .accessible: .accessibility
        default: .number
        }
    }
}
