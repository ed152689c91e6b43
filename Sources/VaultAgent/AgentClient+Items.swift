// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
public import Vault

extension AgentClient {
    public func deviceIdentifier(for name: String = "", thisDeviceOnly: Bool = false) throws(VaultError) -> UUID {
        try identifier(.deviceIdentifier(name: name, thisDeviceOnly: thisDeviceOnly, reset: false))
    }

    @discardableResult
    public func resetDeviceIdentifier(for name: String = "", thisDeviceOnly: Bool = false) throws(VaultError) -> UUID {
        try identifier(.deviceIdentifier(name: name, thisDeviceOnly: thisDeviceOnly, reset: true))
    }
}

extension AgentClient {
    public func lockedCount(matching query: Query) throws(VaultError) -> Int { try count(.lockedCount(query)) }
}

// Older versions of items.

extension AgentClient {
    public func versions(matching query: Query) throws(VaultError) -> [ItemVersion] {
        var seen: Set<UUID> = []
        // The current one of each item comes first.
        return try items(.versions(query, deleted: false)).map { item in
            ItemVersion(item: item, isCurrent: item.record.map { seen.insert($0.id).inserted } ?? false)
        }
    }

    public func deletedItems(matching query: Query) throws(VaultError) -> [ItemVersion] {
        try items(.versions(query, deleted: true)).map { ItemVersion(item: $0, isCurrent: false) }
    }

    @discardableResult
    public func undo(_ record: ItemRecord, to version: UInt64?) throws(VaultError) -> Item {
        try item(.undo(StoredItem.Key(record), to: version))
    }

    @discardableResult
    public func restoreItem(_ record: ItemRecord) throws(VaultError) -> Item {
        try item(.restoreItem(StoredItem.Key(record)))
    }

    public func forget(accessGroup group: String) throws(VaultError) -> Int { try count(.forget(accessGroup: group)) }
}
