// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

// Records that share the primary key of an item.

extension ItemEngine {
    /// The record, live or tombstone, with the item's primary key, and the records of other devices with that key,
    /// which are absent here.
    func twins(of parsed: ParsedItem, except id: ItemID? = nil) throws(VaultError) -> (
        own: Record?, foreign: [Record]
    ) {
        var twins: (own: Record?, foreign: [Record]) = (nil, [])
        for record in known(like: parsed) where record.id != id && !record.isHidden {
            if try records.isAbsentHere(record) {
                twins.foreign.append(record)
            } else {
                twins.own = twins.own ?? record
            }
        }
        return twins
    }

    /// The synchronizable item with the item's primary key, if the item does not say whether it is synchronizable.
    func synchronizableTwin(of parsed: ParsedItem, _ item: Item) throws(VaultError) -> Record? {
        guard item[.synchronizable] ?? "syna" == "syna" else { return nil }
        var other = parsed
        other.values[Attribute.synchronizable.tag] = .integer(1)
        return try livingTwin(of: other)
    }

    func livingTwin(of parsed: ParsedItem) throws(VaultError) -> Record? {
        guard let twin = try twins(of: parsed).own, !twin.isTombstone else { return nil }
        return twin
    }

    /// Removes another device's items whose primary key the new item takes.
    func removeForeign(_ twins: [Record], in session: inout WriteSession) throws(VaultError) {
        for record in twins {
            // Without a check of this device's secret, every such item would seem to be another device's.
            try records.requireKnownDevice()
            try remove(record, in: &session)
        }
    }

    /// The records with the item's primary key.
    func known(like parsed: ParsedItem) -> [Record] {
        var hash = index.primaryKeyHash(of: parsed.itemClass)
        for attribute in Attribute.primaryKey(of: parsed.itemClass) {
            guard let value = parsed.values[attribute.tag] else { continue }
            hash.combine(attribute) { MatchKey.append(attribute.kind, value, to: &$0) }
        }
        var found: [Record] = []
        for place in index.candidates(hash, in: records).places {
            guard let record = records.record(at: place), record.itemClass == parsed.itemClass else { continue }
            if PrimaryKey(of: record, parsed.itemClass) == PrimaryKey(of: parsed) { found.append(record) }
        }
        return found
    }
}
