// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultSync

/// The items of a simulated device: with its edits, and the ground truth that the protocol does not see.
final class SimulatedItems: ReplicaItems {
    let world: SimulatedWorld
    let author: String
    private(set) var base: MemoryItems
    /// The values that the device ever received, and those that it wrote.
    private(set) var ever: Set<Write>
    private(set) var mine: Set<Write>
    /// The order in which items arrived on the device.
    private(set) var arrivals: [ItemID: Int]
    /// The device's current operation, which removed rules depend on.
    var isTrimming = false
    var isRemoving = false

    init(_ world: SimulatedWorld, author: String, log: LogID) {
        (self.world, self.author) = (world, author)
        base = MemoryItems(ReplicaState(log: log), random: world.names)
        (ever, mine, arrivals) = ([], [], [:])
    }

    private init(copying other: SimulatedItems) {
        (world, author) = (other.world, other.author)
        base = MemoryItems(other.saved, random: other.world.names)
        wallStamp = other.wallStamp
        base.items = other.base.items
        base.newestStamp = other.base.newestStamp
        (ever, mine, arrivals) = (other.ever, other.mine, other.arrivals)
    }

    func copy() -> SimulatedItems { SimulatedItems(copying: self) }

    var saved: ReplicaState { base.saved }
    var items: [ItemID: MemoryItems.Entry] { base.items }

    // MARK: Requirements of a replica

    /// The device's clock.
    var wallStamp: UInt64 = 0

    func moment() throws(SyncError) -> (newest: UInt64, version: UInt64) { base.moment() }

    func makeItemID() -> ItemID { base.makeItemID() }

    func commit(_ change: ReplicaChange, _ state: ReplicaState) throws(SyncError) {
        try base.commit(change, state)
        for (told, _) in change.told {
            for (field, values) in told.fields {
                for dot in values.keys { ever.insert(Write(item: told.id, field: field, dot: dot)) }
            }
            if arrivals[told.id] == nil { arrivals[told.id] = arrivals.count }
            if world.broken.contains(.conflicts) { keepWinners(told.id) }
        }
        world.count("erased", change.erased.count)
        world.count("purged", change.purged.count)
    }

    private func keepWinners(_ id: ItemID) {
        for (field, values) in base.items[id]?.state.fields ?? [:] {
            guard let winner = values.max(by: { $0.key < $1.key }) else { continue }
            base.items[id]?.state.fields[field] = [winner.key: winner.value]
        }
    }

    func look(for selection: ItemSelection) throws(SyncError) -> ItemLook {
        var selection = selection
        if world.broken.contains(isRemoving ? .removalRetelling : .vouching) { selection.touching = [] }
        if isTrimming, world.broken.contains(.retellingBeforeTrim) { selection.also = [] }
        return base.look(for: selection)
    }

    func deleted() throws(SyncError) -> [DeletedItem] {
        base.deleted().map { item in
            DeletedItem(
                id: item.id, own: item.own, told: world.broken.contains(.lateErasing) ? 0 : item.told,
                erased: world.broken.contains(.latePurging) ? min(item.erased, 1) : item.erased)
        }
    }

    func forEachState(
        of ids: [ItemID], _ body: (ItemState<Secret>) throws(SyncError) -> Void
    ) throws(SyncError) { try base.forEachState(of: ids, body) }

    func sum() throws(SyncError) -> (sum: UInt64, version: UInt64) {
        let (sum, version) = base.sum()
        if world.broken.contains(.sums) { return (1, version) }
        guard world.broken.contains(.orderOfCollisions) else { return (sum, version) }
        let (before, after) = (base.view, view)
        let (shadowed, others) = (before.alive.subtracting(before.visible), before.alive.subtracting(after.visible))
        return (sum &- self.sum(of: shadowed) &+ self.sum(of: others), version)
    }

    private func sum(of shadowed: Set<ItemID>) -> UInt64 {
        var sum = ItemSum()
        for id in shadowed { sum.add(id) }
        return sum.total
    }

    var view: (alive: Set<ItemID>, visible: Set<ItemID>) {
        let alive = Set(base.items.filter { isAlive($0.value.state) }.keys)
        var holders: [[UInt8]: ItemID] = [:]
        for id in alive.sorted() {
            let key = key(of: id)
            guard let holder = holders[key] else {
                holders[key] = id
                continue
            }
            if outranks(id, holder) { holders[key] = id }
        }
        return (alive, Set(holders.values))
    }

