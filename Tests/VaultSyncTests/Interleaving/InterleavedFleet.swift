// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// Homes that share a folder, and the events that can occur between two steps of a sync: verbs, a second sync, kills,
/// locks, lost mirrors, a restored or altered folder, clock jumps.
final class InterleavedFleet {
    /// A secret that a person gave an item.
    struct Write {
        let home: String
        let account: String
        let value: String
        /// The values that the person saw, which the write replaced.
        let seen: Set<String>
        let isAcknowledged: Bool
    }

    struct Life {
        var steps = 14
        /// Whether the folder is altered and restored.
        var isHostile = false
        /// Whether another device joins in the end.
        var hasNewcomer = false
        var broken: BrokenRule?
    }

    let disk: SharedDisk
    let homes: [InterleavedHome]
    let random: SeededRandom
    let life: Life
    var writes: [Write] = []
    /// The records that honest devices put into the folder and have not trimmed, with their original content.
    var honest: [String: [UInt8]] = [:]
    /// The records deleted from the folder.
    var deleted: [String: [UInt8]] = [:]
    private var copies: [String: [String: [UInt8]]] = [:]
    private var isInterfering = false
    private var counter = 0
    var problems: [String] = []
    private(set) var stats: [String: Int] = [:]

    private init(_ template: Template, _ seed: Int, _ life: Life) {
        random = SeededRandom("interleaved \(seed)")
        let disk = template.disk.copy()
        (self.disk, self.life) = (disk, life)
        let names = SeededRandom("names \(seed)")
        homes = template.names.map { name in
            // Some clocks are slow: their stamps follow those of other devices closely.
            let behind = Double(names.uniform(4) == 0 ? 1800 : 0)
            return InterleavedHome(name, on: disk, names, clock: ManualClock(now: 800_003_000 - behind, step: 0.001))
        }
        honest = disk.content(below: InterleavedHome.folder)
    }

    /// Joined homes, the beginning of every run.
    struct Template: @unchecked Sendable {
        let disk: SharedDisk
        let names: [String]

        init(_ names: [String]) throws {
            self.names = names
            let random = SeededRandom("template")
            let disk = SharedDisk()
            self.disk = disk
            let clock = ManualClock()
            let url = RemoteURL(folder: FilePath(InterleavedHome.folder))
            let homes = names.map { InterleavedHome($0, on: disk, random, clock: clock) }
            for home in homes { try home.create() }
            let founder = try homes[0].openVerbs().fleet
            _ = try founder.found(url, deviceName: names[0])
            for home in homes.dropFirst() {
                let attempt = try home.openVerbs().fleet.requestToJoin(
                    url, deviceName: home.name)
                _ = try founder.approve(attempt.code, role: .owner)
                guard try attempt.poll() else { throw SyncError.noAnswer }
            }
            for _ in 0..<2 { for home in homes { _ = try home.openVerbs().fleet.sync() } }
            for home in homes { home.close() }
        }
    }

    private static let templates: [Template] = {
        do { return try [Template(["a", "b"]), Template(["a", "b", "c"])] } catch {
            preconditionFailure("no fleet to begin with: \(error)")
        }
    }()

    func count(_ name: String, _ number: Int = 1) {
        stats[name, default: 0] += number
        trace(name)
    }

    private static let isTraced = ProcessInfo.processInfo.environment["VAULT_FLEET_TRACE"] != nil

    private func trace(_ what: @autoclosure () -> String) { if Self.isTraced { print(what()) } }

    // MARK: A run

    static func live(_ seed: Int, _ life: Life) throws -> InterleavedFleet {
        let fleet = InterleavedFleet(templates[seed % templates.count], seed, life)
        for _ in 0..<life.steps { try fleet.step() }
        try fleet.end()
        return fleet
    }

    private func step() throws {
        let home = random.element(of: homes)
        home.clock.advance(by: Double(random.number(in: 1...90)))
        switch random.uniform(100) {
        case 0..<35: try verb(home)
        case 35..<85: try sync(home)
        default: try interfere(home, nil)
        }
        for home in homes { home.endKilled() }
    }

