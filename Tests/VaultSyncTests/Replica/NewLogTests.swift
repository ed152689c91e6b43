// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSync

/// The treatment of an item when its file continues under another log.
struct NewLogTests {
    private static let old = Bytes16([UInt8](repeating: 1, count: 16))
    private static let other = Bytes16([UInt8](repeating: 2, count: 16))
    private static let fresh = Bytes16([UInt8](repeating: 3, count: 16))
    private static let id = ItemID(random: [UInt8](repeating: 7, count: 16))
    private static let label = FieldID.attribute(Attribute.label.tag)

    /// Returns a state whose label has the given values, and which other writes made or deleted.
    private static func state(
        _ labels: [Dot: String], life: [Dot: Bool], seen: [Dot]
    ) -> ItemState<Secret> {
        var state = ItemState<Secret>(id: id, itemClass: .genericPassword)
        for dot in seen { state.context[dot.log] = max(state.context[dot.log] ?? 0, dot.stamp) }
        for (dot, text) in labels { state.fields[label, default: [:]][dot] = .plain([1] + Array(text.utf8)) }
        for (dot, isAlive) in life { state.fields[.life, default: [:]][dot] = .plain([isAlive ? 1 : 0]) }
        return state
    }

    /// Returns a new log for a file that has published its writes up to 100.
    private static func newLog(fleet: ItemState<Secret>?, base: UInt64 = 0) -> NewLog {
        var logs = ReplicaState(log: fresh)
        if base > 0 {
            var known = LogState()
            (known.base, known.first) = (base, (base, 1000))
            (logs.logs[old], logs.logs[other]) = (known, known)
        }
        return NewLog(
            .copied, old: ReplicaState(log: old), told: 100,
            fleet: fleet.map { [id: MemoryItems.Entry(state: $0)] } ?? [:], logs, wall: 5000)
    }

    private static func labels(_ state: ItemState<Secret>) -> Set<String> {
        let values = state.fields[label]?.values ?? []
        return Set(values.compactMap(\.plainBytes).map { String(decoding: $0.dropFirst(), as: UTF8.self) })
    }

    private static func fate(_ log: inout NewLog, of item: ItemState<Secret>) -> NewLog.Fate<Secret> {
        log.fate(of: item, newID: { ItemID(random: [UInt8](repeating: 9, count: 16)) }, isSame: { $0 === $1 }) { $0 }
    }

    private static let made = Dot(log: other, stamp: 50)
    private static let changedThere = Dot(log: other, stamp: 300)
    private static let deletedThere = Dot(log: other, stamp: 310)
    private static let changedHere = Dot(log: old, stamp: 200)

    @Test func `of an item that was deleted elsewhere, what was changed here goes on, and not what the deletion saw`() {
        // Changed and then deleted on another device; changed on this device before the deletion, with a slow clock.
        let deleted = Self.state(
            [Self.changedThere: "seen by the deletion"], life: [Self.deletedThere: false], seen: [Self.deletedThere])
        let item = Self.state(
            [Self.changedThere: "seen by the deletion", Self.changedHere: "changed here"],
            life: [Self.deletedThere: false, Self.changedHere: true], seen: [Self.deletedThere, Self.changedHere])
        var log = Self.newLog(fleet: deleted)
        guard case .moves(let moved) = Self.fate(&log, of: item) else {
            Issue.record("the change is lost")
            return
        }
        #expect(moved.id != Self.id && moved.isAlive && Self.labels(moved) == ["changed here"])
        #expect(log.movedItems == 1)
    }

    @Test func `of an item that the fleet has forgotten with cause, what was changed here goes on`() {
        let item = Self.state(
            [Self.made: "older", Self.changedHere: "changed here"], life: [Self.changedHere: true],
            seen: [Self.made, Self.changedHere])
        var log = Self.newLog(fleet: nil, base: 9)
        guard case .moves(let moved) = Self.fate(&log, of: item) else {
            Issue.record("the change is lost")
            return
        }
        #expect(Self.labels(moved) == ["changed here"])
    }

    @Test func `an item that was made anew here leaves the deleted one as the fleet has it`() {
        let required = [FieldID.primaryKey, .protection]
        func state(_ dot: Dot, isAlive: Bool, isErased: Bool) -> ItemState<Secret> {
            var state = Self.state([:], life: [dot: isAlive], seen: [dot])
            for field in required { state.fields[field] = [dot: isErased ? .erased : .plain([1])] }
            return state
        }
        let deleted = state(Dot(log: Self.old, stamp: 90), isAlive: false, isErased: true)
        let item = state(Self.changedHere, isAlive: true, isErased: false)
        var log = Self.newLog(fleet: deleted)
        guard case .moves(let moved) = Self.fate(&log, of: item), let (rest, _) = log.remainder(of: item, { $0 }) else {
            Issue.record("the item is lost")
            return
        }
        #expect(moved.hasRequiredFields && moved.isAlive)
        #expect(rest.hasRequiredFields && !rest.isAlive)
    }

    @Test func `an item that no record names stays, and is told again`() {
        let item = Self.state([Self.made: "told"], life: [Self.made: true], seen: [Self.made])
        var log = Self.newLog(fleet: nil)
        guard case .stays = Self.fate(&log, of: item) else {
            Issue.record("the item is lost")
            return
        }
        #expect(log.state.retellsAll)
    }

    @Test func `an item that the fleet has forgotten with cause goes, unless something was changed here`() {
        let item = Self.state([Self.made: "told"], life: [Self.made: true], seen: [Self.made])
        var log = Self.newLog(fleet: nil, base: 9)
        guard case .gone = Self.fate(&log, of: item) else {
            Issue.record("a deleted item came back")
            return
        }
    }

    @Test func `a change of an item that is alive joins it under the new log's name`() {
        let there = Self.state([Self.made: "first"], life: [Self.made: true], seen: [Self.made])
        let item = Self.state(
            [Self.changedHere: "changed here"], life: [Self.changedHere: true], seen: [Self.made, Self.changedHere])
        var log = Self.newLog(fleet: there)
        guard case .becomes(let joined, _, _) = Self.fate(&log, of: item) else {
            Issue.record("the change is lost")
            return
        }
        #expect(joined.fields[Self.label]?.last?.key == Dot(log: Self.fresh, stamp: Self.changedHere.stamp))
        #expect(Self.labels(joined).contains("changed here"))
    }

    @Test func `a change replaces what this file has published, though the record is lost`() {
        func state(_ label: String, _ dot: Dot, keys: Dot, seen: [Dot]) -> ItemState<Secret> {
            var state = Self.state([dot: label], life: [dot: true], seen: seen)
            for field in [FieldID.primaryKey, .protection] { state.fields[field] = [keys: .plain([1])] }
            return state
        }
        let published = Dot(log: Self.old, stamp: 90)
        let there = state("first", Self.made, keys: Self.made, seen: [Self.made])
        let elsewhere = state("published", published, keys: Self.made, seen: [Self.made, published])
        let item = state("changed here", Self.changedHere, keys: Self.made, seen: [Self.made, Self.changedHere])
        var log = Self.newLog(fleet: there)
        guard case .becomes(let joined, _, _) = Self.fate(&log, of: item) else {
            Issue.record("the change is lost")
            return
        }
        #expect(joined.hasRequiredFields && Self.labels(joined) == ["changed here"])
        #expect(Merge.join(elsewhere, joined).map(Self.labels) == ["changed here"])
    }
}