    func isAlive(_ state: ItemState<Secret>) -> Bool {
        guard world.broken.contains(.editsBeforeDeletions) else { return state.isAlive }
        return state.fields[.life]?.values.allSatisfy { $0.exposed == [1] } ?? false
    }

    private func outranks(_ a: ItemID, _ b: ItemID) -> Bool {
        if world.broken.contains(.orderOfCollisions) { return arrivals[a] ?? 0 < arrivals[b] ?? 0 }
        guard let first = base.items[a]?.state, let second = base.items[b]?.state else { return false }
        return (first.rank, a) > (second.rank, b)
    }

    func key(of id: ItemID) -> [UInt8] { base.items[id]?.state.winner(of: .primaryKey)?.value.exposed ?? [] }

    // MARK: Edits

    /// Writes the changed fields under a single new dot, which replaces every visible value.
    func write(_ id: ItemID, _ changes: [FieldID: FieldValue<Secret>]) {
        var entry =
            base.items[id] ?? MemoryItems.Entry(state: ItemState<Secret>(id: id, itemClass: .genericPassword))
        let stamp = max(max(saved.clock, base.newestStamp) + 1, wallStamp)
        let dot = Dot(log: saved.log, stamp: stamp)
        for (field, value) in changes {
            let write = Write(item: id, field: field, dot: dot)
            world.writes[write] = SimulatedWorld.Written(
                author: author, value: value.exposed, past: world.seen(entry.state, field))
            mine.insert(write)
            entry.state.fields[field] = [dot: value]
        }
        entry.state.context[dot.log] = stamp
        entry.erased = 0
        base.items[id] = entry
        base.newestStamp = stamp
        if arrivals[id] == nil { arrivals[id] = arrivals.count }
        world.keysWritten.insert(SimulatedWorld.KeyWritten(item: id, key: key(of: id)))
        world.count("writes")
    }

    // MARK: A file with a new log

    func begin(_ newLog: inout NewLog) throws(SyncError) {
        let (before, old) = (base.items, saved.log)
        try base.begin(&newLog)
        let state = saved
        arrivals = [:]
        for (id, entry) in base.items.sorted(by: { $0.key < $1.key }) {
            arrivals[id] = arrivals.count
            for (field, values) in entry.state.fields {
                for (dot, value) in values {
                    let write = Write(item: id, field: field, dot: dot)
                    guard dot.log == state.log, world.writes[write] == nil else {
                        ever.insert(write)
                        continue
                    }
                    noteRenamed(write, value, from: Dot(log: old, stamp: dot.stamp))
                }
            }
            if entry.state.context[state.log] != nil {
                world.keysWritten.insert(SimulatedWorld.KeyWritten(item: id, key: key(of: id)))
            }
        }
        for (id, entry) in before where base.items[id]?.state.isAlive != true { noteMoved(entry.state, old) }
        world.count("new logs")
    }

    private func noteRenamed(_ write: Write, _ value: FieldValue<Secret>, from dot: Dot) {
        let earlier = world.writes[Write(item: write.item, field: write.field, dot: dot)]
        if let earlier, earlier.value == value.exposed {
            world.writes[write] = SimulatedWorld.Written(
                author: author, value: earlier.value, past: earlier.past.union([dot]))
            world.restamped.insert(write.item)
        } else {
            // The value continues as a separate item.
            world.writes[write] = SimulatedWorld.Written(author: author, value: value.exposed, past: [])
            world.count("moved values")
        }
        mine.insert(write)
    }

    /// Records the pending changes of an item that the fleet has deleted.
    private func noteMoved(_ state: ItemState<Secret>, _ old: LogID) {
        let told = world.published.union(ever)
        for write in mine where write.item == state.id && write.dot.log == old && !told.contains(write) {
            world.moved.insert(write)
            for dot in world.writes[write]?.past ?? [] where dot.stamp == write.dot.stamp {
                let earlier = Write(item: write.item, field: write.field, dot: dot)
                if !told.contains(earlier) { world.moved.insert(earlier) }
            }
        }
    }
}
