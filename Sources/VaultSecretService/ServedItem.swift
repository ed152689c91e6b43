// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultBus

/// An item as programs see it.
struct ServedItem: Sendable {
    let item: Item
    let record: ItemRecord
    let group: String
    let attributes: ProgramAttributes
    /// The label, never empty.
    let label: String
    let properties: BusProperties

    /// Fails for an item that is not served.
    init?(_ item: Item) {
        guard let record = item.record, ServedItem.classes.contains(item.itemClass) else { return nil }
        let group = item[.accessGroup]?.text ?? ""
        guard !HiddenItems.contains(group: group), !HiddenItems.isCollection(item) else { return nil }
        (self.item, self.record, self.group) = (item, record, group)
        let face = ItemFace(item)
        (attributes, label) = (face.programAttributes, face.title)
        properties = ServedItem.properties(
            label, attributes, record.created.wholeSeconds, record.modified.wholeSeconds)
    }

    static let classes = [ItemClass.genericPassword, .internetPassword]

    var id: UUID { record.id }
    var contentType: String { item.userAttributes[ItemNames.contentType] ?? "text/plain" }

    static func properties(
        _ label: String, _ attributes: ProgramAttributes, _ created: UInt64, _ modified: UInt64, isLocked: Bool = false
    ) -> BusProperties {
        [
            ("Locked", .flag(isLocked)), ("Attributes", .texts(attributes.values)), ("Label", .text(label)),
            ("Type", .text(attributes.type)), ("Created", .longNumber(created)), ("Modified", .longNumber(modified)),
        ]
    }

    /// The properties of an item about which nothing may be revealed.
    static let lockedProperties = properties("", ProgramAttributes(given: [:]), 0, 0, isLocked: true)
}

extension Date {
    /// The seconds since 1970; 0 for earlier dates.
    var wholeSeconds: UInt64 { UInt64(max(0, min(timeIntervalSince1970, 1e15))) }
}

/// The properties of a collection other than its items, stored in an item of its group that is not served.
struct CollectionRecord {
    static let service = HiddenItems.collectionService

    /// The identifier of the item; `nil` if it is not stored.
    let id: UUID?
    let label: String
    let aliases: [String]
    /// The element of the path; empty for the records of earlier versions.
    let path: String
    let created: UInt64
    let modified: UInt64

    /// Whether programs read the record of a locked vault; those of earlier versions they do not.
    let isReadableLocked: Bool

    private static let aliasesName = "vault.aliases"
    private static let pathName = "vault.path"

    init(_ item: Item) {
        id = item.record?.id
        label = item[.label]?.text ?? ""
        path = item.userAttributes[CollectionRecord.pathName] ?? ""
        isReadableLocked = item[.accessible]?.text == Accessibility.afterFirstUnlock.rawValue
        aliases = (item.userAttributes[CollectionRecord.aliasesName] ?? "").split(separator: "\n").map(String.init)
        created = item.record?.created.wholeSeconds ?? 0
        modified = item.record?.modified.wholeSeconds ?? 0
    }

    static func item(_ group: String, label: String, aliases: [String], path: String) -> Item {
        Item(
            .genericPassword(service: service),
            attributes: [.accessGroup: .string(group), .label: .string(label)],
            userAttributes: [aliasesName: aliases.joined(separator: "\n"), pathName: path],
            accessible: .afterFirstUnlock)
    }

    /// The query for the record of one group, or of all.
    static func query(_ group: String? = nil) -> Query {
        var query = Query(.genericPassword, service: service)
        if let group { query.attributes[.accessGroup] = .string(group) }
        query.complete()
        return query
    }
}
