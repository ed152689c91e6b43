// SPDX-License-Identifier: Apache-2.0

/// An attribute of an item. ``name`` is Apple's raw value of the `kSecAttr…` constant.
///
/// The raw value is the attribute's number in the file; those from 0xF000 are stored elsewhere in the file or not at
/// all.
public enum Attribute: UInt16, Sendable, CaseIterable {
    /// `kSecAttrAccessGroup`.
    case accessGroup = 0x0001
    /// `kSecAttrSynchronizable`: 0 or 1.
    case synchronizable = 0x0002
    /// `kSecAttrTombstone`: 1 in what a deleted synchronizable item leaves.
    case tombstone = 0x0003
    /// `kSecAttrSyncViewHint`.
    case syncViewHint = 0x0004
    /// `kSecAttrTokenID`.
    case tokenID = 0x0005
    /// `kSecAttrLabel`: shown to people.
    case label = 0x0006
    /// `kSecAttrAlias`.
    case alias = 0x0007
    /// `kSecAttrAccessControl`.
    case accessControl = 0x0008
    /// `kSecAttrMultiUser`: 16 bytes, or none.
    case multiUser = 0x0009
    /// `kSecAttrAccount`: of a password.
    case account = 0x0010
    /// `kSecAttrService`: of a generic password.
    case service = 0x0011
    /// `kSecAttrGeneric`: bytes of the program's choice.
    case generic = 0x0012
    /// `kSecAttrDescription`.
    case itemDescription = 0x0013
    /// `kSecAttrComment`.
    case comment = 0x0014
    /// `kSecAttrCreator`: four characters as a number.
    case creator = 0x0015
    /// `kSecAttrType`: four characters as a number; of a key, the algorithm.
    case type = 0x0016
    /// `kSecAttrScriptCode`.
    case scriptCode = 0x0017
    /// `kSecAttrIsInvisible`.
    case isInvisible = 0x0018
    /// `kSecAttrIsNegative`.
    case isNegative = 0x0019
    /// `kSecAttrHasCustomIcon`.
    case hasCustomIcon = 0x001A
    /// Apple's `prot`: of old generic passwords, without a constant.
    case legacyProtocol = 0x001B
    /// `kSecAttrServer`: a host name or an address.
    case server = 0x0020
    /// `kSecAttrSecurityDomain`.
    case securityDomain = 0x0021
    /// `kSecAttrProtocol`.
    case protocolName = 0x0022
    /// `kSecAttrAuthenticationType`.
    case authenticationType = 0x0023
    /// `kSecAttrPort`: 0 to 65,535.
    case port = 0x0024
    /// `kSecAttrPath`.
    case path = 0x0025
    /// `kSecAttrCertificateType`.
    case certificateType = 0x0030
    /// `kSecAttrCertificateEncoding`.
    case certificateEncoding = 0x0031
    /// `kSecAttrSubject`: the normalized distinguished name, DER.
    case subject = 0x0032
    /// `kSecAttrIssuer`: the normalized distinguished name, DER.
    case issuer = 0x0033
    /// `kSecAttrSerialNumber`: the content bytes of the DER integer.
    case serialNumber = 0x0034
    /// `kSecAttrSubjectKeyID`: the content of the certificate's extension.
    case subjectKeyID = 0x0035
    /// `kSecAttrPublicKeyHash`: 20 bytes, SHA-1.
    case publicKeyHash = 0x0036
    /// `kSecAttrKeyClass`.
    case keyClass = 0x0040
    /// `kSecAttrApplicationLabel`: SHA-1 of the public key, 20 bytes.
    case applicationLabel = 0x0041
    /// `kSecAttrApplicationTag`: chosen by the application.
    case applicationTag = 0x0042
    /// `kSecAttrKeySizeInBits`: of the modulus or of the curve.
    case keySizeInBits = 0x0043
    /// `kSecAttrEffectiveKeySize`.
    case effectiveKeySize = 0x0044
    /// `kSecAttrStartDate`.
    case startDate = 0x0045
    /// `kSecAttrEndDate`.
    case endDate = 0x0046
    /// `kSecAttrIsPermanent`.
    case isPermanent = 0x0047
    /// `kSecAttrIsPrivate`.
    case isPrivate = 0x0048
    /// `kSecAttrIsModifiable`.
    case isModifiable = 0x0049
    /// `kSecAttrIsSensitive`.
    case isSensitive = 0x004A
    /// `kSecAttrWasAlwaysSensitive`.
    case wasAlwaysSensitive = 0x004B
    /// `kSecAttrIsExtractable`.
    case isExtractable = 0x004C
    /// `kSecAttrWasNeverExtractable`.
    case wasNeverExtractable = 0x004D
    /// `kSecAttrCanEncrypt`.
    case canEncrypt = 0x004E
    /// `kSecAttrCanDecrypt`.
    case canDecrypt = 0x004F
    /// `kSecAttrCanDerive`.
    case canDerive = 0x0050
    /// `kSecAttrCanSign`.
    case canSign = 0x0051
    /// `kSecAttrCanVerify`.
    case canVerify = 0x0052
    /// `kSecAttrCanSignRecover`.
    case canSignRecover = 0x0053
    /// `kSecAttrCanVerifyRecover`.
    case canVerifyRecover = 0x0054
    /// `kSecAttrCanWrap`.
    case canWrap = 0x0055
    /// `kSecAttrCanUnwrap`.
    case canUnwrap = 0x0056
    /// `kSecAttrAccessible`: an ``Accessibility``.
    case accessible = 0xF000
    /// `kSecAttrCreationDate`.
    case creationDate = 0xF001
    /// `kSecAttrModificationDate`.
    case modificationDate = 0xF002
    /// `kSecAttrSHA1`: of the certificate or of the public key, 20 bytes.
    case sha1 = 0xF003

