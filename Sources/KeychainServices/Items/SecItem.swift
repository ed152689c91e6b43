// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto

// Results are discardable, like those of every function that Swift imports from C.

/// Adds one item to the vault that is bound to this process.
///
/// - Parameters:
///   - attributes: the class, attributes, `kSecValueData`, and the `kSecReturn…` keys.
///   - result: receives the requested result; untouched if none was requested, and on every error. May be `nil`.
/// - Returns: errSecSuccess; errSecDuplicateItem if an item has the same primary key; errSecParam, errSecNoSuchAttr,
///   errSecNoSuchClass, errSecMissingEntitlement, errSecInteractionNotAllowed, errSecUnimplemented; errSecDataTooLarge
///   above 16 MiB of data or 64 KiB of attributes; errSecNotAvailable if there is no vault.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    let request = Request(attributes, for: .add)
    if let refusal = request.refusal { return refusal.status }
    return DefaultStore.perform(adding: true, hasFlaw: request.flaw != nil) { groups throws(VaultError) in
        for item in try request.items() { try item.check(addedAsOneOf: groups, flaw: request.flaw) }
    } _: { store throws(VaultError) in
        guard let added = try request.add(to: store) else { return }
        // The caller's pointer is valid for the duration of the call.
        unsafe result?.pointee = request.results.added(added, request.data)
    }
}

/// Adds the items of several dictionaries in one transaction.
func addAll(_ dictionaries: [NSDictionary]) -> OSStatus {
    let requests = dictionaries.map { Request($0, for: .add) }
    if let refusal = requests.compactMap(\.refusal).first { return refusal.status }
    return DefaultStore.perform(adding: true, hasFlaw: requests.contains { $0.flaw != nil }) {
        groups throws(VaultError) in
        for request in requests {
            for item in try request.items() { try item.check(addedAsOneOf: groups, flaw: request.flaw) }
        }
    } _: { store throws(VaultError) in
        var items: [Item] = []
        for request in requests { items += try request.items() }
        try store.store(items, replacing: false)
    }
}

/// Finds items.
///
/// - Parameters:
///   - query: the class or a persistent reference, attributes, `kSecMatch…` keys, and the `kSecReturn…` keys.
///   - result: receives the requested result: that of one item, or an array with `kSecMatchLimitAll` and limits above
///     1. Untouched if none was requested, and on every error. By the object of an identity, only a persistent
///     reference has a result, if it alone is requested. May be `nil`.
/// - Returns: errSecSuccess; errSecItemNotFound, also for a limit of all; otherwise as ``SecItemAdd(_:_:)``.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    let request = Request(query, for: .copyMatching)
    if let refusal = request.refusal { return refusal.status }
    var query = request.query
    query.limit = request.limit ?? .one
    query.returnsSecrets = request.needsSecret && !request.isByIdentity
    query.leavesKeysClosed = request.results == .reference
    return DefaultStore.perform(hasFlaw: request.flaw != nil, for: request.people) { groups throws(VaultError) in
        try query.check(findingAsOneOf: groups, flaw: request.flaw)
    } _: { store throws(VaultError) in
        let found = try request.find(query, in: store)
        // `explode_identity` of Apple's SecItem.m makes a search for the certificate and one for the key of it, and
        // keeps no other result.
        if request.isByIdentity, request.results != .persistentReference || query.limit != .one { return }
        // The caller's pointer is valid for the duration of the call.
        if query.limit == .one {
            if !request.results.isEmpty { unsafe result?.pointee = found.first.flatMap { request.results.found($0) } }
        } else {
            unsafe result?.pointee = found.compactMap { request.results.found($0) } as NSArray
        }
    }
}

/// Changes every item that matches, or none.
///
/// - Parameters:
///   - query: selects the items. Takes neither `kSecReturn…` nor `kSecMatch…` keys, except `kSecMatchLimitAll`.
///   - attributesToUpdate: attributes and `kSecValueData`. An attribute cannot be removed.
/// - Returns: errSecSuccess; errSecItemNotFound; errSecDuplicateItem; otherwise as ``SecItemAdd(_:_:)``.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
    let request = Request(query, for: .update)
    let changes = Changes(attributesToUpdate)
    if let refusal = request.refusal ?? changes.refusal { return refusal.status }
    let hasFlaw = request.flaw != nil || changes.flaw != nil
    return DefaultStore.perform(hasFlaw: hasFlaw, for: request.people) { groups throws(VaultError) in
        try request.query.check(
            changing: changes.changes(of: request.itemClass), asOneOf: groups, flaw: request.flaw,
            changesFlaw: changes.flaw)
    } _: { store throws(VaultError) in
        var changed = try changes.changes(of: request.itemClass)
        changed.ifUnchanged = .touch
        try store.update(matching: try request.change(in: store), with: changed)
    }
}

/// Deletes every item that matches.
///
/// - Parameter query: selects the items. Takes no `kSecMatch…` keys, except `kSecMatchLimitAll`.
/// - Returns: errSecSuccess; errSecItemNotFound; otherwise as ``SecItemAdd(_:_:)``.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    let request = Request(query, for: .delete)
    if let refusal = request.refusal { return refusal.status }
    return DefaultStore.perform(hasFlaw: request.flaw != nil) { groups throws(VaultError) in
        try request.query.check(deletingAsOneOf: groups, flaw: request.flaw)
    } _: { store throws(VaultError) in
        try store.delete(matching: try request.change(in: store))
    }
}

// On Apple's systems a String and an NSString are equal as keys of a [AnyHashable: Any] and as members of a
// Set<AnyHashable>, and libraries rely on it. Declared in this file so that linkers keep it in every program that calls
// the functions above.
extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
    public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as String) }
}
