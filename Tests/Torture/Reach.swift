// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

import VaultSync

/// Measures the cost of replication, each figure beside its baseline, in one line of JSON: nanoseconds and bytes.
///
///   vault-torture reach DIRECTORY add ITEMS | initial ITEMS | change DEVICES | devices COUNT WRITES
struct Reach {
    let directory: String

    func run(_ what: String, _ count: Int, _ more: Int) throws -> Bool {
        try? FileManager.default.removeItem(atPath: directory)
        try FileManager.default.createDirectory(atPath: directory + "/shared", withIntermediateDirectories: true)
        switch what {
        case "add": try add(count)
        case "initial": try initial(count)
        case "change": try change(devices: count)
        case "devices": try devices(count, writes: more)
        default: return false
        }
        return true
    }

    private var shared: RemoteURL { RemoteURL(folder: FilePath(directory).appending("shared")) }

    private func make(_ name: String) throws -> (vault: Vault, fleet: Fleet) {
        var environment = VaultEnvironment.system
        environment.strengthensSlots = false
        environment.stateDirectory = FilePath(directory).appending(name + "/state")
        let vault = try Vault.create(
            at: FilePath(directory).appending(name + "/v.vault"), passphrase: .of("first"), cost: .weakest,
            environment: environment)
        return (vault, try Fleet(vault, environment: environment))
    }

    private func join(_ name: String, _ founder: Fleet) throws -> (vault: Vault, fleet: Fleet) {
        let made = try make(name)
        let attempt = try made.fleet.requestToJoin(shared, deviceName: name)
        _ = try founder.approve(attempt.code, role: .owner)
        guard try attempt.poll() else { throw SyncError.noAnswer }
        return made
    }

    private func item(_ number: Int) throws -> Item {
        Item(
            .genericPassword(service: "svc\(number)", account: "account"), attributes: [.label: .string("a label")],
            secret: try Secret(text: "secret value"))
    }

    private func measure(_ body: () throws -> Void) rethrows -> UInt64 {
        let start = now()
        try body()
        return now() - start
    }

    private func report(_ figures: [String: UInt64]) {
        let fields = figures.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \($0.value)" }
        say("{\(fields.joined(separator: ", "))}")
    }

    /// Adds items one by one, in turn to a vault that belongs to a fleet and to one that does not.
    private func add(_ count: Int) throws {
        let (plain, shared) = (try make("plain").vault, try make("shared"))
        _ = try shared.fleet.found(self.shared, deviceName: "shared")
        var (without, with): ([UInt64], [UInt64]) = ([], [])
        for number in 0..<count {
            without.append(try measure { try plain.add(try item(number)) })
            with.append(try measure { try shared.vault.add(try item(number)) })
        }
        report(["without": without.sorted()[count / 2], "with": with.sorted()[count / 2]])
    }

    /// Measures the first sync of a device, beside reading the folder and adding as many items to a vault at once.
    private func initial(_ count: Int) throws {
        let founder = try make("founder")
        _ = try founder.fleet.found(shared, deviceName: "founder")
        let items = try (0..<count).map(item)
        for start in stride(from: 0, to: count, by: 1000) {
            try founder.vault.store(Array(items[start..<min(start + 1000, count)]), replacing: false, deleting: [])
        }
        let publish = try measure { _ = try founder.fleet.sync() }
        let plain = try make("plain").vault
        let batch = try measure {
            for start in stride(from: 0, to: count, by: 1000) {
                try plain.store(Array(items[start..<min(start + 1000, count)]), replacing: false, deleting: [])
            }
        }
        var bytes: UInt64 = 0
        let read = measure {
            let files = FileManager.default.enumerator(atPath: shared.folder.string)
            while let file = files?.nextObject() as? String {
                bytes += UInt64(FileManager.default.contents(atPath: shared.folder.string + "/" + file)?.count ?? 0)
            }
        }
        let newcomer = try make("newcomer")
        let attempt = try newcomer.fleet.requestToJoin(shared, deviceName: "newcomer")
        _ = try founder.fleet.approve(attempt.code, role: .owner)
        let first = try measure { guard try attempt.poll() else { throw SyncError.noAnswer } }
        guard try newcomer.vault.copyMatching(Query(.genericPassword)).count == count else { throw SyncError.tooLarge }
        report(["read": read, "batch": batch, "initial": first, "publish": publish, "bytes": bytes])
    }

