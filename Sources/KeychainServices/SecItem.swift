// SPDX-License-Identifier: Apache-2.0
public import Foundation
@_implementationOnly import Vault
@_implementationOnly import VaultCrypto

// As every function that Swift imports from C, these may be called without a look at the result.

/// Adds one item to the vault that is bound to this process.
///
/// - Parameters:
///   - attributes: the class, attributes, `kSecValueData`, and the `kSecReturn…` keys.
///   - result: gets what was asked for; untouched when nothing was, and on every error. Nil is fine.
/// - Returns: errSecSuccess; errSecDuplicateItem when an item has the same primary key; errSecParam, errSecNoSuchAttr,
///   errSecNoSuchClass, errSecMissingEntitlement, errSecInteractionNotAllowed, errSecUnimplemented; errSecDataTooLarge
///   above 16 MiB of data or 64 KiB of attributes; errSecNotAvailable when there is no vault.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    let request = Request(attributes, for: .add)
    if let refusal = request.refusal { return refusal.status }
    return DefaultStore.perform(adding: true, hasFlaw: request.flaw != nil) { groups throws(VaultError) in
        for item in try request.items() { try item.check(addedAsOneOf: groups, flaw: request.flaw) }
    } _: { store throws(VaultError) in
        guard let added = try request.add(to: store) else { return }
        // The caller's pointer is valid for the length of the call.
        unsafe result?.pointee = request.results.added(added, request.data)
    }
}

/// Adds what several dictionaries describe, all of it in one transaction, or nothing.
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
///   - result: gets what was asked for: of one item, or an array with `kSecMatchLimitAll` and limits above 1. Untouched
///     when nothing was asked for, and on every error. Nil is fine.
/// - Returns: errSecSuccess; errSecItemNotFound, also for a limit of all; otherwise as ``SecItemAdd(_:_:)``.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    let request = Request(query, for: .copyMatching)
    if let refusal = request.refusal { return refusal.status }
    var query = request.query
    query.limit = request.limit ?? .one
    query.returnsSecrets = request.needsSecret
    query.leavesKeysClosed = request.results == .reference
    return DefaultStore.perform(hasFlaw: request.flaw != nil, for: request.people) { groups throws(VaultError) in
        try query.check(findingAsOneOf: groups, flaw: request.flaw)
    } _: { store throws(VaultError) in
        let found = try request.find(query, in: store)
        // The caller's pointer is valid for the length of the call.
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
///   - query: which items. It takes neither `kSecReturn…` nor `kSecMatch…` keys, `kSecMatchLimitAll` apart.
///   - attributesToUpdate: attributes and `kSecValueData`. None can be removed.
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
        let changed = try changes.changes(of: request.itemClass)
        try store.update(matching: try request.change(in: store), with: changed)
    }
}

/// Deletes every item that matches.
///
/// - Parameter query: which items. It takes no `kSecMatch…` keys, `kSecMatchLimitAll` apart.
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

// On Apple's systems a String and an NSString are one key of a [AnyHashable: Any] and one member of a Set<AnyHashable>.
// Libraries count on it. It stands in this file so that no linker leaves it out of a program that calls the functions
// above.
extension NSString: @retroactive _HasCustomAnyHashableRepresentation {
    public func _toCustomAnyHashable() -> AnyHashable? { AnyHashable(self as String) }
}
