// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

extension Attribute {
    /// The attributes that, with ``commonPrimaryKey``, no two items of the class may have in common.
    static func primaryKey(of itemClass: ItemClass) -> [Attribute] {
        switch itemClass {
        case .genericPassword: [.account, .service]
        case .internetPassword: [.account, .securityDomain, .server, .protocolName, .authenticationType, .port, .path]
        case .certificate: [.certificateType, .issuer, .serialNumber]
        case .key:
            [
                .keyClass, .applicationLabel, .applicationTag, .creator, .type, .keySizeInBits, .effectiveKeySize,
                .startDate, .endDate,
            ]
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
    var defaultValue: EncodedValue? {
        switch kind {
        case .blob: .string("")
        case .number, .flag: .integer(0)
        case .data: .data([])
        case .date: .date(0)
        default: nil
        }
    }
}
