// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultFormat

/// The passkeys that an import would add, complete or replace: only another key under an identifier is another one.
struct PasskeyPlan {
    private let store: any ItemStore
    private let group: String?
    private let replaces: Bool
    /// The passkeys of the vault and the import, by their sites and identifiers.
    private var known: [[UInt8]: Passkey] = [:]
    private var additions: [Item] = []
    private var changes: [() throws -> Void] = []

    init(in store: any ItemStore, group: String?, replaces: Bool) throws(ImportError) {
        (self.store, self.group, self.replaces) = (store, group, replaces)
        for passkey in try outside({ try store.passkeys(of: nil) }) { known[PasskeyPlan.identity(passkey)] = passkey }
    }

    var count: Int { additions.count + changes.count }

    private static func identity(_ passkey: Passkey) -> [UInt8] {
        Array(passkey.relyingParty.utf8) + [0] + passkey.credentialID
    }

    mutating func plan(
        _ portable: PortablePasskey, source: String, created: Date?
    ) -> (outcome: ImportReport.Outcome, reason: String?) {
        let identity = PasskeyPlan.identity(portable.passkey)
        var portable = portable
        let reason =
            portable.keepFittingStatements() ? nil : "without statements of its source that an item has no room for"
        let item = portable.item(source: source, created: created, in: group)
        guard let existing = known[identity] else {
            known[identity] = portable.passkey
            additions.append(item)
            return (.added, reason)
        }
        // The label is the hash of the public key: nothing has to be opened.
        guard existing.item[.applicationLabel] != item[.applicationLabel] else {
            guard let record = existing.item.record else { return (.unchanged, "the source has it twice") }
            let pseudoRandomKey = portable.pseudoRandomKey
            guard let changes = existing.completion(from: portable.passkey, pseudoRandomKey: pseudoRandomKey) else {
                return (.unchanged, nil)
            }
            known[identity] = portable.passkey
            self.changes.append { [store] in try store.update(record, with: changes) }
            return (.updated, nil)
        }
        guard replaces, let record = existing.item.record else {
            return (.differs, "another passkey has its identifier, and another key")
        }
        known[identity] = portable.passkey
        let old = Query(persistentReference: record.persistentReference)
        changes.append { [store] in try store.store([item], replacing: false, deleting: [old]) }
        return (.updated, reason)
    }

    /// Carries out the plan: all additions or none, then each change.
    func carryOut() throws(ImportError) {
        try outside {
            if !additions.isEmpty { try store.store(additions, replacing: false) }
            for change in changes { try change() }
        }
    }
}
