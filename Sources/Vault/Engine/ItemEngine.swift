// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

/// The rules of the four verbs, over the records of one vault. Every front end calls the engine and adds no rules of
/// its own.
///
/// Not thread-safe: ``Vault`` holds a mutex around every call, and the writer lock around every change.
///
/// Size: the engine has no state but the records and their index; each group of verbs is an extension in a file of its
/// own.
final class ItemEngine {
    let records: VaultStore
    let observer = EngineObserver()
    var index: ItemIndex { observer.index }

    init(_ records: VaultStore) {
        self.records = records
        records.observer = observer
    }

    // MARK: Finding

    func copyMatching(_ query: Query, _ viewer: Viewer, for source: any SecretSource) throws(VaultError) -> [Item] {
        let query = query.seen(by: viewer)
        if let name = query.name { return try self.items(named: name, query, viewer, for: source) }
        let found = try find(query, viewer.groups)
        var items: [Item] = []
        items.reserveCapacity(found.count)
        for record in found {
            guard records.canUse(record.protection) else {
                if query.leavesOutLocked { continue }
                throw .locked
            }
            // A key that is only to be used later asks for presence at that time.
            let staysClosed = query.leavesKeysClosed && record.itemClass == .key && record.asksForPresence
            if !staysClosed { try record.checkPresence(viewer) }
            items.append(Item(record, source))
            if query.returnsSecrets, !staysClosed { try open(&items[items.count - 1], of: record) }
        }
        guard !items.isEmpty else { throw .itemNotFound }
        return items
    }

    private func find(_ query: Query, _ groups: AccessGroups) throws(VaultError) -> [Record] {
        query.findsIdentities
            ? try IdentityQuery(query, groups: groups).find(in: records, index)
            : try ParsedQuery(query, groups: groups).find(in: records, index)
    }

    func lockedCount(matching query: Query, _ viewer: Viewer) throws(VaultError) -> Int {
        let leavesOut = query.seen(by: viewer).presence == .leftOut
        var query = query
        query.presence = .refused
        return try find(query, viewer.groups).count { record in
            !records.canUse(record.protection) || leavesOut && record.asksForPresence
        }
    }

    func isVisible(_ id: ItemID, to groups: AccessGroups) -> Bool {
        guard let place = records.place(of: id), let record = records.record(at: place) else { return false }
        return isVisible(record, to: groups)
    }

    func isVisible(_ record: Record, to groups: AccessGroups) -> Bool {
        groups.names?.contains { record.isInGroup($0) } ?? true
            || record.isInGroup(DeviceIdentifier.accessGroupName)
    }

    /// Gives an item its secrets, all read at the same moment.
    func open(_ item: inout Item, of record: Record) throws(VaultError) {
        guard let value = try records.value(of: record) else { return }
        let parts = try ItemValue(value, dividedBy: record.attributes.fields)
        (item.secret, item.fields) = (parts.main, parts.fields)
    }

    /// - Parameter field: `nil` for the secret itself.
    func secret(of id: ItemID, valueVersion: UInt64, field: String?, for viewer: Viewer) throws(VaultError) -> Secret? {
        guard let place = records.place(of: id), let record = records.record(at: place),
            try !records.isAbsentHere(record)
        else {
            throw .itemNotFound
        }
        guard record.valueVersion == valueVersion else { throw .itemChanged }
        try record.checkPresence(viewer)
        guard let value = try records.value(of: record) else { return nil }
        return try ItemValue.part(field, of: value, record.attributes.fields)
    }

    // MARK: Adding

    func add(
        _ item: Item, _ groups: AccessGroups, for source: any SecretSource,
        in session: inout WriteSession
    ) throws(VaultError) -> Item {
        var parsed = try parse(item, groups)
        let twins = try twins(of: parsed)
        if let twin = twins.own, !twin.isTombstone { throw .duplicateItem }
        if try synchronizableTwin(of: parsed, item) != nil { throw .duplicateItem }
        let value = try value(of: item, in: &parsed)
        if let grave = twins.own { return try revive(grave, as: parsed, value, source, in: &session) }
        try removeForeign(twins.foreign, in: &session)
        return try insert(parsed, value, source, dates(of: item), in: &session)
    }

