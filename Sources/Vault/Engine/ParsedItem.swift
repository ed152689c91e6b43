// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// An item ready to be stored: its attributes are checked and in stored form.
struct ParsedItem {
    let itemClass: ItemClass
    var protection: Accessibility
    var values: AttributeList
    var user: [String: String]

    init(itemClass: ItemClass, protection: Accessibility, values: AttributeList, user: [String: String]) {
        self.itemClass = itemClass
        self.protection = protection
        self.values = values
        self.user = user
    }

    /// A new item, with its defaults.
    ///
    /// - Parameter flaw: as for ``ParsedQuery/init(_:groups:flaw:)``.
    /// - Throws: in Apple's order: `.accessGroupDenied` without groups, the item's own flaws, `.accessGroupDenied` for
    ///   a foreign group.
    init(_ item: Item, addedAsOneOf groups: AccessGroups, flaw: VaultError? = nil) throws(VaultError) {
        guard let defaultGroup = groups.first else { throw .accessGroupDenied }
        if let flaw { throw flaw }
        self.init(
            itemClass: item.itemClass, protection: item.itemClass == .certificate ? .always : .whenUnlocked,
            values: [:],
            user: item.userAttributes)
        values.reserveCapacity(12)
        try apply(item.attributes)
        try check(userAttributes: item.userAttributes.keys)
        for attribute in Attribute.primaryKey(of: itemClass) where values[attribute.tag] == nil {
            values[attribute.tag] = attribute.defaultValue
        }
        if values[Attribute.synchronizable.tag] == nil { values[Attribute.synchronizable.tag] = .integer(0) }
        if values[Attribute.accessGroup.tag] == nil { values[Attribute.accessGroup.tag] = .string(defaultGroup) }
        try check(groups)
    }

    /// Stores the division of the item's value.
    mutating func divide(by fields: ValueFields?) { values[.fields] = fields.map { .data($0.encoded) } }

    var encoded: EncodedAttributes { EncodedAttributes(values, user: user) }

    /// Checks the requirements of an item before it is written, whether new or changed.
    func check(_ groups: AccessGroups) throws(VaultError) {
        guard case .string(let group) = values[Attribute.accessGroup.tag], groups.allowsWriting(group) else {
            throw .accessGroupDenied
        }
        try checkAccessControl()
    }

    mutating func apply(_ changes: ItemChanges) throws(VaultError) {
        var attributes = changes.attributes
        // An item never moves to another user's view; Apple's systems ignore the attribute as well.
        attributes[.multiUser] = nil
        try apply(attributes)
        try check(userAttributes: changes.userAttributes.keys)
        for (name, value) in changes.userAttributes { user[name] = value }
    }

    private mutating func apply(_ attributes: [Attribute: AttributeValue]) throws(VaultError) {
        var (accessibility, control): (Accessibility?, AccessControl?)
        for (attribute, value) in attributes {
            guard attribute.belongs(to: itemClass) else { throw .noSuchAttribute(attribute.name) }
            // "Either" is not a property of an item.
            if attribute == .synchronizable, value == .string("syna") { continue }
            guard let encoded = value.encoded(as: attribute.kind) else {
                throw .parameter(.attributeValue(attribute.name))
            }
            switch attribute {
            case .accessible:
                accessibility = value.text.flatMap(Accessibility.init)
                guard accessibility != nil else { throw .parameter(.attributeValue(attribute.name)) }
            case .accessControl:
                if case .data(let bytes) = encoded { control = AccessControl(parsing: bytes) }
                guard control != nil else { throw .parameter(.attributeValue(attribute.name)) }
            case .synchronizable, .tombstone:
                guard encoded == .integer(0) || encoded == .integer(1) else {
                    throw .parameter(.attributeValue(attribute.name))
                }
                values[attribute.tag] = encoded
            // The dates belong to the record; a digest of the secret is never kept.
            case .creationDate, .modificationDate, .sha1: break
            // A value equal to the default is not stored.
            case .multiUser, .syncViewHint, .tokenID:
                values[attribute.tag] = encoded == attribute.absentValue ? nil : encoded
            default: values[attribute.tag] = encoded
            }
        }
        try protect(accessibility, control)
    }

    /// Makes the protection class and the access control agree, whichever of them the caller gave.
    private mutating func protect(_ accessibility: Accessibility?, _ control: AccessControl?) throws(VaultError) {
        guard let control = control ?? accessibility.map({ AccessControl($0) }) else { return }
        if let accessibility, control != AccessControl(accessibility) {
            throw .parameter(.attributeValue(Attribute.accessControl.name))
        }
        protection = control.accessibility
        // An access control that says no more than the protection class is derived from it on demand.
        values[Attribute.accessControl.tag] = control.constraints == nil ? nil : .data(control.encoded)
    }

    /// - Throws: `.unimplemented` for constraints that the vault does not enforce: see ``AccessControl/demand(of:)``.
    private func checkAccessControl() throws(VaultError) {
        guard case .data(let bytes) = values[Attribute.accessControl.tag], let control = AccessControl(parsing: bytes)
        else { return }
        guard values[Attribute.synchronizable.tag] != .integer(1) else {
            throw .parameter(.attributeValue(Attribute.accessControl.name))
        }
        guard control.demand(of: itemClass) != nil else { throw .unimplemented }
    }

    private func check(userAttributes names: some Sequence<String>) throws(VaultError) {
        for name in names where !(1...255).contains(name.utf8.count) { throw .parameter(.userAttributeName) }
    }
}
