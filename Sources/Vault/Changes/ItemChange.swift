// SPDX-License-Identifier: Apache-2.0
public import FoundationEssentials
internal import VaultFormat

/// What happened in a store, as ``ItemStore/changes(matching:from:)`` tells it.
public struct ItemChange: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        /// The item came to match.
        case added
        case updated
        /// The item went, or does not match any more.
        case deleted
        /// More than can be told one by one: look at all that matches again. It stands for every change before it that
        /// was not told.
        case many
        /// The keys were wiped: items that can be read while unlocked only are out of reach.
        case locked
        case unlocked
        /// The store cannot be looked at. After `.closed` nothing comes any more, and after anything else `many` once
        /// it can be again.
        case failed(VaultError)
    }

    public let kind: Kind
    /// Nil where no single item is meant.
    public let itemClass: ItemClass?
    /// The item's UUID; nil where no single item is meant.
    public let id: UUID?
    /// The vault's commit that brought the change; it never falls from one element to the next.
    public let sequence: UInt64

    package init(_ kind: Kind, itemClass: ItemClass? = nil, id: UUID? = nil, sequence: UInt64) {
        self.kind = kind
        self.itemClass = itemClass
        self.id = id
        self.sequence = sequence
    }

    /// What finds the item; nil where no single item is meant.
    public var query: Query? {
        guard let itemClass, let id else { return nil }
        return Query(persistentReference: ItemRecord.reference(itemClass, ItemID(id)))
    }

    /// The change that this one and a later one of the same item are together; nil: none.
    func merged(with later: ItemChange) -> ItemChange? {
        let kind: Kind? =
            switch (self.kind, later.kind) {
            case (.added, .deleted): nil
            case (.added, _): .added
            // It is there again, and the reader has known it before.
            case (.deleted, .added): .updated
            default: later.kind
            }
        return kind.map { ItemChange($0, itemClass: itemClass, id: id, sequence: later.sequence) }
    }
}
