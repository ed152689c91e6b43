// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultAgent
@testable import VaultAgentServer
@testable import VaultFleet
@testable import VaultSync

/// System randomness that can block a sync while it stores a record and does not hold the vault.
final class Gate: RandomSource {
    private let isArmed = Atomic(false)
    private let entered = DispatchSemaphore(value: 0)
    private let opened = DispatchSemaphore(value: 0)
    private let system = SystemRandom()

    func fill(_ bytes: inout MutableSpan<UInt8>) {
        // The sync draws the name of a temporary file.
        if bytes.count == 8, isArmed.exchange(false, ordering: .relaxed) {
            entered.signal()
            opened.wait()
        }
        system.fill(&bytes)
    }

    func secret(_ count: Int) throws(CryptoError) -> SecretBytes { try system.secret(count) }

    func close() { isArmed.store(true, ordering: .relaxed) }

    func awaitSync() { entered.wait() }

    func open() { opened.signal() }
}

/// An agent whose vault belongs to a fleet, and another device of that fleet.
final class Pair {
    let agent: TestAgent
    let gate = Gate()
    let other: Vault
    let fleet: Fleet
    let url: RemoteURL

    init(_ change: (inout AgentSettings) throws -> Void = { _ in }) throws {
        let gate = gate
        agent = try TestAgent { settings in
            settings.environment.random = gate
            try change(&settings)
        }
        let folder = agent.directory.path.appending("share")
        try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
        url = RemoteURL(folder: folder)
        let environment = VaultEnvironment.process(state: agent.directory.path.appending("other-state"))
        other = try Vault.create(
            at: agent.directory.path.appending("other.vault"), passphrase: agent.passphrase, cost: .weakest,
            environment: environment, accessGroups: .standard)
        fleet = try Fleet(other, environment: environment)
        _ = try fleet.found(url, deviceName: "other")
        let vault = try agent.opened()
        defer { vault.close() }
        let own = try Fleet(vault, environment: agent.environment)
        let attempt = try own.requestToJoin(url, deviceName: "own")
        _ = try fleet.approve(attempt.code, role: .owner)
        guard try attempt.poll() else { throw SyncError.noAnswer }
        try sync()
    }

    /// Syncs the other device.
    func sync() throws {
        for outcome in try fleet.sync() {
            if let error = outcome.error { throw error }
        }
    }

    func tell(_ service: String) throws {
        try other.add(.generic(service))
        try sync()
    }

    func services(_ store: any ItemStore) throws -> [String] {
        do throws(VaultError) {
            return try store.copyMatching(Query(.genericPassword)).compactMap { $0[.service]?.text }.sorted()
        } catch {
            guard error == .itemNotFound else { throw error }
            return []
        }
    }
}

extension AgentClient {
    func synced(withFingerprint: Bool = false) throws(VaultError) -> SyncResult {
        try value(of: SyncRequest(withFingerprint: withFingerprint))
    }
}

extension SyncResult {
    var report: SyncReport? { outcomes.first?.report }
}
