// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultBus
internal import VaultCrypto
internal import VaultDoorKit

/// The collections `session` of all owners; `nil` stands for the user. A sandbox has a memory of its own; without a
/// name, as long as its process lives.
struct SessionMemories {
    private var collections: [ServiceProgram?: SessionCollection] = [:]
    /// The owners whose lists are to be sent.
    private var listsDue: Set<ServiceProgram?> = []

    subscript(_ owner: ServiceProgram?) -> SessionCollection { collections[owner] ?? SessionCollection() }

    /// - Throws: `.tooMany` if there is no room for it.
    mutating func set(
        _ entry: SessionCollection.Entry, for id: UUID, of owner: ServiceProgram?
    ) throws(ServiceRefusal) {
        try collections[owner, default: SessionCollection()].set(entry, for: id)
    }

    mutating func remove(_ id: UUID, of owner: ServiceProgram?) { collections[owner]?.remove(id) }

    /// Forgets the items of a process that has no connection left; those of other owners stay.
    mutating func forget(_ owner: ServiceProgram?) {
        if case .process = owner { collections[owner] = nil }
    }

    /// - Returns: `false` if the owner's list is about to be sent already.
    mutating func beginList(of owner: ServiceProgram?) -> Bool { listsDue.insert(owner).inserted }

    mutating func endList(of owner: ServiceProgram?) { listsDue.remove(owner) }
}

/// The collection `session`, which cannot be locked: items that live as long as this process.
struct SessionCollection {
    struct Entry {
        var label: String
        var attributes: ProgramAttributes
        var secret: Secret
        var contentType: String
        let created: UInt64
        var modified: UInt64

        var properties: BusProperties { ServedItem.properties(label, attributes, created, modified) }
    }

    /// The maximum size of secrets and attributes together, in bytes.
    static let limit = 16 << 20
    /// The minimum size counted for an item.
    private static let overhead = 256

    private(set) var entries: [UUID: Entry] = [:]
    /// The identifiers in the order of the last change.
    private(set) var order: [UUID] = []

    var paths: [String] { order.map { ServiceObject.item(.session, $0).path } }

    private func size(of entry: Entry) -> Int {
        entry.attributes.values.reduce(SessionCollection.overhead + entry.secret.count + entry.label.utf8.count) {
            $0 + $1.key.utf8.count + $1.value.utf8.count
        }
    }

    private var size = 0

    /// Returns the items with these attributes, the last changed one first.
    func search(_ attributes: ProgramAttributes) -> [UUID] {
        order.reversed().filter { entries[$0]?.attributes.areFound(by: attributes.values) == true }
    }

    /// Returns the last changed item with exactly these attributes.
    func same(as attributes: ProgramAttributes) -> UUID? {
        order.last { entries[$0]?.attributes.areStored(againWith: attributes) == true }
    }

    /// - Throws: `.tooMany` if there is no room for it.
    mutating func set(_ entry: Entry, for id: UUID) throws(ServiceRefusal) {
        let old = entries[id].map(size) ?? 0
        guard size - old + size(of: entry) <= SessionCollection.limit else {
            throw .tooMany("the session's collection has at most 16 MiB")
        }
        size += size(of: entry) - old
        if entries.updateValue(entry, forKey: id) != nil { order.removeAll { $0 == id } }
        order.append(id)
    }

    mutating func remove(_ id: UUID) {
        guard let old = entries.removeValue(forKey: id) else { return }
        size -= size(of: old)
        order.removeAll { $0 == id }
    }
}
