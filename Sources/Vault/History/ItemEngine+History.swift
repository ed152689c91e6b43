// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

// Older versions of items, which the four verbs never match.

extension ItemEngine {
    /// Keeps the current version of an item before it is changed or deleted.
    func remember(_ old: Record, isDeleted: Bool = false, in session: inout WriteSession) throws(VaultError) {
        guard records.historyLimit > 0, !old.isTombstone else { return }
        var past = old
        past.kind = .past
        if past.hasClock { past.removeClock() }
        if isDeleted { past.attributes = past.attributes.setting(.deleted, .date(records.now)) }
        _ = try session.stage(past, .keep)
    }

    /// How long deleted items are kept, in days; `nil` for as long as the history has room.
    var deletedDays: Int? { records.settings.flatMap { VaultSettings.deletedDays(in: $0.attributes) } }

    /// - Parameter deletedDays: `nil` for as long as the history has room.
    func setHistoryLimit(_ limit: Int, deletedDays: Int?, in session: inout WriteSession) throws(VaultError) {
        let old = records.settings
        guard old != nil || limit > 0 || deletedDays != nil else { return }
        var settings =
            old
            ?? Record(
                kind: .put, itemClass: nil, protection: .always, id: session.makeItemID(), version: 0, valueVersion: 0,
                ordinal: session.nextOrdinal, created: records.now, modified: records.now, value: nil,
                deviceID: .init(repeating: 0),
                attributes: EncodedAttributes())
        settings.version += 1
        settings.modified = max(records.now, settings.modified)
        settings.attributes = VaultSettings.attributes(
            historyLimit: limit, deletedDays: deletedDays, replacing: old?.attributes)
        _ = try session.stage(settings, .none)
    }

    /// The versions of each matching item, newest first: the current one, then the kept ones.
    func versions(matching query: Query, _ viewer: Viewer, for source: any SecretSource) throws(VaultError)
        -> [ItemVersion]
    {
        let found = try ParsedQuery(query.seen(by: viewer), groups: viewer.groups).find(in: records, index)
        guard !found.isEmpty else { throw .itemNotFound }
        var versions: [ItemVersion] = []
        for current in found {
            // Versions from before the item entered the caller's groups are not visible to the caller.
            for record in [current] + records.versions(of: current.id).reversed()
            where isVisible(record, to: viewer.groups) {
                if try records.isAbsentHere(record) { continue }
                guard let version = try version(record, of: query, viewer, source, isCurrent: record.kind == .put)
                else {
                    continue
                }
                versions.append(version)
            }
        }
        return versions
    }

    /// The last version of each matching deleted item, in the order of creation.
    func deleted(matching query: Query, _ viewer: Viewer, for source: any SecretSource) throws(VaultError)
        -> [ItemVersion]
    {
        let found = try deletedRecords(matching: query, viewer.groups)
        guard !found.isEmpty else { throw .itemNotFound }
        var versions: [ItemVersion] = []
        for record in found {
            guard let version = try version(record, of: query, viewer, source, isCurrent: false) else { continue }
            versions.append(version)
        }
        guard !versions.isEmpty else { throw .itemNotFound }
        return versions
    }

    /// Returns `nil` if the query leaves out items that require user presence and this is one.
    private func version(
        _ record: Record, of query: Query, _ viewer: Viewer, _ source: any SecretSource, isCurrent: Bool
    ) throws(VaultError) -> ItemVersion? {
        guard records.canUse(record.protection) else { throw .locked }
        if !viewer.isAttended, isCurrent ? record.asksForPresence : asksForPresence(record.id) {
            guard query.presence == .leftOut else { throw .presenceRequired }
            return nil
        }
        var item = Item(record, source)
        if query.returnsSecrets { try open(&item, of: record) }
        return ItemVersion(item: item, isCurrent: isCurrent)
    }

    /// Whether any version of the item requires user presence: an earlier version without the demand may hold the same
    /// secret.
    private func asksForPresence(_ id: ItemID) -> Bool {
        let current = records.place(of: id).flatMap { records.record(at: $0) }
        return current?.asksForPresence == true || records.versions(of: id).contains(where: \.asksForPresence)
    }

    private func deletedRecords(matching query: Query, _ groups: AccessGroups) throws(VaultError) -> [Record] {
        let (parsed, days) = (try ParsedQuery(query, groups: groups), deletedDays)
        var found: [Record] = []
        for record in records.lastVersions
        where parsed.matches(record.encoded().span) && isDeleted(record.id) && !isExpired(record, after: days) {
            if try !records.isAbsentHere(record) { found.append(record) }
        }
        return found.sorted { ($0.ordinal, $0.version) < ($1.ordinal, $1.version) }
    }

    private func isDeleted(_ id: ItemID) -> Bool {
        guard let place = records.place(of: id), let record = records.record(at: place) else { return true }
        return record.isTombstone
    }

    /// Whether a deleted item's retention period has ended.
    private func isExpired(_ record: Record, after days: Int?) -> Bool {
        guard let days, case .date(let deleted)? = record.attributes[.deleted] else { return false }
        return deleted + Double(days) * 86_400 < records.now
    }

