// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

/// The rules of the four verbs, over the records of one store. Every door ends here; none has rules of its own.
///
/// Not thread-safe: ``Vault`` holds a mutex around every call, and the writer lock around those that change something.
final class ItemEngine {
    let store: VaultStore
    private let index = ItemIndex()

    init(_ store: VaultStore) {
        self.store = store
        store.observer = index
    }

    // MARK: Finding

    func copyMatching(_ query: Query, _ groups: AccessGroups, for owner: any ItemStore) throws(VaultError) -> [Item] {
        let found = try ParsedQuery(query, groups: groups).find(in: store, index)
        guard !found.isEmpty else { throw .itemNotFound }
        var items: [Item] = []
        items.reserveCapacity(found.count)
        for (_, operation) in found {
            guard store.canUse(operation.protection) else { throw .locked }
            var item = Item(operation, owner)
            if query.returnsSecrets { item.secret = try open(operation) }
            items.append(item)
        }
        return items
    }

    func secret(of record: ItemRecord) throws(VaultError) -> Secret? {
        guard let place = store.records.place(of: ItemID(record)), let operation = store.records[place], try !isForeign(operation) else {
            throw .itemNotFound
        }
        guard operation.valueVersion == record.valueVersion else { throw .itemChanged }
        return try open(operation)
    }

    private func open(_ operation: Operation) throws(VaultError) -> Secret? {
        do throws(StorageError) {
            guard let bytes = try store.openValue(of: operation) else { return nil }
            return Secret(bytes)
        } catch {
            guard error == .damaged(.value(operation.id)), !store.isWriting else { throw VaultError(error) }
        }
        guard let again = try stored({ () throws(StorageError) in try store.openValueAgain(of: operation) }) else { throw .itemChanged }
        return again
    }

    // MARK: Adding

    func add(_ item: Item, _ groups: AccessGroups, for owner: any ItemStore) throws(VaultError) -> Item {
        let draft = try parse(item, groups)
        if let twin = try twin(of: draft) {
            guard twin.isTombstone else { throw .duplicateItem }
            return try revive(twin, as: draft, item.secret, owner)
        }
        return try insert(draft, item.secret, owner)
    }

    /// Adds, or updates the item with the same primary key.
    func set(_ item: Item, _ groups: AccessGroups, for owner: any ItemStore) throws(VaultError) -> Item {
        let draft = try parse(item, groups)
        guard let twin = try twin(of: draft), !twin.isTombstone else { return try add(item, groups, for: owner) }
        var changes = ItemChanges(attributes: item.attributes, secret: item.secret)
        for (name, value) in item.userAttributes { changes.userAttributes[name] = .some(value) }
        let changed = try update(twin, with: changes, groups)
        return Item(changed, owner)
    }

    /// An item that is about to be stored, with its defaults.
    private struct Draft {
        var itemClass: ItemClass
        var protection: Protection
        var values: [AttributeTag: EncodedValue]
        var user: [String: String]

        var encoded: EncodedAttributes { EncodedAttributes(values, user: user) }

        func matchKey(_ attribute: Attribute) -> MatchKey? {
            (values[attribute.tag] ?? attribute.absentValue).map { MatchKey($0, kind: attribute.kind(in: itemClass)) }
        }
    }

    private func parse(_ item: Item, _ groups: AccessGroups) throws(VaultError) -> Draft {
        guard let defaultGroup = groups.first else { throw .accessGroupDenied }
        let itemClass = item.itemClass
        var draft = Draft(
            itemClass: itemClass, protection: itemClass == .certificate ? .always : .whenUnlocked, values: [:], user: item.userAttributes)
        try apply(item.attributes, to: &draft)
        try check(userAttributes: item.userAttributes.keys)
        for attribute in Attribute.primaryKey(of: itemClass) where draft.values[attribute.tag] == nil {
            draft.values[attribute.tag] = attribute.defaultValue(in: itemClass)
        }
        if draft.values[Attribute.synchronizable.tag] == nil { draft.values[Attribute.synchronizable.tag] = .integer(0) }
        if draft.values[Attribute.accessGroup.tag] == nil { draft.values[Attribute.accessGroup.tag] = .string(defaultGroup) }
        try checkGroup(of: draft, groups)
        guard store.canUse(draft.protection) else { throw .locked }
        return draft
    }

