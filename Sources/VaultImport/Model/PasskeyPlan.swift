// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultFormat

/// The passkeys that an import would add, complete or replace. A site registers a passkey once and for all, so that
/// only another key under the same identifier makes a difference.
struct PasskeyPlan {
    /// The identity of a passkey.
    private struct Identity: Hashable {
        let relyingParty: String
        let credentialID: [UInt8]

        init(_ passkey: Passkey) { (relyingParty, credentialID) = (passkey.relyingParty, passkey.credentialID) }
    }

    private let store: any ItemStore
    private let group: String?
    private let replaces: Bool
    /// The passkeys of the vault, and those of this import.
    private var known: [Identity: Passkey] = [:]
    private var additions: [Item] = []
    private var completions: [(record: ItemRecord, changes: ItemChanges)] = []
    private var replacements: [(old: Query, new: Item)] = []

    /// - Parameters:
    ///   - group: the access group of added passkeys.
    ///   - replaces: whether the source takes precedence.
    init(in store: any ItemStore, group: String?, replaces: Bool) throws(ImportError) {
        (self.store, self.group, self.replaces) = (store, group, replaces)
        do throws(VaultError) {
            for passkey in try store.passkeys(of: nil) { known[Identity(passkey)] = passkey }
        } catch { throw .outside(error) }
    }

    /// The number of planned changes.
    var count: Int { additions.count + completions.count + replacements.count }

    /// - Parameters:
    ///   - source: the value of ``ItemNames/source``.
    ///   - created: the time of creation at the source.
    mutating func plan(
        _ portable: PortablePasskey, source: String, created: Date?
    ) -> (outcome: ImportReport.Outcome, reason: String?) {
        let identity = Identity(portable.passkey)
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
            completions.append((record, changes))
            return (.updated, nil)
        }
        guard replaces, let record = existing.item.record else {
            return (.differs, "another passkey has its identifier, and another key")
        }
        known[identity] = portable.passkey
        replacements.append((Query(persistentReference: record.persistentReference), item))
        return (.updated, reason)
    }

    /// Carries out the plan: all additions or none, then each change.
    func carryOut() throws(ImportError) {
        try outside {
            if !additions.isEmpty { try store.store(additions, replacing: false) }
            for (record, changes) in completions { try store.update(record, with: changes) }
            for (old, new) in replacements { try store.store([new], replacing: false, deleting: [old]) }
        }
    }
}
