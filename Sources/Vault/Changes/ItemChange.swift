// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
internal import VaultFormat

/// A change in a store, as reported by ``ItemStore/changes(matching:from:)``.
public struct ItemChange: Equatable, Sendable {
    /// The kind of a change.
    public enum Kind: Equatable, Sendable {
        /// The item matches now and did not before.
        case added
        /// The item matched before, and its attributes or its secret changed.
        case updated
        /// The item was deleted or no longer matches.
        case deleted
        /// More changes than are reported one by one: query all matching items again. Stands for every earlier change
        /// that was not reported.
        case many
        /// The keys were wiped: items that are readable only while unlocked are unavailable.
        case locked
        /// The keys are there again.
        case unlocked
        /// The store cannot be read. Nothing follows `.closed`; after any other error, `many` follows once the store is
        /// readable again.
        case failed(VaultError)
    }

    /// The kind of the change.
    public let kind: Kind
    /// `nil` if the change concerns no single item.
    public let itemClass: ItemClass?
    /// The item's UUID; `nil` if the change concerns no single item.
    public let id: UUID?
    /// The vault's commit that made the change; never decreases from one element to the next.
    public let sequence: UInt64

    package init(_ kind: Kind, itemClass: ItemClass? = nil, id: UUID? = nil, sequence: UInt64) {
        self.kind = kind
        self.itemClass = itemClass
        self.id = id
        self.sequence = sequence
    }

    /// A query that finds the item; `nil` if the change concerns no single item.
    public var query: Query? {
        guard let itemClass, let id else { return nil }
        return Query(persistentReference: ItemRecord.reference(itemClass, ItemID(id)))
    }

    /// The combination of this change with a later one of the same item; `nil` if they cancel out.
    func merged(with later: ItemChange) -> ItemChange? {
        let kind: Kind? =
            switch (self.kind, later.kind) {
            case (.added, .deleted): nil
            case (.added, _): .added
            // The reader knew the item before, so its return is an update.
            case (.deleted, .added): .updated
            default: later.kind
            }
        return kind.map { ItemChange($0, itemClass: itemClass, id: id, sequence: later.sequence) }
    }
}
