// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

/// The caller of a verb.
struct Viewer {
    /// The access groups of the caller.
    let groups: AccessGroups
    /// Whether the user has just entered the vault's passphrase for this very call.
    let isAttended: Bool

    init(_ groups: AccessGroups, isAttended: Bool = false) {
        self.groups = groups
        self.isAttended = isAttended
    }
}

extension Query {
    /// The query as it applies to the caller: nothing is left out if the user has permitted everything.
    func seen(by viewer: Viewer) -> Query {
        guard viewer.isAttended else { return self }
        var query = self
        query.presence = .refused
        return query
    }
}

extension Record {
    /// Whether reading the item requires user presence.
    var asksForPresence: Bool {
        guard let itemClass, let (_, range) = attributes.payload(of: Attribute.accessControl.tag) else { return false }
        return AccessControl.asksForPresence(attributes.bytes.span.array(range), itemClass)
    }

    /// - Throws: `.presenceRequired` if the item requires user presence and the caller is not attended.
    func checkPresence(_ viewer: Viewer) throws(VaultError) {
        if !viewer.isAttended, asksForPresence { throw .presenceRequired }
    }
}

extension Item {
    /// Whether the vault's passphrase must be entered each time before the item is read: see
    /// ``VaultError/presenceRequired``.
    public var asksForPresence: Bool {
        guard case .data(let stored)? = self[.accessControl] else { return false }
        return AccessControl.asksForPresence(stored, itemClass)
    }
}

extension Vault {
    /// The same vault for a caller for which the passphrase was just entered: a command that asked for it, or a client
    /// that shows a ticket from the agent.
    package func attended() -> Vault { withViewer(Viewer(accessGroups, isAttended: true)) }

    /// Checks whether a secret opens the vault, which stays locked or unlocked as it is.
    ///
    /// - Throws: `.storage(.wrongPassphrase)`, `.storage(.noMatchingSlot)`; `.storage(.rekeyed)` if the secret opens
    ///   another vault that has replaced this one.
    package func check(_ secret: UnlockingSecret) throws(VaultError) { try core.check(secret) }
}
