// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

/// A query whose values were checked against the class, ready to be compared with records.
struct ParsedQuery {
    let itemClass: ItemClass
    /// Each attribute once.
    let filters: [(attribute: Attribute, value: MatchKey)]
    let userFilters: [String: String]
    let reference: ItemID?
    let limit: Query.Limit
    let text: String?
    let hostOrSubdomain: String?
    /// The access groups that may be seen; nil: all.
    let groups: Set<[UInt8]>?
    let matchesSynchronizable: Bool
    let matchesTombstones: Bool

    /// - Parameter flaw: what a door found wrong that has no form in a query. It is thrown in its turn.
    /// - Throws: in Apple's order: no groups, the query's own flaws, a foreign group, what is not built for the class.
    init(_ query: Query, groups: AccessGroups, flaw: VaultError? = nil) throws(VaultError) {
        guard !groups.isEmpty else { throw .accessGroupDenied }
        let referenced = try query.persistentReference.map { bytes throws(VaultError) in
            try ParsedQuery.parse(reference: bytes)
        }
        reference = referenced?.id
        guard let itemClass = query.itemClass ?? referenced?.itemClass else {
            throw flaw ?? .parameter(.classMissing)
        }
        if let referenced, referenced.itemClass != itemClass { throw .noSuchClass }
        self.itemClass = itemClass
        var filters: [(attribute: Attribute, value: MatchKey)] = []
        var isAny = query.synchronizableAny
        for (attribute, value) in query.attributes {
            guard attribute.belongs(to: itemClass) else { throw .noSuchAttribute(attribute.name) }
            if attribute == .synchronizable, value == .string("syna") {
                isAny = true
                continue
            }
            let kind = attribute.kind
            guard let encoded = value.encoded(as: kind) else { throw .parameter(.attributeValue(attribute.name)) }
            // The access control object describes an item; it never selects one.
            if attribute == .accessControl {
                guard case .data(let bytes) = encoded, AccessControl(parsing: bytes) != nil else {
                    throw .parameter(.attributeValue(attribute.name))
                }
                continue
            }
            if attribute == .accessible, value.text.flatMap(Accessibility.init) == nil {
                throw .parameter(.attributeValue(attribute.name))
            }
            filters.append((attribute, MatchKey(encoded, kind: kind)))
        }
        guard reference == nil || filters.isEmpty && query.userAttributes.isEmpty else {
            throw .parameter(.attributesWithReference)
        }
        if let flaw { throw flaw }
        let named = query.attributes[.accessGroup]?.text
        if let named, !groups.allows(named), named != DeviceIdentifier.accessGroup { throw .accessGroupDenied }
        if query.hostOrSubdomain != nil, itemClass != .internetPassword { throw .unimplemented }
        guard query.conditions.allSatisfy({ $0.hasNoEffect(on: itemClass) }) else { throw .unimplemented }
        matchesSynchronizable = isAny || reference != nil || filters.contains { $0.attribute == .synchronizable }
        matchesTombstones = filters.contains { $0.attribute == .tombstone }
        self.filters = filters
        userFilters = query.userAttributes
        limit = query.limit ?? .all
        text = query.text?.lowercased()
        hostOrSubdomain = query.hostOrSubdomain
        // They are the device's, and whoever names their group may read them.
        self.groups = named == DeviceIdentifier.accessGroup ? nil : groups.names
    }

    /// The query of an update. A bad update is found out even when nothing matches.
    ///
    /// - Parameter changesFlaw: what a door found wrong with the changes.
    init(
        _ query: Query, changing changes: ItemChanges, asOneOf groups: AccessGroups, flaw: VaultError? = nil,
        changesFlaw: VaultError? = nil
    ) throws(VaultError) {
        try self.init(query, changingAsOneOf: groups, flaw)
        if let group = changes.attributes[.accessGroup]?.text, !groups.allowsWriting(group) { throw .accessGroupDenied }
        try query.checkForChange()
        if let changesFlaw { throw changesFlaw }
        var probe = ParsedItem(itemClass: itemClass, protection: .whenUnlocked, values: [:], user: [:])
        try probe.apply(changes)
    }

    /// The query of a delete.
    init(_ query: Query, deletingAsOneOf groups: AccessGroups, flaw: VaultError? = nil) throws(VaultError) {
        try self.init(query, changingAsOneOf: groups, flaw)
        try query.checkForChange()
    }

    /// The query of an update or a delete: here Apple's systems look at the group first.
    private init(_ query: Query, changingAsOneOf groups: AccessGroups, _ flaw: VaultError?) throws(VaultError) {
        guard !groups.isEmpty else { throw .accessGroupDenied }
        if let value = query.attributes[.accessGroup]?.text, !groups.allowsWriting(value) { throw .accessGroupDenied }
        var query = query
        // Any of them is refused, which has its own place in the order: see ``Query/checkForChange()``.
        (query.conditions, query.hostOrSubdomain) = ([], nil)
        try self.init(query, groups: groups, flaw: flaw)
    }

