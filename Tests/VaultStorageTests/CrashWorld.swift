// SPDX-License-Identifier: Apache-2.0
import Synchronization
import SystemPackage
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// Two processes on one vault, a disk that can fail, and an oracle that remembers every acknowledged commit.
///
/// The processes take turns. Before each of their operations a power cut is simulated on copies of the disk: opening
/// the remains must give every acknowledged commit, no half commit and no damage.
final class CrashWorld {
    struct Violation: Error, CustomStringConvertible { let description: String }

    private struct Template {
        let bytes: [UInt8]
        let vaultKey: Secret
    }

    /// A vault without items; its key is known, so that opening needs no derivation.
    private static let template: Template? = {
        let disk = SimulatedDisk()
        guard let passphrase = try? Passphrase.of("p"),
            let store = try? VaultStore.create(
                at: disk.root.appending(VaultBuilder.name), unlockedBy: .passphrase(passphrase), cost: .weakest,
                environment: .seeded("template", on: disk)),
            let inode = disk.inode(VaultBuilder.name)
        else { return nil }
        switch store.keys.vaultKey {
        case .some(let key): return (try? Secret(bytes: key.exposed)).map { Template(bytes: inode.bytes, vaultKey: $0) }
        case .none: return nil
        }
    }()

    private let random: SeededRandom
    private var disk: SimulatedDisk
    private var handles: [VaultStore?] = [nil, nil]
    private let vaultKey: Secret
    private let items: [ItemID]
    /// The content of each commit, and its parent.
    private var history: [(parent: Int, content: [ItemID: [UInt8]])] = [(0, [:])]
    private var acknowledged = 0
    private var failed: Set<Int> = []
    private let lies: Set<SimulatedDisk.Step>
    private let marksAhead: Bool
    private let copiesWithoutLock: Bool
    private var isLooking = false
    private var isPowerCut = false
    private var violation: Violation?
    private(set) var states = 0
    private(set) var commits = 0
    /// The probabilities, in per cent, of a kill, a power cut, a failed sync, a full disk and other faults.
    private let rates: [Int]

    /// - Parameters:
    ///   - lies: Syncs that report success without effect.
    ///   - marksAhead: Whether marks name a commit before its sync.
    init(_ seed: String, lies: Set<SimulatedDisk.Step> = [], marksAhead: Bool = false) throws {
        random = SeededRandom(seed)
        guard let template = CrashWorld.template else { throw Violation(description: "no template") }
        vaultKey = template.vaultKey
        disk = SimulatedDisk()
        disk.put(template.bytes, as: VaultBuilder.name)
        disk.lie(about: lies)
        self.lies = lies
        self.marksAhead = marksAhead
        copiesWithoutLock = random.chance(50)
        let random = random
        items = (0..<5).map { _ in ItemID(random: random.bytes(16)) }
        let rate = random.element(of: [2, 6, 12])
        rates = (0..<5).map { _ in random.chance(50) ? rate : 0 }
    }

    func run(rounds: Int) throws {
        for _ in 0..<rounds {
            let process = random.number(in: 0...1)
            watch()
            do throws(StorageError) {
                if handles[process] == nil { handles[process] = try open(disk, "process \(process)") }
                guard let store = handles[process] else { continue }
                // Only a rename reveals a directory that was not synced.
                let action = lies.contains(.directorySync) && random.chance(50) ? 8 : random.number(in: 0...9)
                switch action {
                case 0...5: try commit(store)
                case 6: try store.refresh()
                case 7: try store.settleMarks()
                case 8: try random.chance(50) ? store.compact() : store.compactBeside()
                default:
                    try store.settleMarks()
                    handles[process] = nil
                }
                if let store = handles[process] {
                    try store.refresh()
                    try checkView(of: store)
                }
            } catch {
                try judge(error, process)
            }
            if let violation { throw violation }
            unwatch()
            if random.chance(rates[4]) { disk.failBackgroundWriting(random) }
            if random.chance(rates[4]) { disk.forgetCleanSectors(random) }
        }
    }