    /// Adds, or updates the item with the same primary key.
    func set(
        _ item: Item, _ viewer: Viewer, for source: any SecretSource,
        in session: inout WriteSession
    ) throws(VaultError) -> Item {
        let parsed = try parse(item, viewer.groups)
        var found = try livingTwin(of: parsed)
        if found == nil { found = try synchronizableTwin(of: parsed, item) }
        guard let twin = found else { return try add(item, viewer.groups, for: source, in: &session) }
        var changes = ItemChanges(attributes: item.attributes, secret: item.secret)
        for (name, value) in item.userAttributes { changes.userAttributes[name] = .some(value) }
        for (name, field) in item.fields { changes.fields[name] = .some(field) }
        return Item(try update(twin, with: changes, viewer, in: &session) ?? twin, source)
    }

    private func parse(_ item: Item, _ groups: AccessGroups) throws(VaultError) -> ParsedItem {
        let parsed = try ParsedItem(item, addedAsOneOf: groups)
        try checkKey(of: parsed)
        return parsed
    }

    private func checkKey(of parsed: ParsedItem) throws(VaultError) {
        // Without a passphrase, no key that the user knows would seal the item.
        guard parsed.protection != .whenPasscodeSetThisDeviceOnly || records.hasPassphrase else {
            throw .storage(.noMatchingSlot)
        }
        guard records.canUse(parsed.protection) else { throw .locked }
    }

    private func insert(
        _ parsed: ParsedItem, _ value: ValueChange, _ source: any SecretSource,
        _ dates: (created: Double, modified: Double),
        in session: inout WriteSession
    ) throws(VaultError) -> Item {
        var parsed = parsed
        try stampFirst(&parsed)
        let record = Record(
            kind: .put, itemClass: parsed.itemClass, protection: parsed.protection, id: session.makeItemID(),
            version: 1,
            valueVersion: 0, ordinal: session.nextOrdinal, created: dates.created, modified: dates.modified, value: nil,
            deviceID: try deviceID(for: parsed.protection, in: session),
            attributes: parsed.encoded)
        return Item(try session.stage(record, value), source)
    }

    /// The dates of a new item: those that it brings, if they are in the past, else now.
    private func dates(of item: Item) -> (created: Double, modified: Double) {
        let now = records.now
        func past(_ attribute: Attribute) -> Double? {
            guard case .date(let date)? = item[attribute] else { return nil }
            let seconds = date.timeIntervalSinceReferenceDate
            return seconds <= now ? seconds : nil
        }
        let created = past(.creationDate) ?? now
        return (created, max(past(.modificationDate) ?? now, created))
    }

    /// An item that returns keeps the identity of the deleted one.
    private func revive(
        _ tombstone: Record, as parsed: ParsedItem, _ value: ValueChange, _ source: any SecretSource,
        in session: inout WriteSession
    ) throws(VaultError) -> Item {
        let now = modificationDate(after: tombstone)
        var record = tombstone
        record.protection = parsed.protection
        record.deviceID = try deviceID(for: parsed.protection, in: session)
        record.version += 1
        record.ordinal = session.nextOrdinal
        record.created = now
        record.modified = now
        record.attributes = parsed.encoded
        try stamp(&record, after: tombstone, .everything)
        return Item(try session.stage(record, value), source)
    }

    // MARK: Updating

    func update(
        matching query: Query, with changes: ItemChanges, _ viewer: Viewer,
        in session: inout WriteSession
    ) throws(VaultError) -> Int {
        let found = try changed(by: query, changes, viewer.groups)
        guard !found.isEmpty else { throw .itemNotFound }
        var count = 0
        for record in found {
            let changed = try update(
                record, with: changes, viewer, leavesTombstone: query.leavesTombstones, in: &session)
            if changed != nil { count += 1 }
        }
        return count
    }

