// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSync

struct MergeVectorTests {
    @Test(arguments: ReachVectors.all.merge)
    func `states in any order join to the same items`(vector: ReachVectors.Merge) throws {
        let ids = VectorIDs(vector.states.map(\.item))
        let states = try vector.states.map { try $0.state(ids, withProtection: false) }
        for order in vector.orders {
            let items = MemoryItems(ReplicaState(log: .zero), random: SystemRandom())
            for index in order {
                var change = ReplicaChange()
                change.told = [(states[index], 1)]
                try items.commit(change, items.saved)
            }
            expectSame(items, vector.expected, ids)
            #expect(sum(items, ids) == UInt64(vector.sum, radix: 16))
        }
    }

    @Test func `joining is commutative, associative and idempotent`() throws {
        for vector in ReachVectors.all.merge.prefix(60) {
            let ids = VectorIDs(vector.states.map(\.item))
            let states = try vector.states.map { try $0.state(ids, withProtection: false) }
            for id in Set(states.map(\.id)) {
                let same = states.filter { $0.id == id }.prefix(6)
                let expected = same.dropFirst().reduce(same[0]) { Merge.join($0, $1) ?? $0 }
                for order in permutations(Array(same)) {
                    let joined = order.dropFirst().reduce(order[0]) { Merge.join($0, $1) ?? $0 }
                    #expect(describe(joined) == describe(expected))
                    #expect(order.allSatisfy { Merge.join(joined, $0) == nil }, "what is known already is no news")
                }
            }
        }
    }
}

func permutations<T>(_ items: [T]) -> [[T]] {
    guard items.count > 1 else { return [items] }
    return items.indices.flatMap { index in
        var rest = items
        let first = rest.remove(at: index)
        return permutations(rest).map { [first] + $0 }
    }
}

/// Returns a text that is equal for equal states.
func describe(_ state: ItemState<Secret>) -> String {
    var lines = ["\(state.id.high) \(state.id.low)"]
    for (log, stamp) in state.context.sorted(by: { $0.key < $1.key }) { lines.append("seen \(log.text) \(stamp)") }
    for (field, values) in state.fields.sorted(by: { $0.key < $1.key }) {
        for (dot, value) in values.sorted(by: { $0.key < $1.key }) {
            let content = value.isErased ? "erased" : "\(ReachVectors.Content(field, value))"
            lines.append("\(field.id) \(field.name) \(dot.log.text) \(dot.stamp) \(content)")
        }
    }
    return lines.joined(separator: "\n")
}

/// Returns the sum as computed by the model: without the protection class.
func sum(_ items: MemoryItems, _ ids: VectorIDs) -> UInt64 {
    let (alive, visible) = items.view
    var sum = ItemSum()
    for id in alive {
        guard let name = ids[id], let state = items.items[id]?.state else { continue }
        let original = ItemID(bytes16(name).bytes.span)
        if !visible.contains(id) { sum.add(original) }
        for (field, values) in state.fields where field != .protection {
            for (dot, value) in values { sum.add(original, field, dot, isErased: value.isErased) }
        }
    }
    return sum.total
}

func expectSame(
    _ items: MemoryItems, _ expected: [ReachVectors.Expected], _ ids: VectorIDs, onlyAlive: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let (alive, visible) = items.view
    let known = onlyAlive ? alive : Set(items.items.keys)
    #expect(known == Set(expected.map { ids[$0.item] }), sourceLocation: sourceLocation)
    for item in expected {
        let id = ids[item.item]
        guard let state = items.items[id]?.state else { continue }
        #expect(alive.contains(id) == item.alive, sourceLocation: sourceLocation)
        #expect((alive.contains(id) && !visible.contains(id)) == item.shadowed, sourceLocation: sourceLocation)
        var fields = state.fields
        fields[.protection] = nil
        #expect(Set(fields.keys) == Set(item.fields.keys.map(FieldID.init(vector:))), sourceLocation: sourceLocation)
        for (name, values) in item.fields {
            let field = FieldID(vector: name)
            let mine = (fields[field] ?? [:]).sorted { $0.key < $1.key }
            #expect(mine.map(\.key.stamp) == values.map(\.stamp), sourceLocation: sourceLocation)
            #expect(mine.map(\.key.log.text) == values.map(\.log), sourceLocation: sourceLocation)
            #expect(mine.map(\.value.isErased) == values.map { $0.erased == true }, sourceLocation: sourceLocation)
            let winner = state.winner(of: field).map { ReachVectors.Content(field, $0.value) }
            if let wanted = item.winners[name] { #expect(winner == wanted, sourceLocation: sourceLocation) }
            guard field != .life else { continue }
            let lost = Set(mine.filter { !$0.value.isErased }.map { ReachVectors.Content(field, $0.value) })
                .filter { $0 != winner }
            #expect(lost == Set(item.conflicts[name] ?? []), sourceLocation: sourceLocation)
        }
    }
}