    private func open(_ disk: SimulatedDisk, _ seed: String) throws(StorageError) -> VaultStore {
        var environment = VaultEnvironment.seeded("\(seed) \(history.count) \(states)", on: disk, state: disk.root)
        if copiesWithoutLock { environment.lockFreeCopyLength = 0 }
        return try VaultStore.open(on: disk, vaultKey: vaultKey, environment: environment)
    }

    private func judge(_ error: StorageError, _ process: Int) throws {
        let wasDead = disk.isDead
        handles[process] = nil
        if isPowerCut {
            isPowerCut = false
            handles = [nil, nil]
            unwatch()
            disk = disk.afterPowerCut(random)
            disk.lie(about: lies)
            return try look(disk, "after the power came back")
        }
        disk.bury()
        if wasDead { return }
        switch error {
        case .inputOutput, .indeterminate, .poisoned: return
        default: throw Violation(description: "a process got \(error)")
        }
    }

    // MARK: Commits

    private func commit(_ store: VaultStore) throws(StorageError) {
        var made: [Int] = []
        let before = history.count
        do throws(StorageError) {
            try store.write { session in
                var parent = self.identify(store)
                for _ in 0..<self.random.element(of: [1, 1, 2]) {
                    let name = self.history.count
                    var content = self.history[parent].content
                    try? session.transaction { (session: inout WriteSession) throws(StorageError) in
                        for (index, id) in self.items.enumerated() where index == 0 || self.random.chance(40) {
                            try self.change(id, in: &session, &content, marker: index == 0 ? name : nil)
                        }
                    }
                    self.history.append((parent, content))
                    made.append(name)
                    parent = name
                }
            }
            acknowledged = made.last ?? acknowledged
            commits += made.count
        } catch {
            // A failed commit must not reappear; a commit with unknown outcome may.
            if case .inputOutput = error, !disk.isDead, !isPowerCut { failed.formUnion(before..<history.count) }
            throw error
        }
    }

    /// Changes an item. The first item's value is the name of the commit.
    private func change(
        _ id: ItemID, in session: inout WriteSession, _ content: inout [ItemID: [UInt8]], marker: Int?
    ) throws(StorageError) {
        let old = session.store.records[id]
        if marker == nil, let old, random.chance(30) {
            var removal = old
            removal.kind = .delete
            removal.version += 1
            removal.attributes = EncodedAttributes()
            try session.stage(removal, value: .none)
            content[id] = nil
            return
        }
        let value = marker.map { Array("\($0)".utf8) } ?? random.bytes(random.element(of: [0, 1, 40, 300, 700, 3000]))
        guard let secret = try? Secret(bytes: value) else { return }
        var operation =
            old
            ?? Operation(
                kind: .put, itemClass: .genericPassword, protection: .whenUnlocked, id: id, version: 0, valueVersion: 0,
                ordinal: session.nextOrdinal, created: 0, modified: 0, value: nil, deviceID: .init(repeating: 0),
                attributes: .init())
        operation.version += 1
        // A deleted item that is added again continues its version numbers.
        operation.version = max(operation.version, UInt64(history.count) + 10)
        try session.stage(operation, value: .set(secret))
        content[id] = value
    }

    // MARK: The oracle

    /// Returns the name of the commit that the store shows.
    private func identify(_ store: VaultStore) -> Int {
        guard let place = store.records.place(of: items[0]), let operation = store.records[place],
            let value = try? store.openValue(of: operation)
        else { return 0 }
        return Int(String(decoding: value.exposed, as: UTF8.self)) ?? 0
    }

    /// Checks a process's view. A reader may have applied a commit that was never durable and whose values the cache
    /// has lost since. Like every caller of ``VaultStore``, the check accepts damage only if it persists with all
    /// writers locked out.
    private func checkView(of store: VaultStore) throws(StorageError) {
        do throws(StorageError) { try check(store, "in a process's view") } catch {
            guard case .damaged(.value) = error else { throw error }
            try store.reopenKeepingWritersOut()
            try check(store, "in a process's second view")
        }
    }