    /// Syncs a home with events between the steps.
    private func sync(_ home: InterleavedHome) throws {
        guard let handle = try open(home.openSyncing) else { return }
        var left = random.number(in: 0...3)
        // Some syncs have many steps; these odds spread the events over all of them.
        let oddsPerMille = random.element(of: [3, 10, 40])
        // In other syncs the events target the vault's own file, since few steps lie between a read and the commit that
        // follows.
        let isAimed = random.chance(25)
        handle.process.beforeStep = { [unowned self] process, path in
            guard left > 0, !isInterfering, random.uniform(1000) < (isAimed ? 120 : oddsPerMille),
                !isAimed || path.hasSuffix(".vault")
            else { return }
            left -= 1
            isInterfering = true
            defer { isInterfering = false }
            do { try interfere(home, (process, path)) } catch { problems.append("X: \(home.name): \(error)") }
        }
        follow(handle.process)
        defer { handle.process.beforeStep = nil }
        count("syncs")
        trace("\(home.name) syncs at \(home.clock.now)")
        let outcome = run(home, handle)
        trace("\(home.name): \(handle.process.isDead ? "killed" : outcome.map { "\($0)" } ?? "nothing")")
        if handle.process.isDead { return }
        for alarm in outcome?.alarms ?? [] where !life.isHostile && !isDue(alarm) {
            problems.append("F: \(home.name): \(alarm.kind) \(alarm.what)")
        }
        if case .vault(.storage(let error))? = outcome?.error {
            problems.append("X: \(home.name): \(error)")
        }
    }

    /// Whether an alarm is justified in an honest folder: records lost with mirrors are missing until other devices
    /// restore them.
    private func isDue(_ alarm: Alarm) -> Bool { alarm.kind == .withheld || alarm.kind == .rolledBack }

    func run(_ home: InterleavedHome, _ handle: InterleavedHome.Handle) -> SyncOutcome? {
        do throws(SyncError) {
            if let broken = life.broken { return try broken.sync(home, handle) }
            return try handle.fleet.sync().first
        } catch {
            if case .vault(.storage(let error)) = error, !handle.process.isDead {
                problems.append("X: \(home.name): \(error)")
            }
            return nil
        }
    }

    /// Records the files that the process puts into the folder.
    func follow(_ process: DiskProcess) {
        let prefix = InterleavedHome.folder + "/"
        process.onInstall = { [unowned self] path, bytes in
            if path.hasPrefix(prefix), honest[path] == nil { honest[path] = bytes }
        }
    }

    private func open(
        _ body: () throws -> InterleavedHome.Handle
    ) throws -> InterleavedHome.Handle? {
        do { return try body() } catch let error as VaultError {
            // Another handle is in a transaction.
            guard error == .storage(.busy) else { throw error }
            return nil
        }
    }

    // MARK: Events

    private func interfere(_ home: InterleavedHome, _ between: (process: DiskProcess, path: String)?) throws {
        trace("between, at \(home.name): \(between?.path ?? "nothing")")
        // A process that holds the vault cannot serve another request at the same moment.
        let isAtVault = between.map { $0.path.hasPrefix("/\(home.name)/") && !$0.path.contains(".mirror") } ?? false
        let other = random.element(of: homes)
        switch random.uniform(life.isHostile ? 130 : 100) {
        case 0..<40: try verb(home)
        case 40..<45: if other !== home, between != nil { try quietSync(other) }
        case 45..<53: if between != nil { try quietSync(home, with: home.openVerbs) }
        case 53..<68:
            between?.process.kill()
            count("kills")
        case 68..<73:
            guard !isAtVault, let syncing = home.syncing, !syncing.process.isDead else { return }
            try? syncing.vault.lock()
            count("locks")
        case 73..<83:
            disk.replaceContent(below: home.mirrorDirectory, with: withoutMirror(home))
            count("mirrors lost")
        case 83..<87:
            copies[home.name] = disk.content(below: home.mirrorDirectory)
        case 87..<90:
            guard let copy = copies[home.name] else { return }
            disk.replaceContent(below: home.mirrorDirectory, with: copy.merging(withoutMirror(home)) { $1 })
            count("mirrors put back")
        case 90..<96: home.clock.advance(by: random.element(of: [-7200, -60, 60, 7200, 400_000, -400_000]))
        case 96..<100: tidy(home, isAtVault: isAtVault)
        case 100..<104: copies[InterleavedHome.folder] = disk.content(below: InterleavedHome.folder)
        case 104..<107:
            guard let copy = copies[InterleavedHome.folder] else { return }
            disk.replaceContent(below: InterleavedHome.folder, with: copy)
            count("folders put back")
        default: alterFolder()
        }
    }

    /// Runs deferred work and an unneeded compaction.
    private func tidy(_ home: InterleavedHome, isAtVault: Bool) {
        for handle in [home.verbs, isAtVault ? nil : home.syncing] {
            guard let handle, !handle.process.isDead else { continue }
            handle.process.later.runAll()
            try? handle.vault.compact()
            count("compactions")
        }
    }

    /// Returns the files of the state directory outside the mirror: the device's secret and its memory of its vault.
    private func withoutMirror(_ home: InterleavedHome) -> [String: [UInt8]] {
        disk.content(below: home.mirrorDirectory).filter { !$0.key.contains(".mirror/") }
    }

