// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// The table of places, compared with a dictionary.
struct PlaceTableTests {
    @Test func `whatever comes and goes, each identifier leads to its place and no other`() {
        let random = SeededRandom("places")
        var table = PlaceTable()
        var identifiers: [ItemID?] = []
        var places: [ItemID: Int] = [:]
        func slot(of id: ItemID) -> Int? { table.slot(of: id) { identifiers[$0] == id } }
        for step in 0..<20_000 {
            if places.isEmpty || random.chance(step < 10_000 ? 70 : 40) {
                let id = ItemID(random: random.bytes(16))
                places[id] = identifiers.count
                identifiers.append(id)
                table.insert(id, place: identifiers.count - 1)
            } else if let (id, place) = places.randomElement(), let slot = slot(of: id) {
                #expect(table[slot] == place)
                table.remove(slot)
                identifiers[place] = nil
                places[id] = nil
            }
            #expect(table.count == places.count)
        }
        for (id, place) in places { #expect(slot(of: id).map { table[$0] } == place) }
        for _ in 0..<1_000 { #expect(slot(of: ItemID(random: random.bytes(16))) == nil) }
    }

    @Test func `operations lie side by side as they were, and what is discarded counts as waste`() {
        var arena = OperationArena()
        let operations = (0..<500).map { number in
            Operation(
                kind: .put, itemClass: .genericPassword, protection: .whenUnlocked,
                id: ItemID(random: [UInt8](repeating: UInt8(number % 256), count: 16)), version: UInt64(number + 1),
                valueVersion: 0, ordinal: UInt64(number), created: 0, modified: 0, value: nil,
                deviceID: .init(repeating: 0),
                attributes: EncodedAttributes([:], user: ["n": "\(number)"]))
        }
        let locations = operations.map { arena.append($0.encoded().span) }
        for (operation, location) in zip(operations, locations) {
            #expect(arena.read(location) { Operation(checked: $0) } == operation)
            #expect(Array(arena.slice(at: location)) == operation.encoded())
        }
        arena.discard(locations[7])
        #expect(arena.waste == operations[7].encoded().count)
        #expect(arena.length == operations.reduce(0) { $0 + $1.encoded().count })
    }
}
