// SPDX-License-Identifier: Apache-2.0
import Dispatch
import FoundationEssentials
import Synchronization
import TestSupport
import Testing
import VaultCrypto
import VaultStorage

@testable import Vault

/// The asynchronous verbs: the same results, on threads of the vault's own.
struct AsyncTests {
    private static let key = ItemKey.genericPassword(service: "s", account: "a")

    @Test func `every verb does for a task what it does for a thread`() async throws {
        let test = try TestVault()
        let vault = test.vault
        let query = Query(Self.key)
        try await vault.add(Item(Self.key, secret: "one"))
        await #expect(throws: VaultError.duplicateItem) { try await vault.add(Item(Self.key)) }
        #expect(try await vault.copyMatching(query).count == 1)
        #expect(try await vault.set(Item(Self.key, secret: "two")).record?.version == 2)
        #expect(try await vault.update(matching: query, with: ItemChanges(attributes: [.label: "L"])) == 1)
        let found = try #require(try await vault.first(query))
        #expect(try await vault.secret(of: try #require(found.record))?.secretString() == "two")
        #expect(try await vault.contains(Self.key))
        try await vault.set(["a": 1], for: "settings")
        #expect(try await vault.value(for: "settings") == ["a": 1])
        #expect(try await vault.removeValue(for: "settings"))
        try await vault.compact()
        #expect(try await vault.verify(deep: true).opened == 1)
        #expect(try await vault.delete(matching: query) == 1)
        await #expect(throws: VaultError.itemNotFound) { try await vault.delete(matching: query) }
        try await vault.store([Item(Self.key, secret: "three")], replacing: false)
        let text = try await vault.transaction { transaction in
            try transaction.add(Item(.genericPassword(service: "t")))
            return "done"
        }
        #expect(text == "done")
        struct Abort: Error {}
        await #expect(throws: Abort.self) {
            try await vault.transaction { transaction in
                try transaction.delete(matching: Query(.genericPassword))
                throw Abort()
            }
        }
        #expect(try await vault.copyMatching(Query(.genericPassword)).count == 2)
        try await vault.lock()
        await #expect(throws: VaultError.locked) { try await vault.copyMatching(query) }
        try await vault.unlock(with: .passphrase(test.passphrase))
        #expect(try await vault.contains(query))
    }

    @Test func `a task that was cancelled before has changed nothing, and hears so`() async throws {
        let test = try TestVault()
        let vault = test.vault
        let gate = Gate()
        let outcomes = await withTaskGroup(of: [VaultError?].self) { group in
            group.addTask {
                await gate.wait()
                func outcome(_ call: () async throws(VaultError) -> Void) async -> VaultError? {
                    do throws(VaultError) { try await call() } catch { return error }
                    return nil
                }
                return [
                    await outcome { () async throws(VaultError) in try await vault.add(Item(Self.key)) },
                    await outcome { () async throws(VaultError) in
                        _ = try await vault.copyMatching(Query(.genericPassword))
                    },
                    await outcome { () async throws(VaultError) in try await vault.compact() },
                ]
            }
            group.cancelAll()
            gate.open()
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(outcomes == [.cancelled, .cancelled, .cancelled])
        #expect(try await !vault.contains(Query(.genericPassword)))
    }

    @Test func `a call that has begun comes to its end although its task is cancelled`() async throws {
        let test = try TestVault()
        let vault = test.vault
        let (began, goesOn) = (Gate(), Gate())
        let task = Task {
            try await vault.transaction { (transaction: inout Transaction) throws(VaultError) in
                began.open()
                goesOn.waitHere()
                try transaction.add(Item(Self.key))
            }
        }
        await began.wait()
        task.cancel()
        goesOn.open()
        try await task.value
        #expect(try await vault.contains(Self.key))
    }

    @Test func `many tasks lose nothing, and one that fails takes none along`() async throws {
        let test = try TestVault(groups: .standard, waits: true)
        let vault = test.vault
        let failures = await withTaskGroup(of: Int.self) { group in
            for task in 0..<64 {
                group.addTask {
                    var failures = 0
                    for index in 0..<10 {
                        let account = index == 5 ? "same" : "\(task) \(index)"
                        do throws(VaultError) {
                            try await vault.add(Item(.genericPassword(service: "s", account: account), secret: "x"))
                        } catch { failures += error == .duplicateItem ? 1 : 1000 }
                    }
                    return failures
                }
            }
            return await group.reduce(0, +)
        }
        #expect(failures == 63)
        let result = try await vault.verify(deep: true)
        #expect(result.opened == 64 * 9 + 1)
        #expect(try await test.reopened(groups: .standard).verify(deep: true).items == 64 * 9 + 1)
    }

    @Test func `calls that wait on a thread and those that have none do not wait for each other`() async throws {
        let test = try TestVault(groups: .standard, waits: true)
        let vault = test.vault
        await withTaskGroup { group in
            for task in 0..<40 {
                group.addTask {
                    for index in 0..<10 {
                        do {
                            // The first holds an executor thread while it waits for its turn; the second leads.
                            try await vault.set(index, for: "\(task)")
                            try await vault.set(Item(.genericPassword(service: "s", account: "\(task)"), secret: "x"))
                        } catch { Issue.record("\(error)") }
                    }
                }
            }
        }
        #expect(try await vault.copyMatching(Query(.genericPassword)).count == 80)
    }

    @Test func `threads and tasks write beside each other`() async throws {
        let test = try TestVault(groups: .standard, waits: true)
        let vault = test.vault
        let threads = (0..<4).map { thread in
            Worker<Void> {
                for index in 0..<25 {
                    do { try vault.add(Item(.genericPassword(service: "thread \(thread)", account: "\(index)"))) } catch
                    {
                        Issue.record("\(error)")
                    }
                }
            }
        }
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    for index in 0..<25 {
                        do {
                            try await vault.add(Item(.genericPassword(service: "task \(task)", account: "\(index)")))
                        } catch {
                            Issue.record("\(error)")
                        }
                    }
                }
            }
        }
        for thread in threads { try thread.value() }
        #expect(try await vault.copyMatching(Query(.genericPassword)).count == 300)
    }

    @Test func `a closed vault says so to tasks`() async throws {
        let test = try TestVault()
        test.vault.close()
        let vault = test.vault
        await #expect(throws: VaultError.closed) { try await vault.add(Item(Self.key)) }
        await #expect(throws: VaultError.closed) { try await vault.copyMatching(Query(.genericPassword)) }
    }

    @Test func `many vaults that are opened at once derive two keys at a time, and hold up no other call`() async throws
    {
        /// Blocks each derivation at its start until the gate opens, and counts the blocked ones.
        final class HeldRandom: RandomSource {
            let arrived = Gate()
            let goesOn = Gate()
            private let counts = Mutex((now: 0, most: 0))

            var most: Int { counts.withLock { $0.most } }

            func fill(_ bytes: inout MutableSpan<UInt8>) {
                let now = counts.withLock { counts in
                    counts.now += 1
                    counts.most = max(counts.most, counts.now)
                    return counts.now
                }
                if now == 2 { arrived.open() }
                goesOn.waitHere()
                counts.withLock { $0.now -= 1 }
                SystemRandom().fill(&bytes)
            }

            func secret(_ count: Int) throws(CryptoError) -> SecretBytes { try SystemRandom().secret(count) }
        }
        let directory = try TemporaryDirectory()
        let passphrase = try Passphrase.of("pass")
        let random = HeldRandom()
        var environment = TestVault.environment(directory, SystemClock())
        environment.random = random
        let other = try Vault.inMemory()
        try await withThrowingTaskGroup(of: Void.self) { [environment] group in
            for number in 0..<32 {
                group.addTask {
                    _ = try await Vault.create(
                        at: directory.path.appending("\(number).vault"), passphrase: passphrase, cost: .weakest,
                        environment: environment)
                }
            }
            await random.arrived.wait()
            for _ in 0..<100 { #expect(try await other.allMatching(Query(.genericPassword)).isEmpty) }
            random.goesOn.open()
            try await group.waitForAll()
        }
        #expect(random.most == 2)
    }

    @Test func `no job waits for another that waits, up to the width, and all are done in the end`() async {
        let executor = VaultExecutor(width: 3)
        let done = Atomic(0)
        let last = Gate()
        let count = { @Sendable in
            if done.add(1, ordering: .relaxed).newValue == 103 { last.open() }
        }
        let gates = (0..<3).map { _ in Gate() }
        // Three jobs that wait for each other, then many behind them.
        for (index, gate) in gates.enumerated() {
            executor.submit {
                gate.open()
                gates[(index + 1) % 3].waitHere()
                count()
            }
        }
        for _ in 0..<100 { executor.submit(count) }
        await last.wait()
        #expect(done.load(ordering: .relaxed) == 103)
    }
}

/// A gate that opens once; threads and tasks wait for it.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for wake in waiting { wake() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in whenOpen { continuation.resume() } }
    }

    func waitHere() {
        let semaphore = DispatchSemaphore(value: 0)
        whenOpen { semaphore.signal() }
        semaphore.wait()
    }

    private func whenOpen(_ wake: @escaping @Sendable () -> Void) {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.waiting.append(wake) }
            return state.isOpen
        }
        if isOpen { wake() }
    }
}
