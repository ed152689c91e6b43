// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// Finds the place of an item by its identifier: open addressing; half of each slot is part of the hash.
///
/// Identifiers are not stored here; the caller compares with the record at the place.
struct PlaceTable {
    /// Place + 1 in the upper half, hash in the lower half; 0 for a free slot.
    private var slots: [UInt64] = []
    private(set) var count = 0

    /// The place in a slot.
    subscript(slot: Int) -> Int { PlaceTable.place(slots[slot]) }

    /// The slot of an item.
    ///
    /// - Parameter isIt: whether the record at the place is the item's.
    func slot(of id: ItemID, _ isIt: (Int) -> Bool) -> Int? {
        guard !slots.isEmpty else { return nil }
        let hash = PlaceTable.hash(id)
        let mask = slots.count - 1
        var index = Int(hash) & mask
        while slots[index] != 0 {
            if slots[index] & 0xffff_ffff == UInt64(hash), isIt(self[index]) { return index }
            index = (index + 1) & mask
        }
        return nil
    }

    /// Inserts an identifier, which must not be present.
    mutating func insert(_ id: ItemID, place: Int) {
        if (count + 1) * 4 > slots.count * 3 { grow() }
        put(UInt64(place + 1) << 32 | UInt64(PlaceTable.hash(id)))
        count += 1
    }

    mutating func remove(_ slot: Int) {
        var hole = slot
        // Entries that the removed one had displaced move back.
        let mask = slots.count - 1
        var next = (hole + 1) & mask
        while slots[next] != 0 {
            let home = Int(slots[next] & 0xffff_ffff) & mask
            if (next - home) & mask >= (next - hole) & mask {
                slots[hole] = slots[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        slots[hole] = 0
        count -= 1
    }

    private mutating func put(_ entry: UInt64) {
        let mask = slots.count - 1
        var index = Int(entry & 0xffff_ffff) & mask
        while slots[index] != 0 { index = (index + 1) & mask }
        slots[index] = entry
    }

    private mutating func grow() {
        let old = slots
        slots = [UInt64](repeating: 0, count: max(16, old.count * 2))
        for entry in old where entry != 0 { put(entry) }
    }

    private static func place(_ entry: UInt64) -> Int { Int(entry >> 32) - 1 }

    /// Keyed per process, so that an attacker cannot make a file of identifiers that collide.
    private static func hash(_ id: ItemID) -> UInt32 {
        let product = (id.high ^ key.0).multipliedFullWidth(by: id.low ^ key.1)
        return UInt32(truncatingIfNeeded: (product.high ^ product.low) >> 16)
    }

    private static let key = (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max))
}
