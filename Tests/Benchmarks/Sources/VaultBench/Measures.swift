// SPDX-License-Identifier: Apache-2.0
import Benchmark
import CLimits
import CPeers
import Dispatch
import Foundation
import Synchronization
import Vault

/// All measures, and the rounds in which they alternate.
final class Measures {
    private let world: World
    private let sizes: [Int]
    private var suites: [BenchmarkSuite] = []
    private var changes: Set<String> = []
    private var results: [String: [Double]] = [:]
    private var next = 10_000_000

    init(_ world: World, sizes: [Int]) {
        self.world = world
        self.sizes = sizes
    }

    func run(rounds: Int) throws {
        try makeLimits()
        makePeers()
        for size in sizes { try makeVault(size) }
        try makeSalvage()
        for round in 0..<rounds {
            for suite in suites {
                var runner = BenchmarkRunner(
                    suites: [suite], settings: [Quiet(true), Format(.none), WarmupIterations(round == 0 ? 1 : 0)])
                try runner.run()
                // The vault writes its marks after a second without a change; the pause keeps that out of the next
                // measure.
                if changes.contains(suite.name) { Thread.sleep(forTimeInterval: 1.2) }
                for result in runner.results {
                    let sorted = result.measurements.sorted()
                    results[result.benchmarkName, default: []].append(sorted[sorted.count / 2])
                }
            }
        }
        print(String(decoding: try JSONEncoder().encode(results), as: UTF8.self))
    }

    /// Adds a measure with its number of iterations in a round; only the code between `start` and `end` of the state is
    /// timed.
    private func measure(
        _ name: String, _ iterations: Int, changesVault: Bool = false,
        _ body: @escaping (inout BenchmarkState) throws -> Void
    ) {
        if changesVault { changes.insert(name) }
        let suite = BenchmarkSuite(name: name)
        suite.benchmark(name, settings: Iterations(iterations), function: body)
        suites.append(suite)
    }

    private struct Failure: Error { let what: String }

    // MARK: The limits

    private func makeLimits() throws {
        let log = limits_create(world.directory + "/append")
        measure("limit: append 400 B, sync", 60) { _ in
            guard limits_append(log, 400) == 0 else { throw Failure(what: "append") }
        }
        guard let made = limits_values_create(world.directory + "/values", 10_000) else {
            throw Failure(what: "values")
        }
        let values = Unchecked(made)
        measure("limit: get", 2000) { _ in
            guard limits_values_get(values.value, Int.random(in: 0..<10_000)) == 0 else { throw Failure(what: "get") }
        }
        measure("limit: seal 10000", 3) { _ in _ = limits_seal(10_000) }
        for size in sizes {
            let path = world.directory + "/log-\(size)"
            guard limits_log_create(path, size) == 0 else { throw Failure(what: "log") }
            measure("limit: open \(size)", size > 100_000 ? 1 : 3) { _ in
                guard limits_log_open(path) == 0 else { throw Failure(what: "open") }
            }
        }
    }

    // MARK: The vault

    private func makeVault(_ size: Int) throws {
        try world.make(size).close()
        let secret = try World.secret()
        // A vault in the state after an import.
        let imported = world.path(size).removingLastComponent().appending("imported-\(size).vault")
        try? FileManager.default.removeItem(atPath: imported.string)
        try FileManager.default.copyItem(atPath: world.path(size).string, toPath: imported.string)
        measure("vault: open imported \(size)", size > 100_000 ? 1 : 3) { _ in try self.world.open(imported).close() }
        let vault = try world.open(size)
        try vault.compact()
        measure("vault: add \(size)", 40, changesVault: true) { _ in
            self.next += 1
            try vault.add(World.item(self.next, secret))
        }
        measure("vault: update \(size)", 40, changesVault: true) { _ in
            try vault.update(matching: World.query(Int.random(in: 0..<size)), with: ItemChanges(secret: secret))
        }
        var deleted = size
        measure("vault: delete \(size)", 20, changesVault: true) { state in
            deleted += 1
            try vault.add(World.item(20_000_000 + deleted, secret))
            state.start()
            try vault.delete(matching: World.query(20_000_000 + deleted))
            try state.end()
        }
        measure("vault: 8 threads adding \(size)", 2, changesVault: true) { state in
            let first = self.next
            self.next += 400
            let failures = Counter()
            let group = DispatchGroup()
            // Separate threads are used because a queue has at most as many threads as the machine has cores.
            let threads = (0..<8).map { thread in
                Thread {
                    for number in 0..<50 {
                        do { try vault.add(World.item(first + thread * 50 + number + 1, secret)) } catch {
                            failures.count.add(1, ordering: .relaxed)
                        }
                    }
                    group.leave()
                }
            }
            threads.forEach { _ in group.enter() }
            state.start()
            threads.forEach { $0.start() }
            group.wait()
            try state.end()
            guard failures.count.load(ordering: .relaxed) == 0 else { throw Failure(what: "8 threads") }
        }
        measure("vault: batch of 10000 \(size)", 1, changesVault: true) { state in
            self.next += 10_000
            let items = (self.next - 9_999...self.next).map { World.item($0, secret) }
            state.start()
            try vault.store(items, replacing: false)
            try state.end()
            for service in Set(items.compactMap { $0[.service] }) {
                try vault.delete(matching: Query(.genericPassword, attributes: [.service: service]))
            }
        }
        measure("vault: get \(size)", 1000) { _ in
            var query = World.query(Int.random(in: 0..<size))
            query.returnsSecrets = true
            guard try vault.copyMatching(query).first?.secret?.count == World.valueLength else {
                throw Failure(what: "get")
            }
        }
        measure("vault: query of 100 \(size)", 50) { _ in
            let service = Int.random(in: 0..<size / World.itemsPerService)
            let items = try vault.copyMatching(Query(.genericPassword, service: "service \(service)"))
            guard items.count == World.itemsPerService, items.allSatisfy({ $0[.account] != nil && $0[.label] != nil })
            else {
                throw Failure(what: "query")
            }
        }
        let fixed = try Fixed(world, size, vault)
        measure("vault: open \(size)", size > 100_000 ? 1 : 3) { _ in try fixed.open("compacted") }
        measure("vault: open uncompacted \(size)", size > 100_000 ? 1 : 2) { _ in try fixed.open("uncompacted") }
        measure("vault: compact \(size)", 1) { _ in try vault.compact() }
        let path = fixed.path("compacted").string
        measure("limit: rewrite \(size)", 1) { _ in
            guard limits_rewrite(path) == 0 else { throw Failure(what: "rewrite") }
        }
    }

