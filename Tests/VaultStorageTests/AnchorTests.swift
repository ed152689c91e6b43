// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// What a device remembers of a vault, and what it makes of a file that is older.
struct AnchorTests {
    private let home = Home("anchor")

    /// A settled vault of two items.
    private func makeVault() throws -> [UInt8] {
        let store = try home.create()
        for value in ["one", "two"] { try store.put(value) }
        try store.settleMarks()
        return try home.bytes()
    }

    private func change(number: Int = 2) throws {
        let store = try home.open(number: number)
        try store.put("more")
        try store.settleMarks()
    }

    private var anchorName: String? { get throws { try home.disk.openDirectory(home.disk.root).names().first { $0.hasSuffix(".anchor") } } }

    @Test func `an older copy is refused, until somebody accepts it`() throws {
        let old = try makeVault()
        try change()
        let new = try home.bytes()
        home.disk.put(old, as: "v")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 3) }
        // The newer one put back is what it was.
        home.disk.put(new, as: "v")
        #expect(try Home.values(of: home.open(number: 4)) == ["more", "one", "two"])
        home.disk.put(old, as: "v")
        let accepted = try home.open(number: 5, acceptsOlderCopy: true)
        try accepted.acceptAsNewest()
        #expect(try Home.values(of: home.open(number: 6)) == ["one", "two"])
        // Now the other one is of the past.
        home.disk.put(new, as: "v")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 7) }
    }

    @Test func `an older copy of before a compaction, a new slot or a rekey is refused`() throws {
        for number in 0..<3 {
            let home = Home("anchor \(number)")
            let store = try home.create()
            try store.put("one")
            try store.settleMarks()
            let old = try home.bytes()
            switch number {
            case 0: try store.compact()
            case 1: try store.addSlot(for: Home.secret("other"), cost: .weakest)
            default: _ = try store.rekey([SlotEntry(Home.secret(), name: "passphrase", cost: .weakest)]) { _ in }
            }
            #expect(try Home.values(of: home.open(number: 2)) == ["one"])
            home.disk.put(old, as: "v")
            #expect(throws: StorageError.rolledBack, "\(number)") { try home.open(number: 3) }
            try home.open(number: 4, acceptsOlderCopy: true).acceptAsNewest()
            #expect(try Home.values(of: home.open(number: 5)) == ["one"])
        }
    }

    @Test func `another vault in the place of one is refused`() throws {
        _ = try makeVault()
        let other = Home("another device")
        let store = try other.create()
        for _ in 0..<9 { try store.put("theirs") }
        try store.settleMarks()
        home.disk.put(try other.bytes(), as: "v")
        #expect(throws: StorageError.rolledBack) { try home.open() }
        try home.open(number: 3, acceptsOlderCopy: true).acceptAsNewest()
        #expect(try Home.values(of: home.open(number: 4)).count == 9)
    }

    @Test func `a copy of the same generation that went another way is refused, though it is longer`() throws {
        let old = try makeVault()
        try change()
        // The same vault on another device, which had not seen that change.
        let other = Home("elsewhere")
        other.disk.put(old, as: "v")
        let store = try other.open()
        for _ in 0..<5 { try store.put("elsewhere") }
        try store.settleMarks()
        home.disk.put(try other.bytes(), as: "v")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 5) }
    }

    @Test func `a backup that is copied into the vault's place, and not restored, is refused if it misses something`() throws {
        let store = try home.create()
        for number in 0..<3 { try store.put(String(repeating: "\(number)", count: 3_000_000)) }
        _ = try store.backUp(to: home.path("backup"), replacing: false)
        // The copy has as many frames as the vault has commits by now.
        try store.put("later")
        try store.settleMarks()
        home.disk.put(try home.bytes("backup"), as: "v")
        #expect(throws: StorageError.rolledBack) { try home.open() }
    }

    @Test(arguments: ["absent", "empty", "short", "long", "garbage", "MAC"])
    func `without a good anchor the vault opens, and gets one`(state: String) throws {
        let old = try makeVault()
        try change()
        let name = try #require(try anchorName)
        let good = try home.bytes(name)
        switch state {
        case "absent": try home.disk.openDirectory(home.disk.root).remove(name)
        case "empty": home.disk.put([], as: name)
        case "short": home.disk.put(Array(good.dropLast()), as: name)
        case "long": home.disk.put(good + [0], as: name)
        case "garbage": home.disk.put([UInt8](repeating: 0x5a, count: Anchor.length), as: name)
        default: home.disk.put(good.dropLast() + [good[Anchor.length - 1] ^ 1], as: name)
        }
        #expect(try Home.values(of: home.open(number: 5)).count == 3)
        #expect(try home.bytes(name) == good)
        home.disk.put(old, as: "v")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 6) }
    }

    @Test func `a look at a vault makes no files beside it`() throws {
        let bytes = try makeVault()
        let other = Home("reader")
        other.disk.put(bytes, as: "v")
        _ = try other.open()
        #expect(try other.disk.openDirectory(other.disk.root).names() == ["v"])
    }

    @Test func `what a device remembers is never lowered by somebody who is behind`() throws {
        _ = try makeVault()
        let behind = try home.open(number: 3)
        try change()
        let name = try #require(try anchorName)
        let newest = try home.bytes(name)
        behind.moveAnchor(to: behind.tip.position, generation: behind.header.generation)
        #expect(try home.bytes(name) == newest)
    }

    @Test func `a vault that is made where there was another is not taken for an older one`() throws {
        _ = try makeVault()
        try home.disk.openDirectory(home.disk.root).remove("v")
        let store = try home.create(number: 7)
        try store.put("new")
        try store.settleMarks()
        #expect(try Home.values(of: home.open()) == ["new"])
    }

    @Test func `a device that cannot remember anything opens the vault all the same`() throws {
        _ = try makeVault()
        var environment = home.environment(5)
        environment.stateDirectory = "/elsewhere/state"
        let locked = try LockedStore(home.path(), environment: environment)
        let store = try locked.open(with: try locked.unlock(with: Home.secret()))
        try store.put("three")
        try store.settleMarks()
        #expect(try Home.values(of: store).count == 3)
    }

    @Test func `an anchor is what it is written as, and nothing else`() throws {
        let anchor = Anchor(vaultID: Array(0..<16), generation: 7, sequence: 9, chainTag: Array(0..<32))
        let bytes = anchor.encoded() + [UInt8](repeating: 0, count: 32)
        #expect(bytes.count == Anchor.length)
        #expect(try Anchor(parsing: bytes.span) == anchor)
        for index in Array(0..<8) + [31, 39] {
            var wrong = bytes
            wrong[index] ^= 0xff
            #expect(throws: FormatError.self) { try Anchor(parsing: wrong.span) }
        }
        for count in [0, Anchor.length - 1] { #expect(throws: FormatError.self) { try Anchor(parsing: bytes.span.extracting(0..<count)) } }
    }
}