    /// The table of attributes: Apple's raw value, the classes whose items can have the attribute, and the kind of its
    /// values.
    private var definition: Definition {
        switch self {
        case .accessGroup: Definition("agrp", .all, .string)
        case .synchronizable: Definition("sync", .all, .flag)
        case .tombstone: Definition("tomb", .all, .flag)
        case .syncViewHint: Definition("vwht", .all, .string)
        case .tokenID: Definition("tkid", .all, .string)
        case .label: Definition("labl", .all, .blob)
        case .alias: Definition("alis", .all, .blob)
        case .accessControl: Definition("accc", .all, .accessControl)
        case .multiUser: Definition("musr", .all, .identifier)
        case .account: Definition("acct", .passwords, .blob)
        case .service: Definition("svce", .genericPassword, .blob)
        case .generic: Definition("gena", .genericPassword, .blob)
        case .itemDescription: Definition("desc", .passwords, .blob)
        case .comment: Definition("icmt", .passwords, .blob)
        case .creator: Definition("crtr", .allButCertificates, .number)
        case .type: Definition("type", .allButCertificates, .number)
        case .scriptCode: Definition("scrp", .passwords, .number)
        case .isInvisible: Definition("invi", .passwords, .number)
        case .isNegative: Definition("nega", .passwords, .number)
        case .hasCustomIcon: Definition("cusi", .passwords, .number)
        case .legacyProtocol: Definition("prot", .passwords, .blob)
        case .server: Definition("srvr", .internetPassword, .blob)
        case .securityDomain: Definition("sdmn", .internetPassword, .blob)
        case .protocolName: Definition("ptcl", .internetPassword, .number)
        case .authenticationType: Definition("atyp", .internetPassword, .blob)
        case .port: Definition("port", .internetPassword, .number)
        case .path: Definition("path", .internetPassword, .blob)
        case .certificateType: Definition("ctyp", .certificate, .number)
        case .certificateEncoding: Definition("cenc", .certificate, .number)
        case .subject: Definition("subj", .certificate, .data)
        case .issuer: Definition("issr", .certificate, .data)
        case .serialNumber: Definition("slnr", .certificate, .data)
        case .subjectKeyID: Definition("skid", .certificate, .data)
        case .publicKeyHash: Definition("pkhh", .certificate, .data)
        case .keyClass: Definition("kcls", .key, .number)
        case .applicationLabel: Definition("klbl", .key, .data)
        case .applicationTag: Definition("atag", .key, .blob)
        case .keySizeInBits: Definition("bsiz", .key, .number)
        case .effectiveKeySize: Definition("esiz", .key, .number)
        case .startDate: Definition("sdat", .key, .date)
        case .endDate: Definition("edat", .key, .date)
        case .isPermanent: Definition("perm", .key, .number)
        case .isPrivate: Definition("priv", .key, .number)
        case .isModifiable: Definition("modi", .key, .number)
        case .isSensitive: Definition("sens", .key, .number)
        case .wasAlwaysSensitive: Definition("asen", .key, .number)
        case .isExtractable: Definition("extr", .key, .number)
        case .wasNeverExtractable: Definition("next", .key, .number)
        case .canEncrypt: Definition("encr", .key, .number)
        case .canDecrypt: Definition("decr", .key, .number)
        case .canDerive: Definition("drve", .key, .number)
        case .canSign: Definition("sign", .key, .number)
        case .canVerify: Definition("vrfy", .key, .number)
        case .canSignRecover: Definition("snrc", .key, .number)
        case .canVerifyRecover: Definition("vyrc", .key, .number)
        case .canWrap: Definition("wrap", .key, .number)
        case .canUnwrap: Definition("unwp", .key, .number)
        case .accessible: Definition("pdmn", .all, .accessibility)
        case .creationDate: Definition("cdat", .all, .date)
        case .modificationDate: Definition("mdat", .all, .date)
        case .sha1: Definition("sha1", .all, .digest)
        }
    }

