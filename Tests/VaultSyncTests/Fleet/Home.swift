// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// The machine of one device: a vault, a state directory, and a shared folder.
struct Home {
    static let remote: FilePath = "/shared"

    let name: String
    let vault: Vault
    let fleet: Fleet
    let environment: VaultEnvironment
    let clock: ManualClock

    init(_ name: String, on disk: any VaultFileSystem, clock: ManualClock = ManualClock()) throws {
        self.name = name
        self.clock = clock
        try disk.createDirectories(Home.remote)
        var environment = VaultEnvironment(
            fileSystem: disk, clock: clock, random: SystemRandom(), stateDirectory: FilePath("/\(name)/state"))
        // With the home's clock no thread waits for another that compacts the file.
        environment.background = LaterWork()
        self.environment = environment
        vault = try Vault.create(
            at: FilePath("/\(name)/v.vault"), passphrase: .of("correct horse"), cost: .weakest, environment: environment
        )
        fleet = try Fleet(vault, environment: environment)
    }

    static var url: RemoteURL { RemoteURL(folder: remote) }
    static var access: RemoteAccess { RemoteAccess(url) }

    /// Makes a fleet of devices that joined one after the other.
    static func fleet(_ names: [String], on disk: any VaultFileSystem = MemoryFileSystem()) throws -> [Home] {
        let clock = ManualClock()
        let homes = try names.map { try Home($0, on: disk, clock: clock) }
        _ = try homes[0].fleet.found(url, deviceName: names[0])
        for home in homes.dropFirst() {
            let attempt = try home.fleet.requestToJoin(url, deviceName: home.name)
            _ = try homes[0].fleet.approve(attempt.code, role: .owner)
            guard try attempt.poll() else { throw SyncError.noAnswer }
        }
        for home in homes { try home.sync() }
        return homes
    }

    /// - Throws: The error of the sync, or of an alarm.
    @discardableResult
    func sync() throws -> SyncOutcome {
        clock.advance(by: 1)
        let outcome = try fleet.sync()[0]
        if let error = outcome.error { throw error }
        if let alarm = outcome.alarms.first { throw SyncError.alarm(alarm) }
        return outcome
    }

    func add(_ account: String, _ secret: String, service: String = "svc") throws {
        try vault.add(Item(.genericPassword(service: service, account: account), secret: Secret(text: secret)))
    }

    func change(_ account: String, _ secret: String, service: String = "svc") throws {
        try vault.update(
            matching: Query(.genericPassword, service: service, account: account),
            with: ItemChanges(secret: Secret(text: secret)))
    }

    func delete(_ account: String, service: String = "svc") throws {
        try vault.delete(matching: Query(.genericPassword, service: service, account: account))
    }

    /// Returns the visible secrets by account.
    func secrets(service: String = "svc") throws -> [String: String] {
        try Home.secrets(of: vault, service: service)
    }

    static func secrets(of vault: Vault, service: String = "svc") throws -> [String: String] {
        var query = Query(.genericPassword, service: service)
        query.returnsSecrets = true
        let items: [Item]
        do throws(VaultError) { items = try vault.copyMatching(query) } catch {
            guard error == .itemNotFound else { throw error }
            return [:]
        }
        return Dictionary(
            items.map { ($0.attributes[.account]?.text ?? "", $0.secret?.text ?? "") }
        ) { first, _ in first + "!" }
    }
}

extension Secret {
    var text: String { withBytes { String(decoding: $0.array, as: UTF8.self) } }
}
