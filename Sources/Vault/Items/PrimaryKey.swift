// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

extension Attribute {
    /// The attributes that, with ``commonPrimaryKey``, form the class's primary key.
    static func primaryKey(of itemClass: ItemClass) -> [Attribute] {
        switch itemClass {
        case .genericPassword: genericPasswordKey
        case .internetPassword: internetPasswordKey
        case .certificate: certificateKey
        case .key: keyKey
        }
    }

    /// The tags of ``primaryKey(of:)`` and of ``commonPrimaryKey``.
    static func primaryKeyTags(of itemClass: ItemClass) -> [AttributeTag] { keyTags[itemClass] ?? [] }

    private static let keyTags = Dictionary(
        uniqueKeysWithValues: ItemClass.allCases.map { ($0, (primaryKey(of: $0) + commonPrimaryKey).map(\.tag)) })

    private static let genericPasswordKey: [Attribute] = [.account, .service]
    private static let internetPasswordKey: [Attribute] = [
        .account, .securityDomain, .server, .protocolName, .authenticationType, .port, .path,
    ]
    private static let certificateKey: [Attribute] = [.certificateType, .issuer, .serialNumber]
    private static let keyKey: [Attribute] = [
        .keyClass, .applicationLabel, .applicationTag, .creator, .type, .keySizeInBits, .effectiveKeySize, .startDate,
        .endDate,
    ]

    static let commonPrimaryKey: [Attribute] = [.accessGroup, .synchronizable, .syncViewHint, .tokenID, .multiUser]

    /// The value that a query must have to find items without the attribute; `nil` if no value does.
    var absentValue: EncodedValue? {
        switch self {
        case .tombstone: .integer(0)
        case .syncViewHint, .tokenID: .string("")
        case .multiUser: .data([])
        default: nil
        }
    }

    /// The value of a primary key attribute that the caller omitted.
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

/// The primary key of an item: each value in its comparison form, preceded by its length.
struct PrimaryKey: Equatable {
    private var bytes: [UInt8] = []

    init(of item: ParsedItem) {
        for attribute in Attribute.primaryKey(of: item.itemClass) + Attribute.commonPrimaryKey {
            appendFramed { bytes in
                guard let value = item.values[attribute.tag] ?? attribute.absentValue else { return }
                MatchKey.append(attribute.kind, value, to: &bytes)
            }
        }
    }

    init(of record: Record, _ itemClass: ItemClass) {
        let attributes = record.attributes.bytes
        for attribute in Attribute.primaryKey(of: itemClass) + Attribute.commonPrimaryKey {
            appendFramed { bytes in _ = MatchKey.append(attribute, of: attributes.span, to: &bytes) }
        }
    }

    /// Appends a value preceded by its length; a missing value has length 0, which no present value has.
    private mutating func appendFramed(_ value: (inout [UInt8]) -> Void) {
        let start = bytes.count
        bytes.append(integer: UInt32(0))
        value(&bytes)
        let length = UInt32(bytes.count - start - 4)
        for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: length >> UInt32(8 * index)) }
    }
}
