// SPDX-License-Identifier: Apache-2.0
import Synchronization
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// The cost of a change and of an opening, in counted operations rather than time.
struct CostTests {
    private func steps(of change: (VaultStore) throws -> Void) throws -> [SimulatedDisk.Step] {
        let vault = try VaultBuilder()
        let disk = SimulatedDisk(tearsWrites: false)
        disk.put(vault.bytes, as: VaultBuilder.name)
        let store = try VaultStore.open(on: disk, vaultKey: vault.keys.vaultKey, environment: .seeded("cost", on: disk))
        // The first change through a handle also reserves space and checks the name.
        try VaultBuilder.add("first", to: store, account: "first")
        let seen = Mutex<[SimulatedDisk.Step]>([])
        disk.judge.withLock { judge in
            judge = { step in
                seen.withLock { $0.append(step) }
                return .done
            }
        }
        try change(store)
        return seen.withLock { $0 }
    }

    @Test func `a commit writes the mark and the frame once each, and syncs once`() throws {
        let changes: [(VaultStore) throws -> Void] = [
            { try VaultBuilder.add("four", to: $0, account: "account 4") },
            { try VaultBuilder.replace(1, with: "two again", in: $0) },
        ]
        for change in changes {
            let steps = try steps(of: change)
            #expect(steps.filter { $0 != .read && $0 != .lock } == [.write, .write, .dataSync])
            #expect(steps.count { $0 == .read } <= 6 && steps.count { $0 == .lock } == 1, "\(steps)")
        }
    }

    @Test func `sixteen transactions of one batch share a mark, a write and a sync`() throws {
        let steps = try steps { store in
            try store.write { session in
                for number in 0..<16 { Self.add(number, in: &session) }
            }
        }
        #expect(steps.filter { $0 != .read && $0 != .lock } == [.write, .write, .dataSync])
    }

    @Test func `opening reads the metadata, and of the values no more than the reader looks ahead`() throws {
        let vault = try VaultBuilder(values: (0..<20).map { _ in String(repeating: "v", count: 200_000) }).compacted()
        let disk = SimulatedDisk()
        disk.put(vault.bytes, as: VaultBuilder.name)
        let store = try VaultStore.open(on: disk, vaultKey: vault.keys.vaultKey, environment: .seeded("cost", on: disk))
        #expect(store.records.count == 20 && vault.bytes.count > 4_000_000)
        #expect(disk.bytesRead < 300_000, "\(disk.bytesRead) bytes")
    }

    private static func add(_ number: Int, in session: inout WriteSession) {
        try? session.transaction { (session: inout WriteSession) throws(StorageError) in
            let attributes = EncodedAttributes([AttributeTag(rawValue: 0x10): .string("\(number)")], user: [:])
            let operation = Operation(
                kind: .put, itemClass: .genericPassword, protection: .whenUnlocked, id: session.makeItemID(),
                version: 1, valueVersion: 0,
                ordinal: session.nextOrdinal, created: 0, modified: 0, value: nil, deviceID: .init(repeating: 0),
                attributes: attributes)
            try session.stage(operation, value: .none)
        }
    }
}