    /// Makes a file of 100 MB with values of 4 KiB.
    private func makeSalvage() throws {
        let path = FilePath(world.directory).appending("whole.vault")
        let salvaged = FilePath(world.directory).appending("salvaged.vault")
        try world.makeLarge(path)
        measure("limit: read and hash 100 MB", 2) { _ in
            guard limits_hash(path.string) == 0 else { throw Failure(what: "hash") }
        }
        measure("vault: salvage 100 MB", 1) { state in
            try? FileManager.default.removeItem(atPath: salvaged.string)
            state.start()
            try self.world.salvage(path, to: salvaged)
            try state.end()
        }
    }

    // MARK: The peers

    private func makePeers() {
        let directory = world.directory
        try? FileManager.default.createDirectory(atPath: directory + "/lmdb", withIntermediateDirectories: true)
        let peers = [
            ("SQLite", peer_sqlite("libsqlite3.so.0", directory + "/sqlite", nil)),
            (
                "SQLCipher",
                peer_sqlite("libsqlcipher.so.0", directory + "/sqlcipher", "passphrase")
                    ?? peer_sqlite("libsqlcipher.so.1", directory + "/sqlcipher", "passphrase")
            ),
            ("LMDB", peer_lmdb("liblmdb.so.0", directory + "/lmdb")),
        ]
        for (name, opened) in peers {
            guard let opened else {
                FileHandle.standardError.write(Data("bench: \(name): skipped, not installed\n".utf8))
                continue
            }
            let peer = Unchecked(opened)
            let filled = sizes.filter { $0 <= 100_000 }.max() ?? 1000
            guard peer_add(peer.value, 0, filled, 400) == 0 else { continue }
            var key = 1_000_000_000
            measure("\(name): add", 40) { _ in
                key += 1
                guard peer_add(peer.value, key, 1, 400) == 0 else { throw Failure(what: name) }
            }
            measure("\(name): get", 1000) { _ in
                guard peer_get(peer.value, Int.random(in: 0..<filled)) == 400 else { throw Failure(what: name) }
            }
        }
    }
}

/// Two copies of a vault that no longer change: one as a compaction leaves it, and one with four thousand later
/// changes.
private struct Fixed {
    private let world: World
    private let size: Int

    init(_ world: World, _ size: Int, _ vault: Vault) throws {
        (self.world, self.size) = (world, size)
        try copy("compacted")
        let secret = try World.secret()
        let accounts = (0..<4000).map { $0 * 7919 % size }
        for account in accounts {
            try vault.update(matching: World.query(account), with: ItemChanges(secret: secret))
        }
        try copy("uncompacted")
        try vault.compact()
    }

    func path(_ name: String) -> FilePath {
        world.path(size).removingLastComponent().appending("\(name)-\(size).vault")
    }

    private func copy(_ name: String) throws {
        try? FileManager.default.removeItem(atPath: path(name).string)
        try FileManager.default.copyItem(atPath: world.path(size).string, toPath: path(name).string)
    }

    func open(_ name: String) throws { try world.open(path(name)).close() }
}

private final class Counter: Sendable {
    let count = Atomic(0)
}

/// Wraps C pointers and the closures that use them, which stay on one thread.
private struct Unchecked<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
