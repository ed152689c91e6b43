// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

/// A query whose values were checked against the class, ready to be compared with records.
///
/// Size: each property is a condition of ``Query``, in the form in which it is compared.
struct ParsedQuery {
    /// An attribute that a record must have.
    struct Filter {
        let attribute: Attribute
        /// `nil` if records have their own field for the attribute.
        let tag: AttributeTag?
        let kind: AttributeKind
        /// The range of the value in ``keys``, in its comparison form.
        let key: Range<Int>
    }

    let itemClass: ItemClass
    /// At most one filter per attribute.
    private(set) var filters: [Filter] = []
    private(set) var keys: [UInt8] = []
    let userFilters: [String: String]
    let reference: ItemID?
    let limit: Query.Limit
    let words: SearchWords?
    let hostOrSubdomain: String?
    let face: Query.FaceCondition?
    /// The visible access groups; `nil` for all.
    private(set) var groups: [[UInt8]]?
    private(set) var matchesSynchronizable: Bool
    private(set) var matchesTombstones = false
    /// Whether items that require user presence are left out.
    let leavesOutProtected: Bool

    /// - Parameter flaw: an error found by a front end that a query cannot express; thrown in its turn.
    /// - Throws: in Apple's order: no groups, the query's own flaws, a foreign group, a condition that the class does
    ///   not support.
    init(_ query: Query, groups: AccessGroups, flaw: VaultError? = nil) throws(VaultError) {
        guard !groups.isEmpty else { throw .accessGroupDenied }
        let referenced = try query.persistentReference.map { bytes throws(VaultError) in
            try ParsedQuery.parse(reference: bytes)
        }
        reference = referenced?.id
        guard let itemClass = query.itemClass ?? referenced?.itemClass else { throw flaw ?? .parameter(.classMissing) }
        if let referenced, referenced.itemClass != itemClass { throw .noSuchClass }
        self.itemClass = itemClass
        userFilters = query.userAttributes
        limit = query.limit ?? .all
        words = query.text.map { SearchWords($0) }
        hostOrSubdomain = query.hostOrSubdomain
        face = query.face
        leavesOutProtected = query.presence == .leftOut
        self.groups = groups.names
        matchesSynchronizable = query.synchronizableAny || reference != nil
        try takeFilters(query.attributes)
        guard reference == nil || filters.isEmpty && query.userAttributes.isEmpty else {
            throw .parameter(.attributesWithReference)
        }
        if let flaw { throw flaw }
        if let named = query.attributes[.accessGroup]?.text {
            // Device identifiers belong to the device, and a query that names their group may read them.
            if named == DeviceIdentifier.accessGroup {
                self.groups = nil
            } else if !groups.allows(named) {
                throw .accessGroupDenied
            }
        }
        if query.hostOrSubdomain != nil, itemClass != .internetPassword { throw .unimplemented }
        guard query.conditions.allSatisfy({ $0.hasNoEffect(on: itemClass) }) else { throw .unimplemented }
    }

    private mutating func takeFilters(_ attributes: [Attribute: AttributeValue]) throws(VaultError) {
        guard !attributes.isEmpty else { return }
        keys.reserveCapacity(128)
        filters.reserveCapacity(attributes.count)
        for (attribute, value) in attributes {
            guard attribute.belongs(to: itemClass) else { throw .noSuchAttribute(attribute.name) }
            if attribute == .synchronizable {
                matchesSynchronizable = true
                // "Either" is not a property of an item.
                if value == .string("syna") { continue }
            }
            if attribute == .tombstone { matchesTombstones = true }
            try take(attribute, value)
        }
    }

    private mutating func take(_ attribute: Attribute, _ value: AttributeValue) throws(VaultError) {
        let kind = attribute.kind
        guard let encoded = value.encoded(as: kind) else { throw .parameter(.attributeValue(attribute.name)) }
        // The access control object describes an item and never selects one.
        if attribute == .accessControl {
            guard case .data(let bytes) = encoded, AccessControl(parsing: bytes) != nil else {
                throw .parameter(.attributeValue(attribute.name))
            }
            return
        }
        if attribute == .accessible, value.text.flatMap(Accessibility.init) == nil {
            throw .parameter(.attributeValue(attribute.name))
        }
        let start = keys.count
        MatchKey.append(kind, encoded, to: &keys)
        let tag = attribute.isEncoded ? attribute.tag : nil
        filters.append(Filter(attribute: attribute, tag: tag, kind: kind, key: start..<keys.count))
    }

    /// The query of an update. An invalid update fails even if nothing matches.
    ///
    /// - Parameter changesFlaw: an error that a front end found in the changes.
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

    /// The query of an update or a delete: for these, Apple's systems check the group first.
    private init(_ query: Query, changingAsOneOf groups: AccessGroups, _ flaw: VaultError?) throws(VaultError) {
        guard !groups.isEmpty else { throw .accessGroupDenied }
        if let value = query.attributes[.accessGroup]?.text, !groups.allowsWriting(value) { throw .accessGroupDenied }
        var query = query
        // Such conditions are refused at their own place in the order: see ``Query/checkForChange()``.
        (query.conditions, query.hostOrSubdomain) = ([], nil)
        // Items can be deleted without being read; an update checks itself what it may read.
        query.presence = .refused
        try self.init(query, groups: groups, flaw: flaw)
    }

    private static func parse(reference bytes: [UInt8]) throws(VaultError) -> (itemClass: ItemClass, id: ItemID) {
        guard bytes.count == 20, let name = String(validating: bytes[..<4], as: UTF8.self) else {
            throw .parameter(.persistentReference)
        }
        // An Apple class that has no table.
        guard name != "apls" else { throw .noSuchClass }
        guard let itemClass = ItemClass(rawValue: name) else { throw .parameter(.persistentReference) }
        return (itemClass, ItemID(bytes.span.extracting(4..<20)))
    }
}
