// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// Backups and restores.
struct CopyTests {
    private let home = Home("copies")

    private func makeVault() throws -> VaultStore {
        let store = try home.create()
        for value in ["one", "two", "gone"] { try store.put(value) }
        try store.remove(2)
        return store
    }

    /// - Parameter accepting: Decides whether the backup's missing state is acceptable; by default, all is.
    private func restore(
        _ name: String = "b", to target: String = "v", replacing: Bool = true, on home: Home, number: Int = 20,
        accepting: (MissingState) -> Bool = { _ in true }
    ) throws -> Int {
        let backup = try LockedStore(home.path(name), environment: home.environment(number)).openAsBackup(
            with: Home.secret())
        return try VaultStore.restore(
            backup, to: home.path(target), replacing: replacing, environment: home.environment(number + 1),
            accepts: accepting
        ) { _ in }
    }

    @Test func `a backup has what the vault has and nothing that was deleted, and opens with the same passphrase`()
        throws
    {
        let store = try makeVault()
        #expect(try store.backUp(to: home.path("b"), replacing: false) == 2)
        let copy = try home.open("b", number: 3)
        #expect(try Home.values(of: copy) == ["one", "two"])
        #expect(copy.header.vaultID == store.header.vaultID && copy.header.slots == store.header.slots)
        #expect(try copy.verify(deep: true) == Verification(items: 2, values: 2, opened: 2, commits: 1))
        #expect(try home.isTidy)
        // The vault itself is unchanged.
        #expect(try Home.values(of: home.open(number: 4)) == ["one", "two"])
    }

    @Test func `a backup with a passphrase of its own opens with that alone`() throws {
        let store = try makeVault()
        let entries = [SlotEntry(try Home.secret("own"), name: "passphrase", cost: .weakest)]
        _ = try store.backUp(to: home.path("b"), entries: entries, replacing: false)
        #expect(throws: StorageError.wrongPassphrase) { try home.open("b") }
        #expect(try Home.values(of: home.open("b", with: Home.secret("own"), number: 3)) == ["one", "two"])
    }

    @Test func `a file that is there is not replaced unasked, and the vault itself never`() throws {
        let store = try makeVault()
        home.disk.put([1, 2, 3], as: "b")
        #expect(throws: StorageError.alreadyExists) { try store.backUp(to: home.path("b"), replacing: false) }
        #expect(try home.bytes("b") == [1, 2, 3])
        #expect(throws: StorageError.alreadyExists) { try store.backUp(to: home.path(), replacing: true) }
        #expect(try store.backUp(to: home.path("b"), replacing: true) == 2)
        let before = try home.bytes()
        #expect(throws: StorageError.alreadyExists) { try restore(replacing: false, on: home) }
        #expect(throws: StorageError.alreadyExists) { try restore("v", to: "v", on: home) }
        #expect(try home.bytes() == before)
    }

    @Test func `a vault with a changed byte is not backed up, and a backup with one is not restored`() throws {
        let store = try makeVault()
        _ = try store.backUp(to: home.path("b"), replacing: false)
        let good = try home.bytes("b")
        for offset in stride(from: 0, to: good.count, by: 97) {
            var bytes = good
            bytes[offset] ^= 4
            home.disk.put(bytes, as: "b")
            // A single mark is enough to open a vault, and the copy gets two.
            let isMark = (Layout.markOffsets[0]..<Layout.firstFrame).contains(offset)
            if isMark {
                _ = try restore(on: home, number: offset)
            } else {
                #expect(throws: (any Error).self) { try restore(on: home, number: offset) }
            }
            #expect(try Home.values(of: home.open(number: offset + 50_000)) == ["one", "two"], "byte \(offset)")
            #expect(try home.isTidy)
        }
        var bytes = try home.bytes()
        bytes[Layout.firstFrame + 500] ^= 1
        let other = Home("damaged")
        other.disk.put(bytes, as: "v")
        #expect(throws: (any Error).self) { try other.open().backUp(to: other.path("b"), replacing: false) }
        #expect(other.disk.inode("b") == nil)
    }

    @Test func `a restored vault is above everything that was seen, and whoever had it open goes on`() throws {
        let store = try makeVault()
        _ = try store.backUp(to: home.path("b"), replacing: false)
        for number in 0..<5 { try store.put("later \(number)") }
        try store.compact()
        try store.settleMarks()
        #expect(try restore(on: home) == 2)
        try store.refresh()
        #expect(try Home.values(of: store) == ["one", "two"])
        try store.put("after")
        #expect(try Home.values(of: home.open(number: 7)) == ["after", "one", "two"])
        // A second restore of the same file works like the first.
        #expect(try restore(on: home, number: 40) == 2)
        #expect(try Home.values(of: home.open(number: 8)) == ["one", "two"])
    }