    private struct Definition {
        let name: String
        let classes: Classes
        let kind: AttributeKind

        init(_ name: String, _ classes: Classes, _ kind: AttributeKind) {
            self.name = name
            self.classes = classes
            self.kind = kind
        }
    }

    private struct Classes: OptionSet {
        let rawValue: UInt8

        static let genericPassword = Classes(.genericPassword)
        static let internetPassword = Classes(.internetPassword)
        static let certificate = Classes(.certificate)
        static let key = Classes(.key)
        static let passwords: Classes = [.genericPassword, .internetPassword]
        static let allButCertificates: Classes = [.passwords, .key]
        static let all: Classes = [.allButCertificates, .certificate]

        init(rawValue: UInt8) { self.rawValue = rawValue }

        init(_ itemClass: ItemClass) { rawValue = 1 << itemClass.number }
    }

    /// Apple's raw value: four characters.
    public var name: String { definition.name }

    /// The attribute with Apple's name; `nil` if no class has it.
    public init?(name: String) {
        guard let attribute = Attribute.byName[name] else { return nil }
        self = attribute
    }

    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })

    /// Whether items of the class can have the attribute.
    public func belongs(to itemClass: ItemClass) -> Bool { definition.classes.contains(Classes(itemClass)) }

    package var kind: AttributeKind { definition.kind }

    /// Whether the attribute is stored encoded, rather than in a field of its own or not at all.
    package var isEncoded: Bool { rawValue < 0xF000 }

    package var tag: AttributeTag { AttributeTag(rawValue: rawValue) }

    /// Returns `nil` for user attributes and for those of a later version.
    package init?(_ tag: AttributeTag) {
        guard let attribute = Attribute(rawValue: tag.rawValue), attribute.isEncoded else { return nil }
        self = attribute
    }
}

/// How values of an attribute are accepted, stored and compared.
package enum AttributeKind: Sendable {
    /// String, data or number, kept in the caller's type; strings and data of the same bytes are equal.
    case blob
    case string
    case data
    /// Numbers; text that is not a canonical decimal stays text.
    case number
    /// A boolean number: synchronizable, tombstone.
    case flag
    case date
    case digest
    case identifier
    case accessControl
    case accessibility
}
