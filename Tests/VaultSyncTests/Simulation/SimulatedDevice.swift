// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultSync

/// A machine of a simulated fleet.
final class SimulatedDevice {
    /// The state that survives a crash, can be copied and can be restored.
    struct File {
        var items: SimulatedItems
        /// The state of each remote, by the remote's number.
        var remotes: [Int: RemoteState] = [:]
        var identity: Identity

        func copy() -> File { File(items: items.copy(), remotes: remotes, identity: identity) }
    }

    let name: String
    /// The clock's lead, in milliseconds.
    let skew: Int64
    let world: SimulatedWorld
    var file: File
    var mirror = OpenRecordStore()
    var alarms: [Alarm] = []
    var notes: [Alarm] = []
    var isRemoved = false

    init(_ world: SimulatedWorld, _ name: String, skew: Int64 = 0, keys: [UInt32: Secret]) throws {
        (self.world, self.name, self.skew) = (world, name, skew)
        let seeds = Secret(try world.names.secret(64))
        file = File(
            items: SimulatedItems(world, author: name, log: Bytes16(world.names.bytes(16))),
            identity: try Identity(world.realmID, seeds: seeds, epochKeys: keys))
        world.epochKeys.merge(keys) { $1 }
    }

    var items: SimulatedItems { file.items }
    var log: LogID { items.saved.log }
    var id: DeviceID { file.identity.deviceID }

    var rosterDevice: RosterDevice {
        let (signing, box) = file.identity.device
        return RosterDevice(id: id, signingKey: signing, boxKey: box, role: .owner, name: name)
    }

    func setClock() { items.wallStamp = UInt64(max(Int64(world.now) + skew, 1)) << 16 }

    // MARK: Syncing

    func policy(of remote: SimulatedRemote) -> ReplicaPolicy {
        var policy = ReplicaPolicy()
        policy.mostTips = world.mostTips
        policy.entryLength = world.entryLength
        policy.longestHealDelay = 1
        policy.healInterval = world.minute
        policy.heartbeatInterval = world.random.chance(50) ? 0 : .max >> 1
        policy.withheldAfter = remote.isFolder ? 86_400_000 : world.minute
        policy.divergedAfter = world.minute
        policy.leastTrim = world.random.chance(30) ? 0 : 1 << 20
        return policy
    }

    func connection(_ remote: SimulatedRemote, cutPercent: Int = 0) -> Connection {
        Connection(remote, name, ownLog: log, world, cutPercent: cutPercent)
    }

    /// Runs the body with a replica, like a process that opens the file, and keeps the results.
    ///
    /// - Returns: The body's result; `nil` if a sync error ended it.
    @discardableResult
    func withReplica<R>(
        _ remote: SimulatedRemote, _ body: (Replica<SimulatedItems>, inout RemoteState) throws -> R
    ) throws -> R? {
        guard !isRemoved else { return nil }
        setClock()
        let replica = try Replica(
            items, items.saved, identity: file.identity, mirror: Mirror(mirror), policy: policy(of: remote),
            random: world.names, clock: { [items] in items.wallStamp })
        defer {
            // Saved even after an error, as a fleet's vault does.
            file.identity = replica.identity
            world.epochKeys.merge(replica.identity.epochKeys) { $1 }
            let findings = replica.takeFindings()
            for alarm in findings.alarms where !alarms.contains(alarm) { alarms.append(alarm) }
            for note in findings.notes where !notes.contains(note) { notes.append(note) }
            world.count("sums compared", findings.report.comparedEqual)
            world.count("entries", findings.report.published)
            world.count("applied", findings.report.applied)
        }
        var known = file.remotes[remote.number] ?? RemoteState()
        do {
            let result = try body(replica, &known)
            file.remotes[remote.number] = known
            return result
        } catch let error as SyncError {
            switch error {
            case .removed: isRemoved = true
            case .store(.unreachable): world.count("cut syncs")
            case .alarm(let alarm): if !alarms.contains(alarm) { alarms.append(alarm) }
            default: world.problems.append("X: \(name): \(error)")
            }
            return nil
        }
    }

    /// - Returns: Whether the sync finished.
    @discardableResult
    func sync(_ remote: SimulatedRemote, cutPercent: Int = 0, isSilent: Bool = false) throws -> Bool {
        let connection = connection(remote, cutPercent: cutPercent)
        let isTidy = !isSilent && world.random.chance(30)
        return try withReplica(remote) { replica, known in
            let elsewhere = acknowledgedElsewhere(than: remote, replica.state.log)
            try replica.sync(
                with: connection, &known, acknowledgedElsewhere: elsewhere, tells: !isSilent && !isTidy)
            guard isTidy else { return }
            // Other remotes have nothing of a log that has just begun.
            if try !tidy(replica, known, acknowledgedElsewhere(than: remote, replica.state.log)) {
                try replica.publish()
            }
            try replica.sync(with: connection, &known, tells: false)
        } != nil
    }