    private static func parse(reference bytes: [UInt8]) throws(VaultError) -> (itemClass: ItemClass, id: ItemID) {
        guard bytes.count == 20, let name = String(validating: bytes[..<4], as: UTF8.self) else {
            throw .parameter(.persistentReference)
        }
        // A class of Apple's that has no table.
        guard name != "apls" else { throw .noSuchClass }
        guard let itemClass = ItemClass(rawValue: name) else { throw .parameter(.persistentReference) }
        return (itemClass, ItemID(bytes.span.extracting(4..<20)))
    }

    func matches(_ record: Record) -> Bool {
        guard record.itemClass == itemClass else { return false }
        if !matchesTombstones, record.isTombstone { return false }
        if !matchesSynchronizable, record.isSynchronizable { return false }
        if let reference, record.id != reference { return false }
        if let groups, !groups.contains(where: { record.isInGroup($0) }) { return false }
        for (attribute, value) in filters where !attribute.holds(value, in: record, itemClass) { return false }
        if !userFilters.isEmpty {
            let user = record.attributes.user
            // By their bytes: strings that only look alike are not the same value.
            for (name, value) in userFilters where user[name].map({ Array($0.utf8) }) != Array(value.utf8) {
                return false
            }
        }
        if let host = hostOrSubdomain {
            guard let server = record.text(of: .server),
                server.utf8.elementsEqual(host.utf8)
                    || server.utf8.reversed().starts(with: ("." + host).utf8.reversed())
            else { return false }
        }
        if let text {
            let visible: [Attribute] = [.service, .server, .account, .label]
            guard visible.contains(where: { record.text(of: $0)?.lowercased().contains(text) == true }) else {
                return false
            }
        }
        return true
    }

    /// The records that match, in the order of their creation; no more than the limit.
    func find(in store: some RecordSource, _ index: ItemIndex) throws(VaultError) -> [Record] {
        let maximum: Int
        switch limit {
        case .one: maximum = 1
        case .all: maximum = .max
        case .count(let count): maximum = count < 0 ? .max : count
        }
        guard maximum > 0 else { return [] }
        // Numbers are sorted, since records are large to move.
        var order = candidates(store, index).compactMap { place in store.ordinal(at: place).map { (ordinal: $0, place) }
        }
        if order.count > 1 { order.sort { $0.ordinal < $1.ordinal } }
        var found: [Record] = []
        found.reserveCapacity(min(order.count, maximum))
        for (_, place) in order where found.count < maximum {
            guard let record = store.record(at: place), matches(record) else { continue }
            if try !store.isAbsentHere(record) { found.append(record) }
        }
        return found
    }

    /// Attributes that nearly every item shares: an index over them proposes nearly everything.
    private static let unselective: Set<Attribute> = [
        .accessGroup, .accessible, .synchronizable, .tombstone, .modificationDate, .creationDate,
    ]

    private func candidates(_ store: some RecordSource, _ index: ItemIndex) -> [Int] {
        if let reference { return store.place(of: reference).map { [$0] } ?? [] }
        let primary = index.candidates(primaryKeyOf: itemClass, in: store) { attribute in
            filters.first { $0.attribute == attribute }?.value
        }
        if let primary { return primary }
        var best: (count: Int, places: () -> [Int])?
        func offer(_ candidate: (count: Int, () -> [Int])) {
            if candidate.count < best?.count ?? .max { best = (candidate.count, candidate.1) }
        }
        for (attribute, value) in filters where !ParsedQuery.unselective.contains(attribute) {
            offer(index.candidates(attribute, value, itemClass, in: store))
        }
        for (name, value) in userFilters { offer(index.candidates(user: name, value, itemClass, in: store)) }
        if let best { return best.places() }
        for (attribute, value) in filters where attribute.isEncoded {
            offer(index.candidates(attribute, value, itemClass, in: store))
        }
        if let best { return best.places() }
        return Array(0..<store.recordEnd)
    }
}

extension Record {
    var isTombstone: Bool { attributes.isOne(Attribute.tombstone.tag) }

    var isSynchronizable: Bool { attributes.isOne(Attribute.synchronizable.tag) }

    /// An item without the attribute is in the group without a name.
    func isInGroup(_ name: [UInt8]) -> Bool {
        guard let (_, range) = attributes.payload(of: Attribute.accessGroup.tag) else { return name.isEmpty }
        return attributes.bytes.span.extracting(range).elementsEqual(name.span)
    }

    func text(of attribute: Attribute) -> String? {
        attributes[attribute.tag].flatMap { AttributeValue($0).text }
    }
}
