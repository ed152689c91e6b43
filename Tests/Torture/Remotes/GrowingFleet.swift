// SPDX-License-Identifier: Apache-2.0
import Dispatch
import TestSupport
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage
import VaultSync

/// A fleet of a device that writes, a device that reads, and any number of devices that wrote once and are switched
/// off.
final class GrowingFleet {
    private let directory: FilePath
    private let remote: RemoteAccess
    private let engine: CountingEngine
    private let writer: (vault: Vault, fleet: Fleet)
    private let reader: (vault: Vault, fleet: Fleet)
    private var devices = 2
    private var changes = 0

    init(_ directory: FilePath, _ remote: RemoteAccess, _ engine: CountingEngine) throws {
        (self.directory, self.remote, self.engine) = (directory, remote, engine)
        writer = try Self.make(directory, "writer", engine)
        _ = try writer.fleet.found(remote.url, deviceName: "writer")
        reader = try Self.make(directory, "reader", engine)
        try Self.join(reader.fleet, remote, named: "reader", approvedBy: writer.fleet)
        try writer.vault.add(Item(.genericPassword(service: "svc", account: "account"), secret: "secret value"))
        for _ in 0..<2 { for fleet in [writer.fleet, reader.fleet] { try Self.sync(fleet) } }
    }

    private static func make(
        _ directory: FilePath, _ name: String, on disk: (any VaultFileSystem)? = nil, _ engine: CountingEngine
    ) throws -> (vault: Vault, fleet: Fleet) {
        var environment = VaultEnvironment.system
        if let disk {
            environment = VaultEnvironment(
                fileSystem: disk, clock: environment.clock, random: environment.random, stateDirectory: nil)
        }
        environment.strengthensSlots = false
        environment.stateDirectory = directory.appending(name + "/state")
        let vault = try Vault.create(
            at: directory.appending(name + "/v.vault"), passphrase: .of("first"), cost: .weakest,
            environment: environment)
        let fleet = try Fleet(
            vault, environment: environment,
            engines: RemoteEngines([.file: engine, .ssh: engine, .postgres: engine, .etcd: engine]))
        // The fleet is set up like an agent's.
        fleet.isUnasked = true
        return (vault, fleet)
    }

    private static func join(
        _ fleet: Fleet, _ remote: RemoteAccess, named name: String, approvedBy owner: Fleet
    ) throws {
        let attempt = try fleet.requestToJoin(remote.url, deviceName: name)
        _ = try owner.approve(attempt.code, role: .owner)
        guard try attempt.poll() else { throw SyncError.noAnswer }
    }

    private static func sync(_ fleet: Fleet) throws {
        for outcome in try fleet.sync() {
            if let error = outcome.error { throw error }
            if let alarm = outcome.alarms.first { throw SyncError.alarm(alarm) }
        }
    }

    private func change() throws {
        changes += 1
        try writer.vault.update(
            matching: Query(.genericPassword, service: "svc"),
            with: ItemChanges(secret: try Secret(text: "another value \(changes)")))
    }

    func sync(_ count: Int) throws -> UInt64 {
        try (0..<count).map { _ in
            try change()
            return try measured { try Self.sync(writer.fleet) }
        }.median
    }

    func arrive(_ count: Int) throws -> UInt64 {
        let heard = DispatchSemaphore(value: 0)
        guard let watch = try reader.fleet.watch(remote.url, { if case .appended = $0 { heard.signal() } }) else {
            throw SyncError.noAnswer
        }
        defer { watch.end() }
        let watcher = reader.fleet
        return try (0..<count).map { _ in
            try Self.sync(watcher)
            while heard.wait(timeout: .now()) == .success {}
            try change()
            let start = now()
            try Self.sync(writer.fleet)
            guard heard.wait(timeout: Patience.deadline) == .success else { throw SyncError.noAnswer }
            try Self.sync(watcher)
            return now() - start
        }.median
    }

    /// Returns medians for a change: the size of its record, and the time and traffic of the writer and of the reader.
    func cost(devices count: Int, rounds: Int) throws -> String {
        while devices < count {
            // The device's disk is in memory, and is gone once the device is switched off.
            let made = try Self.make("/", "device", on: MemoryFileSystem(), engine)
            try Self.join(made.fleet, remote, named: "device \(devices)", approvedBy: writer.fleet)
            made.vault.close()
            devices += 1
        }
        // Entries are longer until all other devices have been cited.
        for _ in 0...devices / 32 {
            try change()
            for fleet in [writer.fleet, reader.fleet] { try Self.sync(fleet) }
        }
        var (writing, reading, sent, received, calls): ([UInt64], [UInt64], [UInt64], [UInt64], [UInt64]) = (
            [], [], [], [], []
        )
        for _ in 0..<rounds {
            try change()
            _ = engine.take()
            writing.append(try measured { try Self.sync(writer.fleet) })
            let written = engine.take()
            sent.append(UInt64(written.sent))
            received.append(UInt64(written.received))
            calls.append(UInt64(written.calls))
            reading.append(try measured { try Self.sync(reader.fleet) })
        }
        let figures = [
            "bytes": sent.median, "received": received.median, "calls": calls.median, "writer": writing.median,
            "reader": reading.median,
        ]
        return "{\(figures.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \($0.value)" }.joined(separator: ", "))}"
    }
}
