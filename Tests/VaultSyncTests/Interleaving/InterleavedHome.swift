// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// The machine of one device, with the vault open in several processes: a person's commands, and a syncing process.
final class InterleavedHome {
    static let folder = "/shared"
    static let passphrase = "correct horse"
    static let service = "svc"

    /// A process with the vault open.
    final class Handle {
        let process: DiskProcess
        let vault: Vault
        let fleet: Fleet

        init(_ process: DiskProcess, _ vault: Vault, _ environment: VaultEnvironment) throws {
            (self.process, self.vault) = (process, vault)
            fleet = try Fleet(vault, environment: environment)
        }
    }

    let name: String
    let disk: SharedDisk
    let random: any RandomSource
    let clock: ManualClock
    private(set) var verbs: Handle?
    private(set) var syncing: Handle?

    init(_ name: String, on disk: SharedDisk, _ random: any RandomSource, clock: ManualClock) {
        (self.name, self.disk, self.random, self.clock) = (name, disk, random, clock)
    }

    var mirrorDirectory: String { "/\(name)/state" }
    private var path: FilePath { FilePath("/\(name)/v.vault") }

    private func environment(_ process: DiskProcess) -> VaultEnvironment {
        var environment = VaultEnvironment(
            fileSystem: process, clock: clock, random: random, stateDirectory: FilePath(mirrorDirectory))
        environment.patience = .seconds(1)
        environment.background = process.later
        return environment
    }

    func create() throws {
        let process = DiskProcess(disk)
        let environment = environment(process)
        try process.createDirectories(FilePath(InterleavedHome.folder))
        let vault = try Vault.create(
            at: path, passphrase: .of(InterleavedHome.passphrase), cost: .weakest, environment: environment)
        verbs = try Handle(process, vault, environment)
    }

    private func open() throws -> Handle {
        let process = DiskProcess(disk)
        let environment = environment(process)
        let vault = try Vault.open(
            at: path, unlockingWith: .of(InterleavedHome.passphrase), environment: environment)
        return try Handle(process, vault, environment)
    }

    /// Opens the vault for a person's commands, if it is not open already.
    func openVerbs() throws -> Handle {
        if let verbs, !verbs.process.isDead { return verbs }
        let handle = try open()
        verbs = handle
        return handle
    }

    func openSyncing() throws -> Handle {
        if let syncing, !syncing.process.isDead {
            if syncing.vault.isLocked {
                try syncing.vault.unlock(with: .passphrase(.of(InterleavedHome.passphrase)))
            }
            return syncing
        }
        let handle = try open()
        syncing = handle
        return handle
    }

    func close() { (verbs, syncing) = (nil, nil) }

    func endKilled() {
        if verbs?.process.isDead == true { verbs = nil }
        if syncing?.process.isDead == true { syncing = nil }
    }

    // MARK: Visible state

    /// A live item.
    struct Seen {
        let id: ItemID
        let key: [UInt8]
        let isShadowed: Bool
        /// The values of the main secret, including conflicts.
        let values: Set<String>
    }

    func view(_ handle: Handle) throws -> [Seen] {
        try handle.vault.readReplica { table throws(VaultError) in
            let logs = try table.logs()
            var ids: [(ItemID, isShadowed: Bool)] = []
            table.forEachBrief { if !$0.isTombstone { ids.append(($0.id, $0.isShadowed)) } }
            var seen: [Seen] = []
            for (id, isShadowed) in ids {
                guard let state = try table.openState(of: id, logs) else { continue }
                let values = (state.fields[.secret]?.values ?? []).filter { !$0.isErased }
                    .map { String(decoding: $0.exposed.prefix { $0 != 0 }, as: UTF8.self) }
                seen.append(
                    Seen(
                        id: id, key: state.winner(of: .primaryKey)?.value.exposed ?? [], isShadowed: isShadowed,
                        values: Set(values)))
            }
            return seen
        }
    }

    /// Returns the state that all devices must share: the inputs of the sums and the values of live items.
    func canonical(_ handle: Handle) throws -> [String] {
        try handle.vault.readReplica { table throws(VaultError) in
            let logs = try table.logs()
            var (ids, lines): ([(ItemID, isShadowed: Bool)], [String]) = ([], [])
            table.forEachBrief { item in
                guard !item.isTombstone else { return }
                ids.append((item.id, item.isShadowed))
                item.forEachMark { field, mark in
                    let log = logs[mark.dot.number]?.text ?? ""
                    lines.append("\(item.id) \(field) \(log) \(mark.dot.stamp) \(mark.mark == .erased)")
                }
            }
            for (id, isShadowed) in ids {
                guard let state = try table.openState(of: id, logs) else { continue }
                lines.append("\(isShadowed) \(SyncCrashTests.canonical(state))")
            }
            return lines.sorted()
        }
    }
}
