// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto

// The verbs of a request. An identity is two items: what is done to it is done to both.

extension Request {
    /// Whether what is asked for is made of the secret.
    var needsSecret: Bool {
        results.contains(.data)
            || results.contains(.reference) && (isOfIdentities || itemClass == .certificate || itemClass == .key)
    }

    /// The items that a call to SecItemAdd describes: one, or an identity's certificate and key.
    func items() throws(VaultError) -> [Item] {
        guard let identity = reference?.identity, isOfIdentities else {
            // Without a class there is a flaw, and nothing is made of the item.
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

    /// Finds what the query asks for, and of certificates those that pass what else is asked.
    func find(_ query: Query, in store: any ItemStore) throws(VaultError) -> [FoundItem] {
        guard isOfCertificates, !filter.isEmpty else {
            return FoundItem.all(try store.copyMatching(query), arePairs: isOfIdentities, people)
        }
        var unlimited = query
        (unlimited.limit, unlimited.returnsSecrets) = (.all, true)
        let items = FoundItem.all(try store.copyMatching(unlimited), arePairs: isOfIdentities, people)
        return try filter.passing(items, limit: query.limit ?? .all, in: store)
    }

    /// Adds what ``items()`` has. One half of an identity may be there already.
    func add(to store: any ItemStore) throws(VaultError) -> FoundItem {
        let items = try items()
        guard isOfIdentities else {
            var added = try store.add(items[0])
            added.secret = items[0].secret
            return FoundItem(added)
        }
        do throws(VaultError) { try store.store(items, replacing: false) } catch {
            guard error == .duplicateItem else { throw error }
            let isAdded = try items.map { item throws(VaultError) in try add(item, to: store) }
            guard isAdded.contains(true) else { throw .duplicateItem }
        }
        var query = Query(items[0].itemClass, attributes: primaryKey(of: items[0]), limit: .one)
        query.returnsSecrets = needsSecret
        let certificate = try store.copyMatching(query)[0]
        query = Query(items[1].itemClass, attributes: primaryKey(of: items[1]), limit: .one)
        query.returnsSecrets = needsSecret
        return FoundItem(certificate, key: try store.copyMatching(query).first)
    }

    /// Whether the item was not there.
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

    /// The queries whose items an update changes, one after the other. Of an identity's halves none is changed when the
    /// other cannot be.
    func changedQueries(of store: any ItemStore, _ changes: ItemChanges) throws(VaultError) -> [Query] {
        guard isOfIdentities else { return [query] }
        for itemClass in [ItemClass.certificate, .key] {
            try Query(itemClass).check(
                changing: changes, asOneOf: DefaultVault.accessGroups, flaw: nil, changesFlaw: nil)
        }
        guard !isOfOne else {
            return try pair(in: store).compactMap(\.record).map { Query(persistentReference: $0.persistentReference) }
        }
        let queries = [half(.certificate), half(.key)]
        for query in queries { _ = try store.copyMatching(query) }
        return queries
    }

    func delete(from store: any ItemStore) throws(VaultError) {
        guard isOfIdentities else {
            try store.delete(matching: query)
            return
        }
        guard isOfOne else {
            guard try contains(store, half(.certificate)) else { throw .itemNotFound }
            return try store.store([], replacing: false, deleting: [half(.certificate), half(.key)])
        }
        let pair = try pair(in: store)
        var deleted = pair.compactMap(\.record).map { Query(persistentReference: $0.persistentReference) }
        // A key that another certificate has as well stays for it.
        if let hash = pair[0][.publicKeyHash] {
            var others = Query(.certificate, attributes: [.publicKeyHash: hash])
            others.synchronizableAny = true
            if try store.copyMatching(others).count > 1 { deleted.removeLast() }
        }
        try store.store([], replacing: false, deleting: deleted)
    }

    /// Whether an object or a persistent reference says which identity is meant.
    private var isOfOne: Bool { reference != nil || query.persistentReference != nil }

    /// The certificate and the key that are meant.
    private func pair(in store: any ItemStore) throws(VaultError) -> [Item] {
        var query = query
        query.limit = .one
        // What is not read can be deleted without a person.
        query.leavesKeysClosed = true
        return try store.copyMatching(query)
    }

    /// The query as one for certificates or for keys alone.
    private func half(_ itemClass: ItemClass) -> Query {
        var half = query
        (half.findsIdentities, half.itemClass) = (false, itemClass)
        return half
    }

    private func contains(_ store: any ItemStore, _ query: Query) throws(VaultError) -> Bool {
        do throws(VaultError) { return try !store.copyMatching(query).isEmpty } catch {
            guard error == .itemNotFound else { throw error }
            return false
        }
    }
}