    /// - Parameter leavesTombstone: whether a tombstone of the old primary key is left; `nil` for synchronizable items
    ///   only.
    /// - Returns: the new record; `nil` if the item was as the changes make it, and stayed so.
    func update(
        _ old: Record, with changes: ItemChanges, _ viewer: Viewer, leavesTombstone: Bool? = nil,
        in session: inout WriteSession
    ) throws(VaultError) -> Record? {
        guard let itemClass = old.itemClass else { throw .itemNotFound }
        guard records.canUse(old.protection) else { throw .locked }
        // A changed item counts as read first, as on Apple's systems; otherwise an update could remove the demand for
        // presence.
        try old.checkPresence(viewer)
        if let version = changes.version, version != old.version { throw .versionMismatch }
        var parsed = ParsedItem(
            itemClass: itemClass, protection: old.protection, values: old.attributes.values, user: old.attributes.user)
        try parsed.apply(changes)
        try parsed.check(viewer.groups)
        try checkKey(of: parsed)
        let value = try value(changes, old, in: &parsed)
        var new = old
        new.version += 1
        new.modified = modificationDate(after: old)
        // An item may bring a date from elsewhere; the date with which it was found is not a change.
        if case .date(let date)? = changes.attributes[.modificationDate],
            old.modified < date.timeIntervalSinceReferenceDate, date.timeIntervalSinceReferenceDate < new.modified
        {
            new.modified = date.timeIntervalSinceReferenceDate
        }
        if case .date(let date)? = changes.attributes[.creationDate] {
            new.created = date.timeIntervalSinceReferenceDate
        }
        new.attributes = parsed.encoded.keepingUnknown(of: old.attributes)
        new.protection = parsed.protection
        new.deviceID =
            parsed.protection.isThisDeviceOnly ? try deviceID(for: parsed.protection, in: session) : .init(repeating: 0)
        if try isUnchanged(old, by: new, value) {
            switch changes.ifUnchanged {
            case .skip: return nil
            case .touch: return try session.stage(new, .keep)
            }
        }
        let isMoved = hasMoved(old, to: parsed)
        if isMoved {
            let twins = try twins(of: parsed, except: old.id)
            if let twin = twins.own {
                guard twin.isTombstone else { throw .duplicateItem }
                try remove(twin, in: &session)
            }
            try removeForeign(twins.foreign, in: &session)
            // A merging device must learn that the old key is gone.
            if leavesTombstone ?? old.isSynchronizable { try leaveTombstone(of: old, in: &session) }
        }
        let freed = isMoved ? shadowed(like: old) : []
        try remember(old, in: &session)
        if old.hasClock, records.ownLog != nil, !new.isPublished {
            new = try leaveFleet(new, after: old, value, in: &session)
        } else {
            try stamp(&new, after: old, .fields(touched(changes, old, new)))
            new = try session.stage(new, value)
        }
        try letOut(freed, in: &session)
        return try settled(new, after: old, in: &session)
    }

    /// Whether an update leaves an item as it is, and may take no notice of it.
    private func isUnchanged(_ old: Record, by new: Record, _ value: ValueChange) throws(VaultError) -> Bool {
        guard new.attributes == old.attributes, new.protection == old.protection, new.created == old.created,
            !old.asksForPresence, !old.hasRivalValues, shadowed(like: old).isEmpty
        else { return false }
        switch value {
        case .keep: return true
        case .none: return !old.hasValue
        case .set(let secret): return try records.value(of: old).map { $0.isEqual(to: secret) } ?? false
        }
    }

    private func touched(_ changes: ItemChanges, _ old: Record, _ new: Record) -> Set<FieldID> {
        guard old.hasClock else { return [] }
        var touched = difference(old, new)
        if changes.secret != nil { touched.insert(.secret) }
        for name in changes.fields.keys { touched.insert(.namedSecret(name)) }
        return touched
    }

    /// The value of a new item; its division into fields is stored in the attributes.
    private func value(of item: Item, in parsed: inout ParsedItem) throws(VaultError) -> ValueChange {
        guard !item.fields.isEmpty else { return item.secret.map(ValueChange.set) ?? .none }
        let value = try ItemValue(main: item.secret, fields: item.fields)
        parsed.divide(by: value.division)
        return .set(try value.joined())
    }