    /// Takes attributes over into an item, each in its stored form.
    private func apply(_ attributes: [Attribute: AttributeValue], to draft: inout Draft) throws(VaultError) {
        for (attribute, value) in attributes {
            guard attribute.belongs(to: draft.itemClass) else { throw .noSuchAttribute(attribute.name) }
            if attribute == .synchronizable, value == .string("syna") {
                draft.values[attribute.tag] = .integer(0)
                continue
            }
            guard let encoded = value.encoded(as: attribute.kind(in: draft.itemClass)) else {
                throw .parameter(.attributeValue(attribute.name))
            }
            switch attribute {
            case .accessible:
                guard let accessibility = value.text.flatMap(Accessibility.init) else { throw .parameter(.attributeValue(attribute.name)) }
                draft.protection = accessibility.stored
            case .synchronizable, .tombstone:
                guard encoded == .integer(0) || encoded == .integer(1) else { throw .parameter(.attributeValue(attribute.name)) }
                draft.values[attribute.tag] = encoded
            // The engine's own clock sets the dates; a digest of the secret is never kept.
            case .creationDate, .modificationDate, .sha1: break
            // What is absent anyway is not stored.
            case .multiUser, .syncViewHint, .tokenID: draft.values[attribute.tag] = encoded == attribute.absentValue ? nil : encoded
            default: draft.values[attribute.tag] = encoded
            }
        }
    }

    private func check(userAttributes names: some Sequence<String>) throws(VaultError) {
        for name in names where !(1...255).contains(name.utf8.count) { throw .parameter(.userAttributeName) }
    }

    private func checkGroup(of draft: Draft, _ groups: AccessGroups) throws(VaultError) {
        guard case .string(let group) = draft.values[Attribute.accessGroup.tag], groups.allows(group) else { throw .accessGroupDenied }
    }

    /// The record, live or tombstone, that has the draft's primary key. An item of another device is absent and is none.
    private func twin(of draft: Draft, except id: ItemID? = nil) throws(VaultError) -> Operation? {
        for operation in records(like: draft) where operation.id != id {
            if try !isForeign(operation) { return operation }
        }
        return nil
    }

    private func isForeign(_ operation: Operation) throws(VaultError) -> Bool {
        try stored { () throws(StorageError) in try store.isForeign(operation) }
    }

    /// What takes the key of another device's item takes its place.
    private func removeForeignTwins(of draft: Draft) throws(VaultError) {
        for operation in records(like: draft) {
            guard try isForeign(operation) else { continue }
            // Without a look at this device's secret every such item seems to be another's.
            try stored { () throws(StorageError) in try store.checkDeviceIsKnown() }
            try remove(operation)
        }
    }

    /// The records with the draft's primary key.
    private func records(like draft: Draft) -> [Operation] {
        let own = Attribute.primaryKey(of: draft.itemClass)
        let candidates = index.candidates(primaryKey: own.compactMap { draft.matchKey($0) }, of: draft.itemClass, in: store.records)
        return candidates.compactMap { store.records[$0] }.filter { operation in
            operation.itemClass == draft.itemClass.stored
                && (own + Attribute.commonPrimaryKey).allSatisfy { draft.matchKey($0) == $0.matchKey(in: operation, draft.itemClass) }
        }
    }

    private func insert(_ draft: Draft, _ secret: Secret?, _ owner: any ItemStore) throws(VaultError) -> Item {
        try removeForeignTwins(of: draft)
        let now = store.now
        let operation = Operation(
            kind: .put, itemClass: draft.itemClass.stored, protection: draft.protection, id: store.makeItemID(), version: 1,
            valueVersion: 0,
            ordinal: store.nextOrdinal, created: now, modified: now, value: nil, deviceID: try deviceID(for: draft.protection),
            attributes: draft.encoded)
        try stage(operation, secret.map(ValueChange.set) ?? .none)
        return Item(store.current(operation), owner)
    }

