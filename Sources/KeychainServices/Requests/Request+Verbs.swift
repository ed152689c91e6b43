// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultAgent
@_implementationOnly import VaultCrypto

// The verbs of a request. An identity is two items: each verb applies to both.

extension Request {
    /// Whether the result is derived from the secret.
    var needsSecret: Bool {
        results.contains(.data)
            || results.contains(.reference) && (isOfIdentities || itemClass == .certificate || itemClass == .key)
    }

    /// Returns the items described by a call to SecItemAdd: one, or an identity's certificate and key.
    func items() throws(VaultError) -> [Item] {
        var attributes = attributes
        // Apple's systems treat a missing value, and "either", as no.
        if attributes[.synchronizable] ?? "syna" == "syna" { attributes[.synchronizable] = false }
        // An added item is new, even if its dictionary has dates.
        for date in [Attribute.creationDate, .modificationDate] {
            if case .date = attributes[date] { attributes[date] = nil }
        }
        guard let identity = reference?.identity, isOfIdentities else {
            // A request without a class is invalid, and its item is not used.
            let key = ItemKey(itemClass ?? .genericPassword, attributes)
            var item = Item(key, secret: try Secret.toStore(data, else: reference))
            SecKey.describe(&item)
            return [item]
        }
        var items: [Item] = []
        for part in [ItemReference.certificate(identity.certificate), .key(identity.key)] {
            guard let itemClass = part.itemClass else { continue }
            let own = try part.attributes(isQuery: false).merging(attributes) { $1 }
            var item = Item(ItemKey(itemClass, own), secret: try part.secret())
            SecKey.describe(&item)
            items.append(item)
        }
        return items
    }

    /// Runs the query, and filters certificates by the further conditions. The key of an identity that does not pass is
    /// not read, and needs no consent.
    func find(_ query: Query, in store: any ItemStore) throws(VaultError) -> [FoundItem] {
        guard isOfCertificates, !filter.isEmpty else {
            return FoundItem.all(try store.copyMatching(query), arePairs: isOfIdentities, people)
        }
        var candidates = query
        (candidates.limit, candidates.returnsSecrets) = (.all, !isOfIdentities)
        candidates.leavesKeysClosed = true
        let maximum = (query.limit ?? .all).maximum
        var passing: [FoundItem] = []
        for candidate in FoundItem.all(try store.copyMatching(candidates), arePairs: isOfIdentities, people)
        where passing.count < maximum {
            guard let certificate = try candidate.certificate(from: store) else { continue }
            if try filter.passes(certificate, in: store) { passing.append(candidate) }
        }
        guard !passing.isEmpty else { throw .itemNotFound }
        guard isOfIdentities else { return passing }
        // The user's consent covers all of them.
        return try store.withPermission(query.presence) { store throws(VaultError) in
            try read(passing, query, from: store)
        }
    }

    /// Reads the identities again, with the requested results.
    private func read(
        _ identities: [FoundItem], _ query: Query, from store: any ItemStore
    ) throws(VaultError) -> [FoundItem] {
        var found: [FoundItem] = []
        for identity in identities {
            var own = try query.naming(identity)
            if case .asked = own.presence { own.presence = .refused }
            do throws(VaultError) {
                found += FoundItem.all(try store.copyMatching(own), arePairs: true, people)
            } catch {
                // Another process has deleted the item since.
                guard error == .itemNotFound else { throw error }
            }
        }
        guard !found.isEmpty else { throw .itemNotFound }
        return found
    }

    /// Adds the ``items()``. Half of an identity may exist already.
    ///
    /// - Returns: `nil` if no result was requested.
    func add(to store: any ItemStore) throws(VaultError) -> FoundItem? {
        let items = try items()
        guard isOfIdentities else {
            var added = try store.add(items[0])
            added.secret = items[0].secret
            return results.isEmpty ? nil : FoundItem(added)
        }
        do throws(VaultError) { try store.store(items, replacing: false) } catch {
            guard error == .duplicateItem else { throw error }
            let isAdded = try items.map { item throws(VaultError) in try add(item, to: store) }
            guard isAdded.contains(true) else { throw .duplicateItem }
        }
        guard !results.isEmpty else { return nil }
        let certificate = try stored(items[0], in: store)
        var key = try stored(items[1], in: store)
        // The caller has the bytes already, so no consent is needed.
        key.secret = items[1].secret
        return FoundItem(certificate, key: key, people)
    }

    /// Returns the item with the same primary key.
    private func stored(_ item: Item, in store: any ItemStore) throws(VaultError) -> Item {
        var query = Query(item.itemClass, attributes: primaryKey(of: item), limit: .one)
        (query.returnsSecrets, query.leavesKeysClosed) = (needsSecret, true)
        return try store.copyMatching(query)[0]
    }

    /// Adds an item; returns `false` if it existed already.
    private func add(_ item: Item, to store: any ItemStore) throws(VaultError) -> Bool {
        do throws(VaultError) {
            try store.add(item)
            return true
        } catch {
            guard error == .duplicateItem else { throw error }
            return false
        }
    }

    private func primaryKey(of item: Item) -> [Attribute: AttributeValue] {
        let names: Set<Attribute> = [
            .certificateType, .issuer, .serialNumber, .keyClass, .applicationLabel, .applicationTag, .type,
            .keySizeInBits, .accessGroup, .synchronizable,
        ]
        return item.attributes.filter { names.contains($0.key) && $0.key.belongs(to: item.itemClass) }
    }

    /// Returns the query for a change or deletion, which names an identity by its reference.
    func change(in store: any ItemStore) throws(VaultError) -> Query {
        guard isOfIdentities, reference != nil else { return query }
        var query = query
        // Lets the engine refuse limits and conditions, which a change does not support, with the final query.
        (query.limit, query.conditions) = (.one, [])
        // An item that is not read can be deleted without consent.
        query.leavesKeysClosed = true
        let identity = FoundItem.all(try store.copyMatching(query), arePairs: true, people)[0]
        return try self.query.naming(identity)
    }
}

extension Query {
    /// Returns the query for this identity only.
    fileprivate func naming(_ identity: FoundItem) throws(VaultError) -> Query {
        // Without a reference the query would match all items.
        guard let reference = identity.pairReference else { throw .itemNotFound }
        var query = self
        (query.itemClass, query.attributes, query.synchronizableAny) = (nil, [:], false)
        query.persistentReference = reference
        return query
    }
}
