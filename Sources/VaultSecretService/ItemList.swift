// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault

/// The identifiers of the items, by collection.
struct ItemList {
    private(set) var collections: [String: [UUID]] = [:]
    private var places: [UUID: (group: String, itemClass: ItemClass)] = [:]

    var groups: [String] { collections.keys.sorted() }

    func group(of id: UUID) -> String? { places[id]?.group }

    func itemClass(of id: UUID) -> ItemClass? { places[id]?.itemClass }

    func ids(in group: String) -> [UUID] { collections[group] ?? [] }

    var hasInternetPasswords: Bool { internetPasswords > 0 }
    private var internetPasswords = 0

    mutating func insert(_ id: UUID, _ itemClass: ItemClass, _ group: String) {
        let old = places.updateValue((group, itemClass), forKey: id)
        if old?.group != group {
            if let old { collections[old.group]?.removeAll { $0 == id } }
            collections[group, default: []].append(id)
        }
        if old == nil, itemClass == .internetPassword { internetPasswords += 1 }
    }

    mutating func remove(_ id: UUID) {
        guard let old = places.removeValue(forKey: id) else { return }
        collections[old.group]?.removeAll { $0 == id }
        if collections[old.group]?.isEmpty == true { collections[old.group] = nil }
        if old.itemClass == .internetPassword { internetPasswords -= 1 }
    }
}
