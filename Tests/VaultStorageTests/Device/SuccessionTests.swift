// SPDX-License-Identifier: Apache-2.0
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// The files accepted as successors of a rekeyed vault.
struct SuccessionTests {
    private let home = Home("succession")

    /// Returns an attacker's successor of a copy that opens with an old credential: a file with higher numbers than the
    /// victim's.
    private func raise(_ bytes: [UInt8], with secret: UnlockingSecret, times: Int = 12) throws -> [UInt8] {
        let attacker = Home("attacker")
        attacker.disk.put(bytes, as: "v")
        let store = try attacker.open(with: secret)
        for number in 0..<times {
            try store.put("planted \(number)")
            try store.compact()
        }
        return try attacker.bytes()
    }

    @Test func `after a rekey an old credential cannot take the vault over, however high it counts`() throws {
        let store = try home.create()
        let code = UnlockingSecret.recoveryCode(try RecoveryCode(SeededRandom("leaked")))
        try store.put("mine")
        try store.addSlot(for: code)
        try store.settleMarks()
        let leaked = try home.bytes()
        _ = try store.rekey([SlotEntry(Home.secret(), name: "passphrase", cost: .weakest)]) { _ in }
        let mine = try home.bytes()
        home.disk.put(try raise(leaked, with: code), as: "v")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 3) }
        // A second attempt is refused as well, and the anchor is unchanged.
        #expect(throws: StorageError.rolledBack) { try home.open(number: 4) }
        home.disk.put(mine, as: "v")
        #expect(try Home.values(of: home.open(number: 5)) == ["mine"])
        // A handle that stayed open refuses the file too.
        home.disk.put(try raise(leaked, with: code), as: "v")
        #expect(throws: StorageError.self) { try store.refresh() }
        #expect(throws: StorageError.rolledBack) { try home.open(number: 6) }
    }

    @Test func `a vault that was rekeyed on another device goes on here, also after the second time`() throws {
        var bytes = try home.makeVault()
        for number in 0..<3 {
            let other = Home("elsewhere \(number)")
            other.disk.put(bytes, as: "v")
            _ = try other.open(number: number).rekey([SlotEntry(Home.secret(), name: "passphrase", cost: .weakest)]) {
                _ in
            }
            bytes = try other.bytes()
            // This device sees every second file.
            guard number != 1 else { continue }
            home.disk.put(bytes, as: "v")
            #expect(try Home.values(of: home.open(number: 20 + number)) == ["one", "two"])
        }
        let name = try #require(try home.anchorName)
        let found = try #require(FoundAnchor(home.bytes(name), under: []))
        let newest = try home.open(number: 30)
        let isSigned = found.isSigned(by: newest.keys.anchor)
        #expect(isSigned)
    }

    @Test func `a rekey elsewhere of what this device has gone on from since is another history`() throws {
        let shared = try home.makeVault()
        try home.change()
        let other = Home("elsewhere")
        other.disk.put(shared, as: "v")
        _ = try other.open().rekey([SlotEntry(Home.secret(), name: "passphrase", cost: .weakest)]) { _ in }
        home.disk.put(try other.bytes(), as: "v")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 5) }
        try home.open(number: 6, acceptsOlderCopy: true).acceptAsNewest()
        #expect(try Home.values(of: home.open(number: 7)) == ["one", "two"])
    }

    @Test func `every rewrite, backup and salvage keeps the succession`() throws {
        let old = try home.makeVault()
        let name = try #require(try home.anchorName)
        let anchor = try home.bytes(name)
        let store = try home.open(number: 3)
        _ = try store.rekey([SlotEntry(Home.secret(), name: "passphrase", cost: .weakest)]) { _ in }
        try store.compact()
        try store.addSlot(for: .recoveryCode(RecoveryCode(SeededRandom("code"))))
        _ = try store.backUp(to: home.path("backup"), replacing: false)
        home.disk.put(try home.bytes("backup"), as: "damaged")
        let damaged = try LockedStore(home.path("damaged"), environment: home.environment(9), isDamaged: true)
        let keys = try damaged.unlock(with: Home.secret())
        _ = try damaged.salvage(with: keys, to: home.path("salvaged"), accepts: { _ in true }, report: { _ in })
        for file in ["v", "backup", "salvaged"] {
            let device = Home("device \(file)")
            device.disk.put(old, as: "v")
            _ = try device.open()
            #expect(try device.bytes(name) == anchor)
            device.disk.put(try home.bytes(file), as: "v")
            #expect(try Home.values(of: device.open(number: 2)) == ["one", "two"], "\(file)")
            #expect(try device.bytes(name) != anchor)
        }
    }

    @Test func `the succession keeps the last sixty-four keys`() throws {
        var value = try SecretBytes(zeroed: 0)
        for number in 0..<70 {
            let key = try SecretBytes(copying: [UInt8](repeating: UInt8(number), count: 32).span)
            value = try Succession.adding(key, generation: UInt64(number), sequence: 7, to: value)
        }
        let bytes = value.withBytes { $0.array(0..<$0.count) }
        #expect(bytes.count == 64 * 48 && bytes[0] == 69 && bytes[63 * 48] == 6)
    }
}
