// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultSync

extension SimulatedFleet {
    /// Returns the broken promises at the end. The letters name the promises: C, all devices have the same items; L,
    /// nothing is lost; S, no overwritten value is a conflict; M, a primary key was written as a whole; F, an honest
    /// fleet raises no alarm; X, no infallible operation fails.
    func problems(_ life: Life, hasPutBack: Bool) -> [String] {
        let wasRestored = world.stats["remotes restored"] != nil
        let alarms = live.flatMap(\.alarms)
        // A person must decide here. A second remote can lag as far behind as a restored one.
        if wasRestored || other != nil && hasPutBack,
            alarms.contains(where: { $0.kind == .forked && ($0.log == nil || hasPutBack) })
        {
            world.count("forks after a restored remote")
            return world.problems
        }
        var found = world.problems + differences() + losses(ignoresSpurious: hasPutBack)
        if life.hasBoth {
            // A value that no device has any more is lost; either an alarm reports the loss, or all devices agree.
            return alarms.isEmpty ? found.filter { $0.hasPrefix("C") || $0.hasPrefix("X") } : world.problems
        }
        for device in live {
            let isWaiting = !device.items.saved.suspects.isEmpty
            if remote.isFolder, isWaiting { found.append("F: \(device.name) waits for \(device.items.saved.suspects)") }
            for alarm in device.alarms {
                // While a restored remote lacked known records, devices rightly reported that; a second remote with an
                // interrupted upload lacks them, too.
                if wasRestored || other != nil, !isWaiting, alarm.kind == .withheld { continue }
                // In a folder an entry can arrive before the parts that it names, which is reported at once.
                if remote.isFolder, !isWaiting, alarm.kind == .withheld, alarm.what.hasPrefix("part ") { continue }
                found.append(
                    "F: \(device.name): \(alarm.kind) \(alarm.log?.text ?? "") \(alarm.sequence) \(alarm.what)")
            }
        }
        return found
    }

    var differ: Bool { !differences().isEmpty }

    private func differences() -> [String] {
        let views = live.map { ($0.name, canonical($0)) }
        guard let first = views.first else { return [] }
        return views.dropFirst().filter { $0.1 != first.1 }.map { "C: \($0.0) and \(first.0) differ" }
    }

    /// Returns the visible state: live items with all their values.
    func canonical(_ device: SimulatedDevice) -> [String] {
        let view = device.items.view
        return view.alive.sorted().map { id in
            let fields = device.items.items[id]?.state.fields ?? [:]
            let text = fields.sorted { $0.key < $1.key }.map { field, values in
                let live = values.filter { !$0.value.isErased }.sorted { $0.key < $1.key }
                return "\(field): \(live.map { "\($0.key.log.text) \($0.key.stamp) \($0.value.exposed)" })"
            }
            return "\(id) \(view.visible.contains(id)) \(text)"
        }
    }

    private func losses(ignoresSpurious: Bool) -> [String] {
        var found: [String] = []
        let universe = universe()
        var items: [ItemID: [FieldID: [Dot: [UInt8]]]] = [:]
        for (write, value) in universe { items[write.item, default: [:]][write.field, default: [:]][write.dot] = value }
        for (id, fields) in items.sorted(by: { $0.key < $1.key }) {
            var greatest: [FieldID: [Dot: [UInt8]]] = [:]
            for (field, values) in fields {
                var past: Set<Dot> = []
                for dot in values.keys {
                    past.formUnion(world.writes[Write(item: id, field: field, dot: dot)]?.past ?? [])
                }
                greatest[field] = values.filter { !past.contains($0.key) }
            }
            let shouldLive = greatest[.life]?.values.contains([1]) ?? false
            for device in live {
                let state = device.items.items[id]?.state
                let lives = state.map(device.items.isAlive) ?? false
                // A deletion in a restored copy may lose to an edit.
                if lives, !shouldLive, world.restamped.contains(id) { continue }
                guard lives == shouldLive else {
                    found.append("L: \(id) \(shouldLive ? "is lost" : "came back") at \(device.name)")
                    continue
                }
                guard lives, let state else { continue }
                for (field, expected) in greatest {
                    let values = (state.fields[field] ?? [:]).mapValues(\.exposed)
                    for (dot, value) in expected where values[dot] != value && !values.values.contains(value) {
                        found.append(
                            "L: \(id) \(field) \(String(decoding: value, as: UTF8.self)) is lost at \(device.name)")
                    }
                    for dot in values.keys where !ignoresSpurious && expected[dot] == nil {
                        found.append("S: \(id) \(field) \(dot) is no conflict at \(device.name)")
                    }
                }
                let key = SimulatedWorld.KeyWritten(item: id, key: device.items.key(of: id))
                if !world.keysWritten.contains(key) { found.append("M: the key of \(id) was never written") }
            }
        }
        return found
    }

    /// The writes that must survive.
    private func universe() -> [Write: [UInt8]] {
        let live = live
        let known = live.reduce(into: Set<Write>()) { $0.formUnion(world.seen($1.items.base)) }
        let ever = live.reduce(into: Set<Write>()) { $0.formUnion($1.items.ever) }
        let names = Set(live.map(\.name))
        let wasRestored = world.stats["remotes restored"] != nil
        return world.writes.filter { write, written in
            if world.moved.contains(write) { return false }
            if known.contains(write) { return true }
            if world.lostByRestore.contains(write), wasRestored || !world.published.contains(write) { return false }
            return names.contains(written.author) || ever.contains(write)
        }.mapValues(\.value)
    }
}