    /// The change of an item's value; the division of the new value is stored in the attributes.
    private func value(
        _ changes: ItemChanges, _ old: Record, in parsed: inout ParsedItem
    ) throws(VaultError) -> ValueChange {
        let division = old.attributes.fields
        if changes.fields.isEmpty, changes.secret == nil || division == nil {
            if let secret = changes.secret { return .set(secret) }
            guard old.hasValue else { return .none }
            // Another protection class has another key, so the value is sealed again.
            guard parsed.protection != old.protection else { return .keep }
            return try records.value(of: old).map(ValueChange.set) ?? .none
        }
        // The unchanged parts of the value are carried over.
        let before = try records.value(of: old).map { value throws(VaultError) in
            try ItemValue(value, dividedBy: division)
        }
        var fields = before?.fields ?? [:]
        for (name, field) in changes.fields { fields[name] = field }
        let main = changes.secret ?? before?.main
        guard main != nil || !fields.isEmpty else { return .none }
        let after = try ItemValue(main: main, fields: fields)
        parsed.divide(by: after.division)
        return .set(try after.joined())
    }

    /// Modification dates of an item increase by at least a millisecond.
    func modificationDate(after last: Record) -> Double { max(records.now, last.modified + 0.001) }

    func hasMoved(_ old: Record, to parsed: ParsedItem) -> Bool {
        PrimaryKey(of: old, parsed.itemClass) != PrimaryKey(of: parsed)
    }

    func leaveTombstone(of old: Record, in session: inout WriteSession) throws(VaultError) {
        var grave = tombstone(of: old)
        grave.id = session.makeItemID()
        grave.version = 1
        grave.removeClock()
        _ = try session.stage(grave, .none)
    }

    // MARK: Deleting

    func delete(
        matching query: Query, _ groups: AccessGroups, in session: inout WriteSession
    ) throws(VaultError) -> Int {
        let found = try deleted(by: query, groups)
        guard !found.isEmpty else { throw .itemNotFound }
        for record in found {
            try remember(record, isDeleted: true, in: &session)
            let keepsTombstone = query.leavesTombstones ?? (record.isSynchronizable && !record.isTombstone)
            if record.hasClock, !record.isTombstone {
                for twin in shadowed(like: record) { try bury(twin, .hereOnly, in: &session) }
                try bury(record, keepsTombstone ? nil : .hereOnly, in: &session)
                continue
            }
            // An item of this device only is deleted here only: the fleet's items with its key stay.
            let freed = record.isTombstone ? [] : shadowed(like: record)
            if keepsTombstone {
                _ = try session.stage(tombstone(of: record), .none)
            } else {
                try remove(record, in: &session)
            }
            try letOut(freed, in: &session)
        }
        return found.count
    }

    func remove(_ record: Record, in session: inout WriteSession) throws(VaultError) {
        guard !record.hasClock else { return try hide(record, in: &session) }
        var removal = record
        removal.kind = .delete
        removal.version += 1
        removal.modified = modificationDate(after: record)
        removal.attributes = EncodedAttributes()
        _ = try session.stage(removal, .none)
    }

    /// The tombstone of a synchronizable item: its key, so that a later merge knows about the deletion.
    func tombstone(of record: Record) -> Record {
        var grave = record
        grave.version += 1
        grave.modified = modificationDate(after: record)
        guard let itemClass = record.itemClass else { return grave }
        let key = Attribute.primaryKeyTags(of: itemClass)
        var values = record.attributes.values.filter(key.contains)
        values[Attribute.tombstone.tag] = .integer(1)
        grave.attributes = EncodedAttributes(values, user: [:]).keepingUnknown(of: record.attributes)
        return grave
    }

    private func deviceID(for protection: Accessibility, in session: borrowing WriteSession)
        throws(VaultError) -> [
            16 of UInt8
        ]
    {
        guard protection.isThisDeviceOnly else { return .init(repeating: 0) }
        return try session.identifyDevice()
    }
}