    /// The deleted items whose retention period has ended.
    var expiredItems: Set<ItemID> {
        guard let days = deletedDays else { return [] }
        return Set(records.lastVersions.filter { isExpired($0, after: days) && isDeleted($0.id) }.map(\.id))
    }

    /// Makes an older version the current one; the replaced version is kept in its turn.
    ///
    /// - Parameter version: `nil` for the previous version.
    func undo(
        _ id: ItemID, to version: UInt64?, _ viewer: Viewer, for source: any SecretSource,
        in session: inout WriteSession
    ) throws(VaultError) -> Item {
        guard isVisible(id, to: viewer.groups), let place = records.place(of: id),
            let current = records.record(at: place),
            !current.isTombstone,
            try !records.isAbsentHere(current)
        else { throw .itemNotFound }
        let versions = records.versions(of: id)
        guard let past = version == nil ? versions.last : versions.last(where: { $0.version == version }),
            isVisible(past, to: viewer.groups)
        else { throw .itemNotFound }
        guard records.canUse(current.protection) else { throw .locked }
        try current.checkPresence(viewer)
        try remember(current, in: &session)
        return try bringBack(past, after: current, viewer, source, in: &session)
    }

    /// Adds a deleted item again, under its old identifier.
    func restore(
        _ id: ItemID, _ viewer: Viewer, for source: any SecretSource,
        in session: inout WriteSession
    ) throws(VaultError) -> Item {
        guard isDeleted(id), let past = records.versions(of: id).last, !isExpired(past, after: deletedDays),
            isVisible(past, to: viewer.groups)
        else { throw .itemNotFound }
        var last = records.place(of: id).flatMap { records.record(at: $0) } ?? past
        last.version = records.lastVersion(of: id)
        return try bringBack(past, after: last, viewer, source, in: &session)
    }

    private func bringBack(
        _ past: Record, after last: Record, _ viewer: Viewer, _ source: any SecretSource,
        in session: inout WriteSession
    ) throws(VaultError) -> Item {
        guard let itemClass = past.itemClass, try !records.isAbsentHere(past) else { throw .itemNotFound }
        guard records.canUse(past.protection) else { throw .locked }
        guard viewer.isAttended || !asksForPresence(past.id) else { throw .presenceRequired }
        let parsed = ParsedItem(
            itemClass: itemClass, protection: past.protection, values: past.attributes.values,
            user: past.attributes.user)
        try parsed.check(viewer.groups)
        let twins = try twins(of: parsed, except: past.id)
        if let twin = twins.own {
            guard twin.isTombstone else { throw .duplicateItem }
            try remove(twin, in: &session)
        }
        try removeForeign(twins.foreign, in: &session)
        // A merging device must learn that the key which the item had meanwhile is gone.
        if last.kind == .put, last.isSynchronizable, !last.isTombstone, hasMoved(last, to: parsed) {
            try leaveTombstone(of: last, in: &session)
        }
        var new = past
        new.kind = .put
        new.attributes = new.attributes.removing([.deleted])
        new.version = last.version + 1
        new.modified = modificationDate(after: last)
        let freed = last.kind == .put && hasMoved(last, to: parsed) ? shadowed(like: last) : []
        if last.kind == .put, !last.isTombstone {
            if last.hasClock, records.ownLog != nil, !new.isPublished {
                new = try leaveFleet(new, after: last, .set(records.value(of: past) ?? ""), in: &session)
                return Item(new, source)
            }
            var touched = difference(last, new)
            if past.valueVersion != last.valueVersion { touched.formUnion(secretFields(past, last)) }
            try stamp(&new, after: last, .fields(touched))
        } else {
            try stamp(&new, after: last, .everything)
        }
        new = try session.stage(new, .keep)
        try letOut(freed, in: &session)
        return Item(try settled(new, after: last, in: &session), source)
    }

    private func secretFields(_ a: Record, _ b: Record) -> Set<FieldID> {
        Set((Array(a.replicatedFields.keys) + Array(b.replicatedFields.keys)).filter(\.isSecret))
    }

    /// The matching items, including deleted ones, whose older versions are to be removed.
    func historyOwners(matching query: Query, onlyDeleted: Bool, _ groups: AccessGroups) throws(VaultError) -> Set<
        ItemID
    > {
        let deleted = try deletedRecords(matching: query, groups).map(\.id)
        if onlyDeleted { return Set(deleted) }
        return try Set(deleted + ParsedQuery(query, groups: groups).find(in: records, index).map(\.id))
    }

    /// All current and past items of an access group.
    func items(ofGroup group: String) -> (current: Set<ItemID>, past: Set<ItemID>) {
        let name = Array(group.utf8)
        func isOfGroup(_ item: Record) -> Bool {
            item.isInGroup(name) || DeviceIdentifier.isIdentifier(item, of: group)
        }
        var current: Set<ItemID> = []
        for place in 0..<records.recordEnd {
            guard let record = records.record(at: place), record.itemClass != nil, isOfGroup(record) else { continue }
            current.insert(record.id)
        }
        return (current, Set(records.lastVersions.filter { isDeleted($0.id) && isOfGroup($0) }.map(\.id)))
    }
}