    /// Measures the bytes that one change adds to the folder.
    private func change(devices: Int) throws {
        let founder = try make("device0")
        _ = try founder.fleet.found(shared, deviceName: "device0")
        let others = try (1..<devices).map { try join("device\($0)", founder.fleet) }
        for (_, fleet) in others + [founder] { _ = try fleet.sync() }
        func size() -> UInt64 {
            var size: UInt64 = 0
            let files = FileManager.default.enumerator(atPath: shared.folder.string)
            while let file = files?.nextObject() as? String {
                size += UInt64(FileManager.default.contents(atPath: shared.folder.string + "/" + file)?.count ?? 0)
            }
            return size
        }
        try founder.vault.add(try item(1))
        _ = try founder.fleet.sync()
        let before = size()
        try founder.vault.update(
            matching: Query(.genericPassword), with: ItemChanges(secret: try Secret(text: "another value")))
        let took = try measure { _ = try founder.fleet.sync() }
        report(["bytes": size() - before, "sync": took])
    }

    /// Measures devices in one process, whose items are in memory.
    private func devices(_ count: Int, writes: Int) throws {
        let random = SystemRandom()
        let realm = Bytes16(random.bytes(16))
        let key = Secret(try random.secret(32))
        let identities = try (0..<count).map { _ in
            try Identity(realm, seeds: Secret(try random.secret(64)), epochKeys: [1: key])
        }
        let store = MemoryRecordStore()
        let clock = RunningClock()
        let fleet = try identities.map { identity in
            let state = ReplicaState(log: Bytes16(random.bytes(16)))
            return try Replica(
                MemoryItems(state, random: random), state, identity: identity,
                mirror: Mirror(MemoryRecordStore()), policy: ReplicaPolicy(), random: random,
                clock: { clock.stamp })
        }
        // The devices have short names, and a record of the roster has room for some thousand of them.
        let roster = identities.enumerated().map { index, identity in
            RosterOperation<Secret>.enrol(
                RosterDevice(
                    id: identity.deviceID, signingKey: identity.device.signing, boxKey: identity.device.box,
                    role: .owner, name: "\(index)"))
        }
        let founder = identities[0].deviceID
        let genesis = RosterOperation<Secret>.genesis(founder: founder, recovery: founder, recoveryMAC: .zero)
        guard try fleet[0].appendToRoster([genesis] + roster, at: store) else { throw SyncError.remoteInUse }
        var remotes = [RemoteState](repeating: RemoteState(), count: count)
        var (entries, alarms) = (0, 0)
        let took = try measure {
            for (index, replica) in fleet.enumerated() {
                replica.items.write(writes, of: index, in: replica.state.log, clock.stamp)
            }
            for round in 0..<2 {
                for (index, replica) in fleet.enumerated() {
                    clock.stamp += 1000 << 16
                    try replica.sync(with: store, &remotes[index])
                    let findings = replica.takeFindings()
                    entries += findings.report.applied
                    alarms += findings.alarms.count
                }
                let sums = Set(fleet.map { $0.items.sum().sum })
                say("devices: round \(round + 1): \(sums.count == 1 ? "all equal" : "not equal yet")")
            }
        }
        guard Set(fleet.map { $0.items.sum().sum }).count == 1, alarms == 0 else {
            throw SyncError.noAnswer
        }
        report(["took": took, "applied": UInt64(entries), "items": UInt64(fleet[0].items.items.count)])
    }
}

/// A clock that a trial advances.
private final class RunningClock {
    var stamp = UInt64(Date().timeIntervalSince1970 * 1000) << 16
}

extension MemoryItems {
    /// Writes a new item, and the given number of changes to it, as the device would.
    func write(_ writes: Int, of device: Int, in log: LogID, _ wall: UInt64) {
        let id = makeItemID()
        for number in 0..<writes { write(id, number, of: device, in: log, wall) }
    }

    private func write(_ id: ItemID, _ number: Int, of device: Int, in log: LogID, _ wall: UInt64) {
        newestStamp = max(newestStamp + 1, wall)
        let dot = Dot(log: log, stamp: newestStamp)
        var state = ItemState<Secret>(id: id, itemClass: .genericPassword, context: [log: dot.stamp])
        let key = EncodedAttributes(
            [Attribute.account.tag: .string("account"), Attribute.service.tag: .string("\(device)")], user: [:])
        state.fields = [
            .life: [dot: .plain([1])], .primaryKey: [dot: .plain(key.bytes)], .protection: [dot: .plain([1])],
            .secret: [dot: .secret("value")], .userAttribute("number"): [dot: .plain(Array("\(number)".utf8))],
        ]
        items[id] = Entry(state: state)
    }
}
