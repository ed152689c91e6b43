// SPDX-License-Identifier: Apache-2.0
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultCrypto

@testable import Vault
@testable import VaultStorage

/// A vault on a simulated disk whose steps call back into the same vault: a call that a compaction blocks would never
/// return.
private final class Observed: Sendable {
    let disk = SimulatedDisk()
    let vault: Vault

    /// - Parameters:
    ///   - copiesBeside: Whether the file counts as large, and is copied without the lock.
    ///   - waits: Whether writers wait for each other in real time, which concurrent writers need.
    init(copiesBeside: Bool, waits: Bool = false) throws {
        var environment = VaultEnvironment.seeded("compaction", on: disk)
        if waits { environment.clock = SystemClock() }
        environment.lockFreeCopyLength = copiesBeside ? 0 : .max
        vault = try Vault.create(
            at: disk.root.appending("v"), passphrase: .of("p"), cost: .weakest, environment: environment,
            accessGroups: ["A"])
        for number in 0..<20 { try vault.add(.generic("s", "\(number)", "value \(number)")) }
        for number in 0..<10 {
            try vault.update(matching: Query(.genericPassword, account: "\(number)"), with: changes("new \(number)"))
        }
        try vault.delete(matching: Query(.genericPassword, account: "19"))
    }

    func changes(_ secret: String) throws -> ItemChanges { ItemChanges(secret: try Secret(text: secret)) }

    func secret(_ account: String) -> String? {
        try? vault.copyMatching(Query(.genericPassword, account: account)).first?.text
    }

    /// Runs `body` once, at the first such step of the disk.
    func atFirst(_ wanted: SimulatedDisk.Step, _ body: @escaping @Sendable () throws -> Void) {
        disk.judge.withLock {
            $0 = { [disk] step in
                guard step == wanted else { return .done }
                disk.judge.withLock { $0 = nil }
                do { try body() } catch { Issue.record("\(error)") }
                return .done
            }
        }
    }

    /// Returns the secrets by account, checked through this handle and through a handle that reads the file anew.
    func secrets() throws -> [String: String] {
        func read(_ vault: Vault) throws -> [String: String] {
            let items = try vault.copyMatching(Query(.genericPassword))
            return try Dictionary(
                uniqueKeysWithValues: items.map { ($0[.account]?.text ?? "", try $0.text ?? "nothing") })
        }
        var environment = VaultEnvironment.seeded("another", on: disk)
        environment.lockFreeCopyLength = 0
        // A compaction in progress takes real time.
        environment.clock = SystemClock()
        let other = try Vault.open(
            at: disk.root.appending("v"), unlockingWith: .of("p"), environment: environment, accessGroups: ["A"])
        let own = try read(vault)
        #expect(try read(other) == own)
        #expect(try other.verify(deep: true).opened == own.count)
        return own
    }
}

private final class Counter: Sendable { let value = Atomic(0) }

struct CompactionTests {
    @Test(arguments: [SimulatedDisk.Step.create, .fileSync, .install, .directorySync], [false, true])
    func `a reader of the same vault waits for no step of a compaction`(
        _ step: SimulatedDisk.Step, _ copiesBeside: Bool
    ) throws {
        let observed = try Observed(copiesBeside: copiesBeside)
        observed.atFirst(step) {
            #expect(observed.secret("3") == "new 3")
            #expect(observed.secret("13") == "value 13")
            #expect(observed.secret("19") == nil)
        }
        try observed.vault.compact()
        #expect(observed.disk.judge.withLock { $0 == nil }, "the step was taken")
        #expect(observed.secret("3") == "new 3")
        #expect(try observed.secrets().count == 19)
    }

