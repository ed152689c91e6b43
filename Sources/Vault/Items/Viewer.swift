// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

/// Who makes a call.
struct Viewer {
    /// Those that the caller belongs to.
    let groups: AccessGroups
    /// Whether a person has just given the vault's passphrase for this very call.
    let isAttended: Bool

    init(_ groups: AccessGroups, isAttended: Bool = false) {
        self.groups = groups
        self.isAttended = isAttended
    }
}

extension Query {
    /// The query as it is for the caller: nothing is left out for one that a person has allowed to read all.
    func seen(by viewer: Viewer) -> Query {
        guard viewer.isAttended else { return self }
        var query = self
        query.presence = .refused
        return query
    }
}

extension Record {
    /// Whether a person has to allow it before the item is read.
    var asksForPresence: Bool {
        guard let itemClass, let (_, range) = attributes.payload(of: Attribute.accessControl.tag) else { return false }
        return AccessControl.asksForPresence(attributes.bytes.span.array(range), itemClass)
    }

    /// - Throws: `.presenceRequired` when a person has to allow it first.
    func checkPresence(_ viewer: Viewer) throws(VaultError) {
        if !viewer.isAttended, asksForPresence { throw .presenceRequired }
    }
}

extension Item {
    /// Whether a person has to give the vault's passphrase each time before the item is read: see
    /// ``VaultError/presenceRequired``.
    public var asksForPresence: Bool {
        guard case .data(let stored)? = self[.accessControl] else { return false }
        return AccessControl.asksForPresence(stored, itemClass)
    }
}

extension Vault {
    /// The same vault as a caller sees it that a person has just given the passphrase for: a command that was given it,
    /// or a client that shows the ticket of the agent's.
    package func attended() -> Vault { withViewer(Viewer(accessGroups, isAttended: true)) }

    /// Whether a secret opens the vault, which stays as it is, locked or not.
    ///
    /// - Throws: `.storage(.wrongPassphrase)`, `.storage(.noMatchingSlot)`; `.storage(.rekeyed)` when it opens another
    ///   one that is in this one's place.
    package func check(_ secret: UnlockingSecret) throws(VaultError) { try core.check(secret) }
}