    @Test func `a backup of another vault may take the place of one, when it is asked for`() throws {
        _ = try makeVault()
        let other = Home("other")
        try other.create().put("theirs")
        home.disk.put(try other.bytes(), as: "b")
        #expect(try restore(on: home) == 1)
        #expect(try Home.values(of: home.open(number: 9)) == ["theirs"])
    }

    @Test func `a backup that was looked at and is made again opens`() throws {
        let store = try makeVault()
        for number in 0..<3 {
            _ = try store.backUp(to: home.path("b"), replacing: number > 0)
            // A writer creates the lock file, and then this device remembers the copy.
            let copy = try home.open("b", number: 30 + number)
            try copy.put("more")
            try copy.settleMarks()
        }
        #expect(try Home.values(of: home.open("b", number: 40)) == ["more", "one", "two"])
    }

    @Test func `numbers that somebody has planted are not gone on from`() throws {
        let store = try makeVault()
        _ = try store.backUp(to: home.path("b"), replacing: false)
        var header = store.header
        header.generation = UInt64(Int64.max) - 1
        var page = header.encoded() + [UInt8](repeating: 0, count: 32)
        page += KeyedHash.digest(page.span).bytes.span.array(0..<32)
        home.disk.put(page + [UInt8](repeating: 0, count: 8192), as: "v")
        let name = try AnchorFiles.fileName(#require(AnchorFiles.name(of: home.path())))
        let anchor = Anchor(
            vaultID: header.vaultID, generation: UInt64(Int64.max) - 1, sequence: 1 << 46,
            chainTag: [UInt8](repeating: 0, count: 32),
            resolvedName: try #require(AnchorFiles.name(of: home.path())))
        #expect(home.disk.inode(name) != nil)
        let sum = KeyedHash.digest(anchor.encoded().span).bytes.span.array(0..<32)
        home.disk.put(anchor.encoded() + sum + [UInt8](repeating: 0, count: 32), as: name)
        #expect(throws: StorageError.rolledBack) { try restore(on: home, accepting: { _ in false }) }
        #expect(try restore(on: home) == 2)
        let restored = try home.open(number: 41)
        #expect(restored.header.generation < 100 && restored.header.baseSequence < 100)
        try restored.compact()
        #expect(try Home.values(of: home.open(number: 42)) == ["one", "two"])
    }

    @Test func `whoever has acknowledged more than this device wrote down goes on with a restored vault`() throws {
        let store = try makeVault()
        _ = try store.backUp(to: home.path("b"), replacing: false)
        try store.settleMarks()
        for number in 0..<9 { try store.put("not settled \(number)") }
        #expect(try restore(on: home) == 2)
        try store.refresh()
        #expect(try Home.values(of: store) == ["one", "two"])
    }

    @Test func `a backup from before a rekey can be restored, and opens with what opened it`() throws {
        let store = try makeVault()
        _ = try store.backUp(to: home.path("b"), replacing: false)
        _ = try store.rekey([SlotEntry(Home.secret("new"), name: "passphrase", cost: .weakest)]) { _ in }
        #expect(try restore(on: home) == 2)
        #expect(try Home.values(of: home.open(number: 9)) == ["one", "two"])
        #expect(throws: StorageError.wrongPassphrase) { try home.open(with: Home.secret("new")) }
    }

    @Test func `the bytes of another device go with a backup, and come back with it`() throws {
        let store = try makeVault()
        try store.put("bound", protection: .whenUnlockedThisDeviceOnly)
        let other = Home("other device")
        _ = try store.backUp(to: home.path("b"), replacing: false)
        other.disk.put(try home.bytes("b"), as: "b")
        #expect(try restore(on: other) == 3)
        #expect(try Home.values(of: other.open(number: 3)) == ["one", "two"])
        _ = try other.open(number: 4).backUp(to: other.path("c"), replacing: false)
        home.disk.put(try other.bytes("c"), as: "c")
        #expect(try restore("c", on: home, number: 60) == 3)
        #expect(try Home.values(of: home.open(number: 5)) == ["bound", "one", "two"])
    }
}
