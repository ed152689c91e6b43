// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

// A store by a program is one step here: two programs that each look for their item, and then add it, add two.

/// The item that a program has stored.
package struct ReplacedItem: Sendable {
    package let item: Item
    /// The number of other items that it could have been, and that were left as they are.
    package let leftCount: Int
}

extension ItemEngine {
    /// Changes the last changed item of the group that a program stores again, or adds one.
    ///
    /// Earlier versions, and programs of other devices, may have left several such items: the last changed one is kept,
    /// and its history gets the contents of the others. Left are those that ask for a person, that are locked, in
    /// conflict or have fields, that a person or an import has made, and those with another class, protection or mark
    /// for other devices.
    ///
    /// - Parameters:
    ///   - item: for a new item. If its key is taken, its account gets a number.
    ///   - given: the attributes that the program has given; `nil` for a new item.
    func replace(
        _ item: Item, sameAs given: ProgramAttributes?, _ viewer: Viewer, for source: any SecretSource,
        in session: inout WriteSession
    ) throws(VaultError) -> ReplacedItem {
        let group = item[.accessGroup]?.text ?? viewer.groups.first ?? ""
        var found: [Record] = []
        for itemClass in given == nil ? [] : [ItemClass.genericPassword, .internetPassword] {
            var query = Query(itemClass)
            query.face = given.map { .program($0.values) }
            found += try ParsedQuery(query, groups: viewer.groups).find(in: records, index)
        }
        let same = found.filter { record in
            record.isInGroup(Array(group.utf8))
                && given.map { ProgramAttributes(of: Item(record, source)).areStored(againWith: $0) } ?? false
        }
        let usable = same.filter { records.canUse($0.protection) && !$0.asksForPresence }
            .sorted { ($0.modified, $0.ordinal) < ($1.modified, $1.ordinal) }
        guard let given, let newest = usable.last else {
            let added = try addUnderFreeKey(item, viewer, for: source, in: &session)
            return ReplacedItem(item: added, leftCount: same.count)
        }
        // Without a history, nothing would be left of them.
        let twins = records.historyLimit == 0 ? [] : usable.filter { isTwin($0, of: newest, source) }
        let kept = try keep(newest, insteadOf: twins, viewer, source, in: &session)
        var changes = replacement(of: Item(kept, source), by: item, given)
        if found.contains(where: { $0.id != newest.id && $0.modified > kept.modified }) { changes.ifUnchanged = .touch }
        let stored = try update(kept, with: changes, viewer, in: &session) ?? kept
        return ReplacedItem(item: Item(stored, source), leftCount: same.count - twins.count - 1)
    }

    private func replacement(of old: Item, by item: Item, _ given: ProgramAttributes) -> ItemChanges {
        let isPrograms = ProgramAttributes(of: old).areGiven
        var changes = ItemChanges(secret: item.secret)
        let label = item.label ?? ""
        // Programs read the title as the label.
        if label != ItemFace(old).title, label != old.label ?? "", isPrograms || !label.isEmpty {
            changes.attributes[.label] = .string(label)
        }
        if isPrograms { changes.userAttributes = given.changes(of: old).userAttributes }
        let contentType = item.userAttributes[ItemNames.contentType]
        if contentType != old.userAttributes[ItemNames.contentType] {
            changes.userAttributes[ItemNames.contentType] = .some(contentType)
        }
        return changes
    }

    private func isTwin(_ record: Record, of newest: Record, _ source: any SecretSource) -> Bool {
        record.id != newest.id && record.itemClass == newest.itemClass && record.protection == newest.protection
            && record.isSynchronizable == newest.isSynchronizable && record.attributes.fields == nil
            && !record.hasRivalValues && shadowed(like: record).isEmpty
            && [record, newest].allSatisfy { ProgramAttributes(of: Item($0, source)).areGiven }
    }

    /// Deletes twins of an item, whose contents become older versions of the item.
    private func keep(
        _ newest: Record, insteadOf twins: [Record], _ viewer: Viewer, _ source: any SecretSource,
        in session: inout WriteSession
    ) throws(VaultError) -> Record {
        guard !twins.isEmpty else { return newest }
        var versions: [ItemChanges] = []
        for record in twins + [newest] {
            versions.append(
                ItemChanges(
                    attributes: [.label: .string(record.text(of: .label) ?? "")],
                    secret: try secret(of: record.id, valueVersion: record.valueVersion, field: nil, for: viewer)))
        }
        var kept = newest
        for version in versions { kept = try update(kept, with: version, viewer, in: &session) ?? kept }
        for twin in twins {
            guard let record = Item(twin, source).record else { continue }
            _ = try delete(
                matching: Query(persistentReference: record.persistentReference), viewer.groups, in: &session)
        }
        return kept
    }

    /// Adds an item whose account gets a number if another item has its key: `ada~2`, `ada~3`, ….
    private func addUnderFreeKey(
        _ item: Item, _ viewer: Viewer, for source: any SecretSource,
        in session: inout WriteSession
    ) throws(VaultError) -> Item {
        do throws(VaultError) { return try add(item, viewer.groups, for: source, in: &session) } catch {
            guard error == .duplicateItem, item.itemClass == .genericPassword else { throw error }
        }
        let query = Query(
            .genericPassword, attributes: item.attributes.filter { [.service, .accessGroup].contains($0.key) })
        let taken = Set(
            try ParsedQuery(query, groups: viewer.groups).find(in: records, index).map { $0.text(of: .account) ?? "" })
        let account = item.account ?? ""
        var (item, number) = (item, 2)
        while taken.contains("\(account)~\(number)") { number += 1 }
        item[.account] = .string("\(account)~\(number)")
        return try add(item, viewer.groups, for: source, in: &session)
    }
}