    private func check(_ store: VaultStore, _ when: String) throws(StorageError) {
        let name = identify(store)
        var content: [ItemID: [UInt8]] = [:]
        for place in 0..<store.records.end {
            guard let operation = store.records[place], let value = try store.openValue(of: operation) else { continue }
            content[operation.id] = value.exposed
        }
        guard name < history.count, content == history[name].content else {
            return report("a commit is half there \(when)")
        }
        var walk = name
        while walk != acknowledged {
            guard !failed.contains(walk) else { return report("a failed commit is back \(when)") }
            guard walk != 0 else { return report("an acknowledged commit is lost \(when)") }
            walk = history[walk].parent
        }
    }

    private func report(_ text: String) { violation = violation ?? Violation(description: text) }

    /// - Parameter goingOn: Whether to also write to the disk, which must be a copy.
    private func look(_ disk: SimulatedDisk, _ when: String, goingOn: Bool = false) throws {
        do throws(StorageError) {
            let store = try open(disk, "look")
            try check(store, when)
            if violation == nil, goingOn { try goOn(store, disk) }
        } catch {
            report("\(error) \(when)")
        }
        if let violation { throw violation }
    }

    /// Checks that a process can write after a crash, and that its write is present at the next opening.
    private func goOn(_ store: VaultStore, _ disk: SimulatedDisk) throws(StorageError) {
        let marker = history.count + 1_000_000
        try store.change { (session: inout WriteSession) throws(StorageError) in
            var content: [ItemID: [UInt8]] = [:]
            try self.change(self.items[0], in: &session, &content, marker: marker)
        }
        guard identify(try open(disk, "after")) == marker else { return report("a write after a crash is lost") }
    }

    // MARK: Faults

    private func watch() {
        let world = Unchecked(self)
        disk.judge.withLock { $0 = { step in world.value.fate(of: step) } }
    }

    private func unwatch() { disk.judge.withLock { $0 = nil } }

    private func fate(of step: SimulatedDisk.Step) -> SimulatedDisk.Fate {
        guard !isLooking, step != .read else { return .done }
        isLooking = true
        defer { isLooking = false }
        if marksAhead, step == .dataSync { try? markTheNewest() }
        if disk.hasUnsyncedState {
            for remains in disk.powerCuts(atMost: 16, else: 3, random) where violation == nil {
                states += 1
                try? look(remains, "after a power cut before \(step)", goingOn: random.chance(10))
            }
        }
        if violation != nil { return .killed }
        if random.chance(rates[0]) { return .killed }
        if random.chance(rates[1]) {
            isPowerCut = true
            return .killed
        }
        switch step {
        case .dataSync, .fileSync, .directorySync: return random.chance(rates[2]) ? .fails(.ioError) : .done
        case .write, .reserve: return random.chance(rates[3]) ? .fails(.noSpace) : .done
        default: return .done
        }
    }

    /// Marks the newest commit, like a writer that relies on the order in which sectors reach the disk.
    private func markTheNewest() throws {
        guard let inode = disk.inode(VaultBuilder.name) else { return }
        var builder = try VaultBuilder(
            inode.bytes, VaultBuilder.Keys(vaultKey, Header(parsing: inode.bytes.span).vaultID))
        guard let newest = try builder.positions().last else { return }
        try builder.mark(0, newest)
        let file = try disk.openDirectory(disk.root).open(VaultBuilder.name, writable: true)
        let area = Layout.markOffsets[0]..<Layout.markOffsets[0] + CommitMark.length
        try file.writeAll(builder.bytes.span.extracting(area), at: area.lowerBound)
    }

    private struct Unchecked: @unchecked Sendable {
        let value: CrashWorld
        init(_ value: CrashWorld) { self.value = value }
    }
}