    @Test func `a writer of the same vault goes on while a large file is copied, and everything is in the new file`()
        throws
    {
        let observed = try Observed(copiesBeside: true)
        observed.atFirst(.dataSync) {
            let vault = observed.vault
            try vault.add(.generic("s", "added", "meanwhile"))
            try vault.update(matching: Query(.genericPassword, account: "3"), with: observed.changes("newer"))
            // The box stays, the record does not.
            try vault.update(
                matching: Query(.genericPassword, account: "4"), with: ItemChanges(attributes: [.label: "l"]))
            try vault.delete(matching: Query(.genericPassword, account: "5"))
            // The new item takes the deleted item's place in the table.
            try vault.add(.generic("s", "in its place", "another"))
        }
        try observed.vault.compact()
        var secrets = try observed.secrets()
        #expect(secrets.removeValue(forKey: "added") == "meanwhile")
        #expect(secrets.removeValue(forKey: "in its place") == "another")
        #expect(secrets["3"] == "newer" && secrets["4"] == "new 4" && secrets["5"] == nil)
        #expect(secrets.count == 18)
        // The vault continues to work.
        try observed.vault.update(matching: Query(.genericPassword, account: "4"), with: observed.changes("last"))
        try observed.vault.compact()
        #expect(try observed.secrets()["4"] == "last")
    }

    @Test func `the vault goes on with a compacted file without reading it`() throws {
        let observed = try Observed(copiesBeside: false)
        _ = observed.secret("3")
        try observed.vault.compact()
        let reads = Counter()
        observed.disk.judge.withLock {
            $0 = { step in
                if step == .read { reads.value.add(1, ordering: .relaxed) }
                return .done
            }
        }
        #expect(observed.secret("3") == "new 3")
        observed.disk.judge.withLock { $0 = nil }
        // A read of the tip for each of the two calls, and a read of the box.
        #expect(reads.value.load(ordering: .relaxed) == 3)
    }

    @Test func `a compaction whose rename may not last ends the vault's use, in whatever handle it was made`() throws {
        let observed = try Observed(copiesBeside: true)
        observed.disk.judge.withLock { $0 = { $0 == .directorySync ? .fails(.ioError) : .done } }
        #expect(throws: VaultError.self) { try observed.vault.compact() }
        observed.disk.judge.withLock { $0 = nil }
        #expect(throws: VaultError.storage(.poisoned)) { try observed.vault.add(.generic("s", "after")) }
        #expect(throws: VaultError.storage(.poisoned)) { try observed.vault.compact() }
    }

    @Test func `a compaction that is due runs beside the vault, and closing waits for it`() throws {
        let observed = try Observed(copiesBeside: false, waits: true)
        let before = observed.disk.inode("v")?.bytes.count ?? 0
        // More than 256 KiB of dead bytes, and more than half of the file.
        for _ in 0..<40 {
            let large = try Secret(bytes: [UInt8](repeating: 7, count: 20_000))
            try observed.vault.update(matching: Query(.genericPassword, account: "3"), with: ItemChanges(secret: large))
        }
        #expect(try observed.secrets().count == 19)
        observed.vault.close()
        #expect(observed.disk.inode("v")?.bytes.count ?? .max < before + 200_000)
    }

    @Test func `a child that is forked in the middle of a compaction does not wait for it`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let observed = try Observed(copiesBeside: true)
            let status = Counter()
            observed.atFirst(.fileSync) {
                typealias Fork = @convention(c) () -> Int32
                let child = unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)()
                if child == 0 {
                    // Ends a wait that would never end.
                    alarm(30)
                    observed.vault.close()
                    do { try observed.vault.compact() } catch {
                        _exit(error as? VaultError == .storage(.forked) ? 7 : 1)
                    }
                    _exit(2)
                }
                var ended: Int32 = 0
                waitpid(child, &ended, 0)
                status.value.store(Int(ended >> 8), ordering: .relaxed)
            }
            try observed.vault.compact()
            exit(Int32(status.value.load(ordering: .relaxed)))
        }
    }

    @Test func `a compaction that fails leaves the vault as it was`() throws {
        for step in [SimulatedDisk.Step.create, .fileSync, .install] {
            let observed = try Observed(copiesBeside: false)
            observed.disk.judge.withLock { $0 = { $0 == step ? .fails(.ioError) : .done } }
            #expect(throws: VaultError.self) { try observed.vault.compact() }
            observed.disk.judge.withLock { $0 = nil }
            #expect(try observed.secrets().count == 19)
            try observed.vault.add(.generic("s", "after"))
            try observed.vault.compact()
            #expect(try observed.secrets().count == 20)
        }
    }
}