    private func quietSync(_ home: InterleavedHome, with body: (() throws -> InterleavedHome.Handle)? = nil) throws {
        guard let handle = try open(body ?? home.openSyncing) else { return }
        follow(handle.process)
        _ = run(home, handle)
        count("second syncs")
    }

    private func alterFolder() {
        let files = disk.content(below: InterleavedHome.folder)
        let all = files.keys.sorted()
        // Parts of large values are rare, and each is needed.
        let parts = all.filter { $0.contains("/2/") }
        let names = parts.isEmpty || random.uniform(3) > 0 ? all : parts
        guard !names.isEmpty else { return }
        let name = random.element(of: names)
        guard let node = disk.node(name), !node.bytes.isEmpty else { return }
        count("files altered")
        var bytes = node.bytes
        switch random.uniform(6) {
        case 0:
            disk.set(name, nil)
            // Only the devices heal this. A roster that no device has any more cannot be restored.
            if !name.contains("/0/") { deleted[name] = honest.removeValue(forKey: name) }
        case 1: disk.set(name, disk.makeNode(Array(bytes.prefix(random.number(in: 0...bytes.count - 1)))))
        case 2:
            bytes[random.number(in: 0...bytes.count - 1)] ^= 1 << UInt8(random.uniform(8))
            disk.set(name, disk.makeNode(bytes))
        case 3:
            // The unencrypted part: the magic number and the epoch.
            bytes[random.number(in: 0...min(7, bytes.count - 1))] ^= 1 << UInt8(random.uniform(8))
            disk.set(name, disk.makeNode(bytes))
        case 4:
            let other = random.element(of: names)
            let there = files[other].map { disk.makeNode($0) }
            disk.set(name, there)
            disk.set(other, disk.makeNode(bytes))
        default:
            let stream = String(name.prefix { $0 != "." }.split(separator: "/").dropLast().joined(separator: "/"))
            disk.set("/" + stream + "/00000000000000ff", disk.makeNode(random.bytes(700)))
        }
    }

    // MARK: Verbs

    private func verb(_ home: InterleavedHome) throws {
        guard let handle = try open(home.openVerbs) else { return }
        let account = "account\(random.uniform(4))"
        let query = Query(.genericPassword, service: InterleavedHome.service, account: account)
        let visible = try? handle.vault.first(query)
        let dice = random.uniform(100)
        if visible == nil || dice < 55 {
            try write(home, handle, account, query, isThere: visible != nil)
        } else if dice < 70 {
            let seen = try values(handle, account)
            note(home, account, "", seen) { try handle.vault.delete(matching: query) }
        } else {
            let name = "single\(counter)"
            let one = Query(.genericPassword, service: InterleavedHome.service, account: name)
            try write(home, handle, name, one, isThere: false)
        }
    }

    private func write(
        _ home: InterleavedHome, _ handle: InterleavedHome.Handle, _ account: String, _ query: Query, isThere: Bool
    ) throws {
        counter += 1
        let value = "value\(counter)."
        var bytes = Array(value.utf8)
        if random.chance(6) { bytes += [UInt8](repeating: 0, count: 66_000) }
        let secret = try Secret(bytes: bytes)
        let seen = isThere ? try values(handle, account, onlyVisible: true) : []
        note(home, account, value, seen) {
            if isThere {
                try handle.vault.update(matching: query, with: ItemChanges(secret: secret))
            } else {
                try handle.vault.add(
                    Item(.genericPassword(service: InterleavedHome.service, account: account), secret: secret))
            }
        }
    }

    private func note(
        _ home: InterleavedHome, _ account: String, _ value: String, _ seen: Set<String>, _ body: () throws -> Void
    ) {
        var isAcknowledged = false
        do {
            try body()
            isAcknowledged = true
            count("writes")
        } catch {
            count("refused writes")
        }
        trace("\(home.name): \(account) \(value) instead of \(seen.sorted()): \(isAcknowledged)")
        writes.append(
            Write(home: home.name, account: account, value: value, seen: seen, isAcknowledged: isAcknowledged))
    }

    private func values(
        _ handle: InterleavedHome.Handle, _ account: String, onlyVisible: Bool = false
    ) throws -> Set<String> {
        let list: AttributeList = [
            Attribute.account.tag: .string(account), Attribute.service.tag: .string(InterleavedHome.service),
        ]
        let home = homes[0]
        return try home.view(handle).reduce(into: []) { found, item in
            guard !onlyVisible || !item.isShadowed,
                let key = try? EncodedAttributes(parsing: item.key, item.key.indices),
                key[Attribute.account.tag] == list[Attribute.account.tag]
            else { return }
            found.formUnion(item.values)
        }
    }
}
