// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import VaultCrypto
internal import VaultFormat
internal import VaultStorage

/// A stored item for transfer between processes: its attributes are encoded as in the file and decoded only on demand.
package struct StoredItem: Sendable {
    /// The address of one value of one item.
    package struct Key: Sendable {
        /// 16 bytes.
        package let id: [UInt8]
        package let valueVersion: UInt64

        package init(id: [UInt8], valueVersion: UInt64) {
            self.id = id
            self.valueVersion = valueVersion
        }

        package init(_ record: ItemRecord) {
            var id: [UInt8] = []
            id.append(record.itemID.bytes)
            self.init(id: id, valueVersion: record.valueVersion)
        }
    }

    package let itemClass: ItemClass
    package let accessibility: Accessibility
    package let attributes: [UInt8]
    package let id: [UInt8]
    package let version: UInt64
    package let valueVersion: UInt64
    package let created: Date
    package let modified: Date
    package let hasSecret: Bool
    package let secret: Secret?
    package let fields: [String: Secret]

    package init(
        itemClass: ItemClass, accessibility: Accessibility, attributes: [UInt8], id: [UInt8], version: UInt64,
        valueVersion: UInt64,
        created: Date, modified: Date, hasSecret: Bool, secret: Secret?, fields: [String: Secret]
    ) {
        self.itemClass = itemClass
        self.accessibility = accessibility
        self.attributes = attributes
        self.id = id
        self.version = version
        self.valueVersion = valueVersion
        self.created = created
        self.modified = modified
        self.hasSecret = hasSecret
        self.secret = secret
        self.fields = fields
    }

    /// Returns `nil` if the item was never stored.
    package init?(_ item: Item) {
        guard let record = item.record else { return nil }
        let key = Key(record)
        self.init(
            itemClass: item.itemClass, accessibility: item.protection, attributes: record.attributes.bytes, id: key.id,
            version: record.version, valueVersion: key.valueVersion, created: record.created, modified: record.modified,
            hasSecret: record.hasSecret, secret: item.secret, fields: item.fields)
    }

    /// Whether the attributes are valid as encoded in a file.
    package var isWellFormed: Bool { (try? EncodedAttributes(parsing: attributes, attributes.indices)) != nil }
}

extension Item {
    /// An item received from another process.
    ///
    /// - Parameter source: opens its secret on demand.
    package init?(_ item: StoredItem, _ source: any SecretSource) {
        guard let attributes = try? EncodedAttributes(parsing: item.attributes, item.attributes.indices) else {
            return nil
        }
        self.init(item.itemClass, item.accessibility, ItemRecord(item, attributes, source))
        secret = item.secret
        fields = item.fields
    }
}

extension ItemRecord {
    fileprivate init(_ item: StoredItem, _ attributes: EncodedAttributes, _ source: any SecretSource) {
        itemClass = item.itemClass
        self.attributes = attributes
        itemID = ItemID(item.id.span)
        version = item.version
        created = item.created
        modified = item.modified
        hasSecret = item.hasSecret
        valueVersion = item.valueVersion
        self.source = source
    }
}

extension Vault {
    /// Opens the value that the key names, or a field of it.
    ///
    /// - Throws: as ``secret(of:field:)``; `.itemNotFound` for an item of a group that is not the caller's, since the
    ///   caller may have guessed the key.
    package func secret(of key: StoredItem.Key, field: String?) throws(VaultError) -> Secret? {
        try secret(ofVisible: ItemID(key.id.span), valueVersion: key.valueVersion, field: field)
    }
}
