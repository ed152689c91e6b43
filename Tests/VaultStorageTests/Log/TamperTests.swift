// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// Changes to the file without the key: an error, or no effect.
struct TamperTests {
    private static let content = ["one again", "two", "three"]

    /// Reads the values with the key; `nil` if the file is refused.
    private static func read(_ bytes: [UInt8], _ builder: VaultBuilder) -> [String]? {
        let disk = SimulatedDisk()
        disk.put(bytes, as: VaultBuilder.name)
        do throws(StorageError) {
            let store = try VaultStore.open(
                on: disk, vaultKey: builder.keys.vaultKey, environment: .seeded("reader", on: disk))
            var values: [String] = []
            for operation in store.records.sorted.sorted(by: { $0.ordinal < $1.ordinal }) {
                guard let value = try store.openValue(of: operation) else { return [] }
                values.append(String(decoding: value.exposed, as: UTF8.self))
            }
            _ = try store.verify(deep: true)
            return values
        } catch {
            return nil
        }
    }

    @Test func `a changed byte is found or changes nothing that is read`() throws {
        let builder = try VaultBuilder()
        let random = SeededRandom("bytes")
        var refused = 0
        // Every byte of the log; every third byte of the header and the marks, which are mostly zeros.
        let offsets =
            Array(stride(from: 0, to: Layout.firstFrame, by: 3)) + Array(Layout.firstFrame..<builder.bytes.count)
        for offset in offsets {
            var bytes = builder.bytes
            bytes[offset] ^= UInt8(random.number(in: 1...255))
            let found = Self.read(bytes, builder)
            #expect(found == nil || found == Self.content, "byte \(offset)")
            if found == nil { refused += 1 }
        }
        // A single mark may be destroyed, since the other holds. Every other change must be noticed.
        #expect(refused > offsets.count - (Layout.firstFrame - Layout.headerLength) / 3 - 1)
    }

    /// Enough frames for more than one thread.
    @Test func `a changed byte of one of a hundred frames is found or changes nothing that is read`() throws {
        let home = Home("hundred frames")
        let store = try home.create()
        for number in 0..<100 { try store.put("\(number)") }
        try store.settleMarks()
        let (content, bytes) = (try Home.values(of: store), try home.bytes())
        #expect(content.count == 100)
        let random = SeededRandom("hundred frames")
        for _ in 0..<30 {
            let offset = random.number(in: Layout.firstFrame...bytes.count - 1)
            var changed = bytes
            changed[offset] ^= UInt8(random.number(in: 1...255))
            home.disk.put(changed, as: "v")
            let found = try? Home.values(of: home.open())
            #expect(found == nil || found == content, "byte \(offset)")
            home.disk.put(Array(bytes[..<offset]), as: "v")
            #expect(throws: StorageError.self, "cut to \(offset)") { try home.open() }
        }
        home.disk.put(bytes, as: "v")
        #expect(try Home.values(of: home.open()) == content)
    }

    @Test func `every truncation after a close is found, whatever is done to one of the marks`() throws {
        let builder = try VaultBuilder()
        var damaged = builder
        damaged.destroyMark(0)
        var doubled = builder
        doubled.replace(4096..<8192, with: Array(builder.bytes[8192..<12288]))
        for (index, vault) in [builder, damaged, doubled].enumerated() {
            for size in stride(from: index, to: vault.bytes.count, by: size(of: index)) {
                #expect(Self.read(Array(vault.bytes[..<size]), builder) == nil, "cut to \(size)")
            }
            #expect(Self.read(vault.bytes, builder) == Self.content)
        }
    }

    private func size(of index: Int) -> Int { 3 + 2 * index }

    @Test func `damage is never carried over by a compaction`() throws {
        let builder = try VaultBuilder()
        for offset in stride(from: Layout.firstFrame, to: builder.bytes.count, by: 11) {
            var bytes = builder.bytes
            bytes[offset] ^= 1
            let disk = SimulatedDisk()
            disk.put(bytes, as: VaultBuilder.name)
            let environment = VaultEnvironment.seeded("compaction", on: disk)
            guard let store = try? VaultStore.open(on: disk, vaultKey: builder.keys.vaultKey, environment: environment)
            else { continue }
            #expect(throws: StorageError.self, "byte \(offset)") { try store.compact() }
            #expect(disk.inode(VaultBuilder.name)?.bytes == bytes)
        }
    }
}

struct SlotBoxTests {
    /// Such a slot needs the passphrase: the work of a faulty program, or of a program that copies a slot between
    /// vaults.
    @Test(arguments: [32, 48]) func `a slot whose box names another vault or another slot is damaged`(offset: Int)
        throws
    {
        let vault = try VaultBuilder()
        var slot = try vault.header.slots[0]
        let passphrase = try Passphrase.of(VaultBuilder.passphrase)
        let vaultID = try vault.header.vaultID
        let keys = try SlotKeys(slot, secret: passphrase.secret.bytes, vaultID: vaultID)
        var plain = vault.keys.vaultKey.exposed + vaultID + slot.slotID
        func seal() {
            var box: [UInt8] = []
            SecretBox.seal(plain.span, nonce: slot.nonce.span, key: keys.masterKey, appendingTo: &box)
            slot.box = box
        }
        seal()
        #expect(try slot.open(passphrase.secret.bytes, vaultID: vaultID) != nil)
        plain[offset] ^= 1
        seal()
        #expect(throws: StorageError.damaged(.keySlot)) { _ = try slot.open(passphrase.secret.bytes, vaultID: vaultID) }
    }
}

struct FixtureTests {
    /// The file was written by version 0.1.0 and is never regenerated.
    @Test func `a vault of every released version opens`() throws {
        let disk = SimulatedDisk()
        if Vectors.isWriting, Vectors.names("fixtures", suffix: "0.1.0.vault").isEmpty {
            try Vectors.write(try Self.make(), to: "fixtures/0.1.0.vault")
        }
        disk.put(try Vectors.bytes("fixtures/0.1.0.vault"), as: VaultBuilder.name)
        let outcome = VectorCase.open(disk, passphrase: "fixture passphrase é")
        #expect(outcome == "success first, -, third, \(String(repeating: "x", count: 5000))")
    }

    private static func make() throws -> [UInt8] {
        let disk = SimulatedDisk()
        let store = try VaultStore.create(
            at: disk.root.appending(VaultBuilder.name), unlockedBy: .passphrase(.of("fixture passphrase é")),
            cost: .weakest,
            environment: .seeded("fixture", on: disk))
        try VaultBuilder.add("old", to: store, account: "a")
        try VaultBuilder.add("", to: store, account: "none")
        try VaultBuilder.add("third", to: store, account: "ü")
        try VaultBuilder.replace(0, with: "first", in: store)
        try store.change { (session: inout WriteSession) throws(StorageError) in
            guard var operation = store.records[1] else { return }
            operation.version += 1
            try session.stage(operation, value: .none)
        }
        try store.compact()
        try VaultBuilder.add(String(repeating: "x", count: 5000), to: store, account: "long")
        try store.settleMarks()
        return disk.inode(VaultBuilder.name)?.bytes ?? []
    }
}
