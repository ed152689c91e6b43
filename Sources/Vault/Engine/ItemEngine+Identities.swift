// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultCrypto
internal import VaultStorage

// What an update or a delete is about. Of identities, as on Apple's systems: all certificates that match and all keys,
// be they pairs or not; or both halves of the one that a reference names.

/// What is done to all items that match a query.
package enum QueriedChange: Sendable {
    case update, delete
}

extension ItemEngine {
    /// - Returns: none when one half of an identity has none.
    func changed(
        by query: Query, _ changes: ItemChanges, _ groups: AccessGroups
    ) throws(VaultError) -> [Record] {
        guard query.findsIdentities else {
            return try ParsedQuery(query, changing: changes, asOneOf: groups).find(in: records, index)
        }
        // They have no value in common: a key's would lie open in the certificate.
        guard changes.secret == nil, changes.fields.isEmpty else { throw .parameter(.key("v_Data")) }
        let halves = try query.halves.map { half throws(VaultError) in
            try ParsedQuery(half, changing: changes, asOneOf: groups)
        }
        if let pair = try pair(of: query, groups) { return pair }
        let certificates = try halves[0].find(in: records, index)
        let keys = try halves[1].find(in: records, index)
        return certificates.isEmpty || keys.isEmpty ? [] : certificates + keys
    }

    /// - Returns: none when there is no certificate.
    func deleted(by query: Query, _ groups: AccessGroups) throws(VaultError) -> [Record] {
        guard query.findsIdentities else {
            return try ParsedQuery(query, deletingAsOneOf: groups).find(in: records, index)
        }
        let halves = try query.halves.map { half throws(VaultError) in
            try ParsedQuery(half, deletingAsOneOf: groups)
        }
        guard var pair = try pair(of: query, groups) else {
            let certificates = try halves[0].find(in: records, index)
            return certificates.isEmpty ? [] : try certificates + halves[1].find(in: records, index)
        }
        // A key that another certificate has as well stays for it.
        if let hash = pair.first?.bytes(of: .publicKeyHash) {
            let others = Query(.certificate, attributes: [.publicKeyHash: .data(hash)])
            if try ParsedQuery(others, groups: groups).find(in: records, index).count > 1 { pair.removeLast() }
        }
        return pair
    }

    /// Which items an update or a delete is about, readable or not: to be written down beside what is done to them.
    func identifiers(
        of change: QueriedChange, matching query: Query, _ groups: AccessGroups
    ) throws(VaultError) -> [UUID] {
        switch change {
        case .update: try changed(by: query, ItemChanges(), groups).map { UUID($0.id) }
        case .delete: try deleted(by: query, groups).map { UUID($0.id) }
        }
    }

    /// Nil: the query names none.
    private func pair(of query: Query, _ groups: AccessGroups) throws(VaultError) -> [Record]? {
        guard query.persistentReference != nil else { return nil }
        var query = query
        // What is not read can be deleted; an update says itself what it may not read.
        query.presence = .refused
        return try IdentityQuery(query, groups: groups).find(in: records, index)
    }
}
