// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultFormat
internal import VaultSync

/// The items whose secrets a device can read, or could read before its removal.
struct ReadableItems: Encodable {
    private let device: DeviceSummary
    private let isRemoved: Bool
    private let readable: [ItemOutput]
    private let items: [Item]

    private enum CodingKeys: CodingKey { case device, isRemoved, readable }

    var count: Int { items.count }

    init(_ secrets: DeviceSecrets, in store: any ItemStore) throws {
        items = try ReadableItems.items(secrets.readable, in: store)
        (device, isRemoved) = (DeviceSummary(secrets.device), secrets.isRemoved)
        readable = items.map { ItemOutput(item: $0) }
    }

    /// Returns the items that still exist and have a secret, sorted.
    private static func items(_ ids: [ItemID], in store: any ItemStore) throws -> [Item] {
        let wanted = Set(ids)
        let items = try ItemClass.allCases.flatMap { itemClass in
            try store.allMatching(Query(itemClass))
        }
        .filter { item in
            guard let record = item.record, record.hasSecret else { return false }
            // The reference consists of the class, of four bytes, and the identifier.
            return wanted.contains(ItemID(Array(record.persistentReference.dropFirst(4)).span))
        }
        return ItemTable.sorted(items).map(\.item)
    }

    func write(asJSON json: Bool) throws {
        if json {
            try Output.json(self)
        } else {
            try ItemTable(items).write()
        }
    }
}