    /// Returns the last own entry that all other remotes have.
    private func acknowledgedElsewhere(than remote: SimulatedRemote, _ log: LogID) -> UInt64? {
        (0..<world.remoteCount).filter { $0 != remote.number }.map { number in
            guard let known = file.remotes[number], known.log == log else { return 0 }
            return known.acknowledged
        }.min()
    }

    /// Trims, whether worthwhile or not.
    private func tidy(
        _ replica: Replica<SimulatedItems>, _ known: RemoteState, _ elsewhere: UInt64?
    ) throws -> Bool {
        let here = known.log == replica.state.log ? known.acknowledged : 0
        let acknowledged = min(here, elsewhere ?? .max)
        if replica.state.sequence >= 4, acknowledged >= 1 {
            items.isTrimming = true
            defer { items.isTrimming = false }
            let keep = acknowledged - UInt64(world.random.number(in: 0...1))
            if try replica.trim(through: keep) {
                world.count("trims")
                return true
            }
        }
        let left = replica.leftLogs()
        guard !left.isEmpty, world.random.chance(50) else { return false }
        try replica.trim(left)
        world.count("left logs trimmed")
        return true
    }

    // MARK: Edits

    private static let label = FieldID.attribute(Attribute.label.tag)
    private static let fields: [FieldID] = [.secret, label, .userAttribute("a")]

    private func value(of field: FieldID) throws -> FieldValue<Secret> {
        var text = world.freshText()
        if field == .secret, world.largePercent > 0, world.random.chance(world.largePercent) {
            text += [UInt8](repeating: 0, count: 66_000)
        }
        if field == .secret { return .secret(try Secret(bytes: text)) }
        return .plain((field == SimulatedDevice.label ? [1] : []) + text)
    }

    private func randomKey() -> [UInt8] {
        let list: AttributeList = [
            Attribute.account.tag: .string("acc\(world.random.uniform(3))"),
            Attribute.service.tag: .string("svc\(world.random.uniform(4))"),
        ]
        return EncodedAttributes(list, user: [:]).bytes
    }

    private func fresh(_ key: [UInt8], _ fields: [FieldID]) throws -> [FieldID: FieldValue<Secret>] {
        var changes: [FieldID: FieldValue<Secret>] = [
            .life: .plain([1]), .primaryKey: .plain(key), .protection: .plain([1]),
        ]
        var date: [UInt8] = []
        date.append(integer: (Double(world.now) / 1000 - 978_307_200).bitPattern)
        changes[.created] = .plain(date)
        for field in fields { changes[field] = try value(of: field) }
        return changes
    }

    /// Adds, changes, moves or deletes an item, or does nothing if there is nothing to change.
    func edit() throws {
        guard !isRemoved else { return }
        setClock()
        let (random, view) = (world.random, items.view)
        let visible = view.visible.sorted()
        func isFree(_ key: [UInt8]) -> Bool { !visible.contains { items.key(of: $0) == key } }
        let dice = random.uniform(100)
        if visible.isEmpty || dice < 25 {
            let key = randomKey()
            if let holder = visible.first(where: { items.key(of: $0) == key }) {
                items.write(holder, [.life: .plain([1]), .secret: try value(of: .secret)])
            } else {
                items.write(items.makeItemID(), try fresh(key, [.secret, SimulatedDevice.label]))
            }
        } else if dice < 62 {
            let field = random.element(of: SimulatedDevice.fields)
            items.write(random.element(of: visible), [.life: .plain([1]), field: try value(of: field)])
        } else if dice < 72 {
            let changes: [FieldID: FieldValue<Secret>] = [
                .life: .plain([1]), .secret: try value(of: .secret),
                SimulatedDevice.label: try value(of: SimulatedDevice.label),
            ]
            items.write(random.element(of: visible), changes)
        } else if dice < 80 {
            let key = randomKey()
            if isFree(key) { items.write(random.element(of: visible), [.life: .plain([1]), .primaryKey: .plain(key)]) }
        } else if dice < 93 {
            let key = items.key(of: random.element(of: visible))
            for id in view.alive.sorted() where items.key(of: id) == key { items.write(id, [.life: .plain([0])]) }
        } else {
            let dead = items.items.filter { !items.isAlive($0.value.state) && $0.value.state.fields[.life] != nil }
            let key = randomKey()
            if !dead.isEmpty, isFree(key) {
                items.write(random.element(of: dead.keys.sorted()), try fresh(key, SimulatedDevice.fields))
            }
        }
    }

    func editForSure() throws {
        let before = world.writes.count
        while world.writes.count == before {
            world.now += 3 * world.unit
            try edit()
        }
    }
}