    /// An item that comes back keeps the identity of the one that was deleted.
    private func revive(_ tombstone: Operation, as draft: Draft, _ secret: Secret?, _ owner: any ItemStore) throws(VaultError) -> Item {
        let now = max(store.now, tombstone.modified + ItemEngine.tick)
        var operation = tombstone
        operation.protection = draft.protection
        operation.deviceID = try deviceID(for: draft.protection)
        operation.version += 1
        operation.ordinal = store.nextOrdinal
        operation.created = now
        operation.modified = now
        operation.attributes = draft.encoded
        try stage(operation, secret.map(ValueChange.set) ?? .none)
        return Item(store.current(operation), owner)
    }

    // MARK: Updating

    /// Modification dates of an item rise by a millisecond at least.
    private static let tick = 0.001

    func update(matching query: Query, with changes: ItemChanges, _ groups: AccessGroups) throws(VaultError) -> Int {
        let parsed = try parseForChange(query, groups)
        // A bad update is reported even when nothing matches.
        var probe = Draft(itemClass: parsed.itemClass, protection: .whenUnlocked, values: [:], user: [:])
        try apply(changes.attributes, to: &probe)
        try check(userAttributes: changes.userAttributes.keys)
        if case .string(let group) = probe.values[Attribute.accessGroup.tag], !groups.allows(group) { throw .accessGroupDenied }
        let found = try parsed.find(in: store, index)
        guard !found.isEmpty else { throw .itemNotFound }
        for (_, operation) in found { _ = try update(operation, with: changes, groups) }
        return found.count
    }

    private func update(_ old: Operation, with changes: ItemChanges, _ groups: AccessGroups) throws(VaultError) -> Operation {
        guard let itemClass = ItemClass(old.itemClass) else { throw .itemNotFound }
        guard store.canUse(old.protection) else { throw .locked }
        if let version = changes.version, version != old.version { throw .versionMismatch }
        var draft = Draft(
            itemClass: itemClass, protection: old.protection, values: old.attributes.values, user: old.attributes.user)
        var attributes = changes.attributes
        attributes[.multiUser] = nil
        try apply(attributes, to: &draft)
        try check(userAttributes: changes.userAttributes.keys)
        for (name, value) in changes.userAttributes { draft.user[name] = value }
        try checkGroup(of: draft, groups)
        guard store.canUse(draft.protection) else { throw .locked }
        var new = old
        new.version += 1
        new.modified = max(store.now, old.modified + ItemEngine.tick)
        if case .date(let date)? = changes.attributes[.creationDate] { new.created = date.timeIntervalSinceReferenceDate }
        new.attributes = draft.encoded.keepingUnknown(of: old.attributes)
        new.protection = draft.protection
        new.deviceID = draft.protection.isThisDeviceOnly ? try deviceID(for: draft.protection) : .init(repeating: 0)
        if hasMoved(old, to: draft) {
            if let twin = try twin(of: draft, except: old.id) {
                guard twin.isTombstone else { throw .duplicateItem }
                try remove(twin)
            }
            try removeForeignTwins(of: draft)
            // Whoever merges must learn that the old key is gone.
            if old.isSynchronizable { try leaveTombstone(of: old) }
        }
        try stage(new, try valueChange(changes.secret, old, new))
        return store.current(new)
    }

    private func valueChange(_ secret: Secret?, _ old: Operation, _ new: Operation) throws(VaultError) -> ValueChange {
        if let secret { return .set(secret) }
        guard old.value != nil else { return .none }
        // Another protection class is another key: the value is sealed again.
        guard new.protection == old.protection else { return try open(old).map(ValueChange.set) ?? .none }
        return .keep
    }

    private func hasMoved(_ old: Operation, to draft: Draft) -> Bool {
        (Attribute.primaryKey(of: draft.itemClass) + Attribute.commonPrimaryKey).contains { attribute in
            draft.matchKey(attribute) != attribute.matchKey(in: old, draft.itemClass)
        }
    }

