// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultCrypto
internal import VaultStorage

// The items affected by an update or a delete. For identities, as on Apple's systems: all matching certificates and all
// matching keys, paired or not; or both halves of the identity that a reference names.

/// A change of all items that match a query.
package enum QueriedChange: Sendable {
    case update, delete
}

extension ItemEngine {
    /// - Returns: an empty array if either half of an identity has no match.
    func changed(by query: Query, _ changes: ItemChanges, _ groups: AccessGroups) throws(VaultError) -> [Record] {
        guard query.findsIdentities else {
            return try ParsedQuery(query, changing: changes, asOneOf: groups).find(in: records, index)
        }
        // The halves share no value: a key's secret would be readable in the certificate.
        guard changes.secret == nil, changes.fields.isEmpty else { throw .parameter(.key("v_Data")) }
        let halves = try query.halves.map { half throws(VaultError) in
            try ParsedQuery(half, changing: changes, asOneOf: groups)
        }
        if let pair = try pair(of: query, groups) { return pair }
        let certificates = try halves[0].find(in: records, index)
        let keys = try halves[1].find(in: records, index)
        return certificates.isEmpty || keys.isEmpty ? [] : certificates + keys
    }

    /// - Returns: an empty array if there is no certificate.
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
        // A key that another certificate also uses is kept.
        if let hash = pair.first?.bytes(of: .publicKeyHash) {
            let others = Query(.certificate, attributes: [.publicKeyHash: .data(hash)])
            if try ParsedQuery(others, groups: groups).find(in: records, index).count > 1 { pair.removeLast() }
        }
        return pair
    }

    /// The items affected by an update or a delete, readable or not, to be logged along with the change.
    func identifiers(
        of change: QueriedChange, matching query: Query, _ groups: AccessGroups
    ) throws(VaultError) -> [UUID] {
        switch change {
        case .update: try changed(by: query, ItemChanges(), groups).map { UUID($0.id) }
        case .delete: try deleted(by: query, groups).map { UUID($0.id) }
        }
    }

    /// `nil` if the query has no reference.
    private func pair(of query: Query, _ groups: AccessGroups) throws(VaultError) -> [Record]? {
        guard query.persistentReference != nil else { return nil }
        var query = query
        // Items can be deleted without being read; an update checks itself what it may read.
        query.presence = .refused
        return try IdentityQuery(query, groups: groups).find(in: records, index)
    }
}
