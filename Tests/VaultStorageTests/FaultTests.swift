// SPDX-License-Identifier: Apache-2.0
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// A failure of each disk operation that a change needs, one at a time.
struct FaultTests {
    enum Change: String, CaseIterable, Sendable {
        case add, replace, delete, settle, compact, compactBeside, changePassphrase, bindToDevice
    }

    private static let openings = Mutex(0)

    static let errors: [Errno] = [.ioError, .noSpace, Errno(rawValue: 122)]

    @Test(arguments: Change.allCases, errors)
    func `a change that a fault stops leaves the old content, says so, and does not stop the next one`(
        change: Change, errno: Errno
    ) throws {
        let vault = try VaultBuilder()
        var number = 0
        while try fails(change, at: number, errno, vault) { number += 1 }
        // Each change has a lock, a check of the file, and writes and syncs or a rename.
        #expect(number >= 4, "\(change) has \(number) steps")
    }

    /// Returns `false` if the change has no step with this number.
    private func fails(_ change: Change, at number: Int, _ errno: Errno, _ vault: VaultBuilder) throws -> Bool {
        let place: Comment = "\(change), step \(number), \(errno)"
        let disk = SimulatedDisk()
        disk.put(vault.bytes, as: VaultBuilder.name)
        let store = try open(disk, vault)
        // Settling concerns commits that were acknowledged earlier.
        if change == .settle { try VaultBuilder.add("four", to: store, account: "account 3") }
        let before = try content(store)
        let failed = failStep(number, with: errno, on: disk)
        var failure: StorageError?
        do { try perform(change, store) } catch { failure = try #require(error as? StorageError, place) }
        disk.judge.withLock { $0 = nil }
        guard let step = failed() else {
            #expect(failure == nil, place)
            return false
        }
        if let failure { check(failure, step, place) }
        let wanted = change == .settle ? before : try wanted(change, vault)
        // The current state, and the state after a power cut.
        for (remains, when) in [(disk, "now"), (disk.afterPowerCut(SeededRandom("\(place)")), "after a power cut")] {
            let after = try content(try open(remains, vault))
            switch failure {
            case nil: #expect(after == wanted, "\(place) \(when)")
            case .indeterminate: #expect(after == before || after == wanted, "\(place) \(when)")
            default: #expect(after == before, "\(place) \(when)")
            }
        }
        if failure != nil, step == .dataSync || step == .fileSync || step == .directorySync {
            checkPoisoned(store, change, step, place)
        }
        let next = try open(disk, vault)
        try VaultBuilder.add("next", to: next, account: "next")
        #expect(try content(try open(disk, vault)).contains("next"), place)
        return true
    }

    private func check(_ failure: StorageError, _ step: SimulatedDisk.Step, _ place: Comment) {
        switch failure {
        case .inputOutput, .indeterminate: break
        default: Issue.record("\(place) at \(step) ends with \(failure)")
        }
    }

    /// Checks that a handle refuses to write after a failed sync, whose pages may be lost and count as clean.
    private func checkPoisoned(_ store: VaultStore, _ change: Change, _ step: SimulatedDisk.Step, _ place: Comment) {
        // A copy that could not be synced is discarded and the file is unchanged; a renamed copy is present or absent.
        let rewrites: [Change] = [.compact, .compactBeside, .changePassphrase]
        guard change != .bindToDevice, !rewrites.contains(change) || step == .directorySync else { return }
        #expect(throws: StorageError.poisoned, place) { try VaultBuilder.add("again", to: store, account: "again") }
    }

    @Test(arguments: errors) func `a vault whose making a fault stops is there whole or not at all`(errno: Errno) throws
    {
        var number = 0
        while true {
            let disk = SimulatedDisk()
            let failed = failStep(number, with: errno, on: disk)
            var failure: StorageError?
            do throws(StorageError) {
                _ = try VaultStore.create(
                    at: disk.root.appending("v"), unlockedBy: .passphrase(try passphrase()), cost: .weakest,
                    environment: .seeded("create", on: disk))
            } catch { failure = error }
            disk.judge.withLock { $0 = nil }
            guard failed() != nil else { break }
            if disk.inode("v") != nil {
                let locked = try LockedStore(disk.root.appending("v"), environment: .seeded("look", on: disk))
                _ = try locked.open(with: try locked.unlock(with: try passphrase()))
            } else {
                #expect(failure != nil, "step \(number)")
                #expect(try disk.openDirectory(disk.root).names().allSatisfy { !$0.contains("tmp") })
            }
            number += 1
        }
        #expect(number >= 5)
    }

    private func passphrase() throws(StorageError) -> Passphrase {
        do { return try Passphrase.of("p") } catch { throw .resourceUnavailable }
    }

    // MARK: Performing

    private func perform(_ change: Change, _ store: VaultStore) throws {
        switch change {
        case .add: try VaultBuilder.add("four", to: store, account: "account 3")
        case .replace: try VaultBuilder.replace(1, with: "two again", in: store)
        case .delete:
            try store.change { (session: inout WriteSession) throws(StorageError) in
                guard var operation = store.records[2] else { return }
                operation.kind = .delete
                operation.version += 1
                operation.attributes = EncodedAttributes()
                try session.stage(operation, value: .none)
            }
        case .settle: try store.settleMarks()
        case .compact: try store.compact()
        case .compactBeside: try store.compactBeside()
        case .changePassphrase:
            try store.changeSecret(
                from: .passphrase(.of(VaultBuilder.passphrase)), to: .passphrase(.of("another")), cost: .weakest)
        case .bindToDevice:
            try store.change { (session: inout WriteSession) throws(StorageError) in
                guard var operation = store.records[0] else { return }
                operation.protection = .whenUnlockedThisDeviceOnly
                operation.deviceID = try session.deviceIdentifier()
                operation.version += 1
                guard let secret = try? Secret(text: "bound") else { return }
                try session.stage(operation, value: .set(secret))
            }
        }
    }

    private func wanted(_ change: Change, _ vault: VaultBuilder) throws -> [String] {
        let disk = SimulatedDisk()
        disk.put(vault.bytes, as: VaultBuilder.name)
        let store = try open(disk, vault)
        try perform(change, store)
        return try content(store)
    }

    private func content(_ store: VaultStore) throws -> [String] {
        try store.records.sorted.filter { try !store.isForeign($0) }.map {
            String(decoding: try store.openValue(of: $0)?.exposed ?? [], as: UTF8.self)
        }.sorted()
    }

    private func open(_ disk: SimulatedDisk, _ vault: VaultBuilder) throws -> VaultStore {
        // Each opening uses its own random numbers, as processes do.
        let environment = VaultEnvironment.seeded(
            "fault \(Self.openings.withLock { $0 += 1; return $0 })", on: disk, state: disk.root)
        return try VaultStore.open(on: disk, vaultKey: vault.keys.vaultKey, environment: environment)
    }

    /// Makes the step with this number fail. The returned closure gives the step, if it was reached.
    private func failStep(_ number: Int, with errno: Errno, on disk: SimulatedDisk) -> () -> SimulatedDisk.Step? {
        let state = Counter()
        disk.judge.withLock {
            $0 = { step in
                state.value.withLock { value in
                    defer { value.count += 1 }
                    guard value.count == number else { return .done }
                    value.failed = step
                    return .fails(errno)
                }
            }
        }
        return { state.value.withLock { $0.failed } }
    }

    private final class Counter: Sendable {
        let value = Mutex<(count: Int, failed: SimulatedDisk.Step?)>((0, nil))
    }
}
