// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultFormat

/// The passkeys that an import would add or replace. A site registers a passkey once and for all, so that only another
/// key under the same identifier makes a difference.
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
    private var replacements: [(old: Query, new: Item)] = []

    /// - Parameters:
    ///   - group: the access group of added passkeys.
    ///   - replaces: whether the source takes precedence.
    init(in store: any ItemStore, group: String?, replaces: Bool) throws(ImportError) {
        (self.store, self.group, self.replaces) = (store, group, replaces)
        do throws(VaultError) {
            for passkey in try store.passkeys(of: nil, in: group) { known[Identity(passkey)] = passkey }
        } catch { throw .outside(error) }
    }

    /// The number of planned changes.
    var count: Int { additions.count + replacements.count }

    /// - Parameters:
    ///   - source: the value of ``ImportNames/source``.
    ///   - created: the time of creation at the source.
    mutating func plan(
        _ portable: PortablePasskey, source: String, created: Date?
    ) -> (outcome: ImportReport.Outcome, reason: String?) {
        let identity = Identity(portable.passkey)
        let item = portable.item(source: source, created: created, in: group)
        guard let existing = known[identity] else {
            known[identity] = portable.passkey
            additions.append(item)
            return (.added, nil)
        }
        // The label is the hash of the public key: nothing has to be opened.
        guard existing.item[.applicationLabel] != item[.applicationLabel] else {
            return (.unchanged, existing.item.record == nil ? "the source has it twice" : nil)
        }
        guard replaces, let record = existing.item.record else {
            return (.differs, "another passkey has its identifier, and another key")
        }
        known[identity] = portable.passkey
        replacements.append((Query(persistentReference: record.persistentReference), item))
        return (.updated, nil)
    }

    /// Carries out the plan: all additions or none, then each replacement.
    func carryOut() throws(ImportError) {
        try outside {
            if !additions.isEmpty { try store.store(additions, replacing: false) }
            for (old, new) in replacements { try store.store([new], replacing: false, deleting: [old]) }
        }
    }
}