    private func leaveTombstone(of old: Operation) throws(VaultError) {
        var grave = tombstone(of: old)
        grave.id = store.makeItemID()
        grave.version = 1
        try stage(grave, .none)
    }

    // MARK: Deleting

    func delete(matching query: Query, _ groups: AccessGroups) throws(VaultError) -> Int {
        let parsed = try parseForChange(query, groups)
        let found = try parsed.find(in: store, index)
        guard !found.isEmpty else { throw .itemNotFound }
        for (_, operation) in found {
            let keepsTombstone = query.leavesTombstones ?? (operation.isSynchronizable && !operation.isTombstone)
            if keepsTombstone { try stage(tombstone(of: operation), .none) } else { try remove(operation) }
        }
        return found.count
    }

    private func parseForChange(_ query: Query, _ groups: AccessGroups) throws(VaultError) -> ParsedQuery {
        let parsed = try ParsedQuery(query, groups: groups)
        // Everything that matches is meant: who asks for one expects the rest to stay.
        guard query.limit == nil || query.limit == .all else { throw .parameter(.limit) }
        guard query.hostOrSubdomain == nil, query.text == nil else { throw .parameter(.matchKey) }
        return parsed
    }

    private func remove(_ operation: Operation) throws(VaultError) {
        var removal = operation
        removal.kind = .delete
        removal.version += 1
        removal.modified = max(store.now, operation.modified + ItemEngine.tick)
        removal.attributes = EncodedAttributes()
        try stage(removal, .none)
    }

    /// What stays of a synchronizable item: its key, so that a later merge knows that it went.
    private func tombstone(of operation: Operation) -> Operation {
        var grave = operation
        grave.version += 1
        grave.modified = max(store.now, operation.modified + ItemEngine.tick)
        guard let itemClass = ItemClass(operation.itemClass) else { return grave }
        let key = Set((Attribute.primaryKey(of: itemClass) + Attribute.commonPrimaryKey).map(\.tag))
        var values = operation.attributes.values.filter { key.contains($0.key) }
        values[Attribute.tombstone.tag] = .integer(1)
        grave.attributes = EncodedAttributes(values, user: [:]).keepingUnknown(of: operation.attributes)
        return grave
    }

    private func deviceID(for protection: Protection) throws(VaultError) -> [16 of UInt8] {
        guard protection.isThisDeviceOnly else { return .init(repeating: 0) }
        do throws(StorageError) { return try store.deviceIdentifier() } catch { throw VaultError(error) }
    }

    private func stage(_ operation: Operation, _ value: ValueChange) throws(VaultError) {
        do throws(StorageError) { try store.stage(operation, value: value) } catch { throw VaultError(error) }
    }
}

extension VaultStore {
    /// The record as it is in the table after it was staged.
    fileprivate func current(_ operation: Operation) -> Operation {
        records.place(of: operation.id).flatMap { records[$0] } ?? operation
    }
}

extension ItemID {
    init(_ record: ItemRecord) { self.init(record.persistentReference.span.extracting(4..<20)) }
}

extension Item {
    /// The item of a record, without its secret.
    init(_ operation: Operation, _ owner: any ItemStore) {
        let itemClass = ItemClass(operation.itemClass) ?? .genericPassword
        var attributes: [Attribute: AttributeValue] = [:]
        for (tag, value) in operation.attributes.values {
            if let attribute = Attribute(tag) { attributes[attribute] = AttributeValue(value) }
        }
        let (created, modified) = (
            Date(timeIntervalSinceReferenceDate: operation.created), Date(timeIntervalSinceReferenceDate: operation.modified)
        )
        attributes[.accessible] = .string(Accessibility(operation.protection).rawValue)
        attributes[.creationDate] = .date(created)
        attributes[.modificationDate] = .date(modified)
        self.init(
            itemClass, attributes: attributes, userAttributes: operation.attributes.user,
            record: ItemRecord(
                itemClass: itemClass, id: UUID(operation.id), version: operation.version, created: created, modified: modified,
                hasSecret: operation.value != nil, valueVersion: operation.valueVersion, store: owner))
    }
}
