// SPDX-License-Identifier: Apache-2.0
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// A device's memory of a vault, and the treatment of an older file.
struct AnchorTests {
    private let home = Home("anchor")

    @Test func `an older copy is refused, until somebody accepts it`() throws {
        let old = try home.makeVault()
        try home.change()
        let new = try home.bytes()
        home.disk.put(old, as: "v")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 3) }
        // The newer file is accepted again.
        home.disk.put(new, as: "v")
        #expect(try Home.values(of: home.open(number: 4)) == ["more", "one", "two"])
        home.disk.put(old, as: "v")
        let accepted = try home.open(number: 5, acceptsOlderCopy: true)
        try accepted.acceptAsNewest()
        #expect(try Home.values(of: home.open(number: 6)) == ["one", "two"])
        // Now the other file is the older one.
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
        _ = try home.makeVault()
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
        let old = try home.makeVault()
        try home.change()
        // The same vault on another device, which had not seen the change.
        let other = Home("elsewhere")
        other.disk.put(old, as: "v")
        let store = try other.open()
        for _ in 0..<5 { try store.put("elsewhere") }
        try store.settleMarks()
        home.disk.put(try other.bytes(), as: "v")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 5) }
    }

    @Test func `a backup that is copied into the vault's place, and not restored, is refused if it misses something`()
        throws
    {
        let store = try home.create()
        for number in 0..<3 { try store.put(String(repeating: "\(number)", count: 3_000_000)) }
        _ = try store.backUp(to: home.path("backup"), replacing: false)
        // The copy now has as many frames as the vault has commits.
        try store.put("later")
        try store.settleMarks()
        home.disk.put(try home.bytes("backup"), as: "v")
        #expect(throws: StorageError.rolledBack) { try home.open() }
    }

    @Test(arguments: ["absent", "empty", "short", "long", "garbage", "sum"])
    func `without a good anchor the vault opens, and gets one`(state: String) throws {
        let old = try home.makeVault()
        try home.change()
        let name = try #require(try home.anchorName)
        let good = try home.bytes(name)
        switch state {
        case "absent": try home.disk.openDirectory(home.disk.root).remove(name)
        case "empty": home.disk.put([], as: name)
        case "short": home.disk.put(Array(good.dropLast()), as: name)
        case "long": home.disk.put(good + [0], as: name)
        case "garbage": home.disk.put([UInt8](repeating: 0x5a, count: Anchor.length), as: name)
        default:
            home.disk.put(
                good[..<Anchor.sumOffset] + [good[Anchor.sumOffset] ^ 1] + good[(Anchor.sumOffset + 1)...], as: name)
        }
        #expect(try Home.values(of: home.open(number: 5)).count == 3)
        #expect(try home.bytes(name) == good)
        home.disk.put(old, as: "v")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 6) }
    }

    @Test func `a device that only reads remembers what it has read`() throws {
        let old = try home.makeVault()
        try home.change()
        let other = Home("reader")
        other.disk.put(try home.bytes(), as: "v")
        for number in 0..<3 { #expect(try Home.values(of: other.open(number: number)).count == 3) }
        other.disk.put(old, as: "v")
        #expect(throws: StorageError.rolledBack) { try other.open(number: 4) }
    }

    @Test(arguments: [Errno.readOnlyFileSystem, .permissionDenied])
    func `a device that may make no lock beside the vault remembers what it has read under one of its own`(
        refusal: Errno
    ) throws {
        let old = try home.makeVault()
        try home.change()
        let reader = Home("reader")
        reader.disk.put(try home.bytes(), as: "v")
        // The first lock is the vault's, the second the device's.
        reader.disk.judge.withLock { judge in
            judge = { [disk = reader.disk] step in
                guard step == .lock else { return .done }
                disk.judge.withLock { $0 = nil }
                return .fails(refusal)
            }
        }
        _ = try reader.open(number: 3)
        #expect(reader.disk.judge.withLock { $0 == nil }, "it was asked for")
        reader.disk.put(old, as: "v")
        #expect(throws: StorageError.rolledBack) { try reader.open(number: 4) }
    }

    @Test func `what a device remembers is never lowered by somebody who is behind`() throws {
        _ = try home.makeVault()
        let behind = try home.open(number: 3)
        try home.change()
        let name = try #require(try home.anchorName)
        let newest = try home.bytes(name)
        behind.moveAnchors(to: behind.tip.position)
        #expect(try home.bytes(name) == newest)
    }

    @Test func `a vault that is made where there was another is not taken for an older one`() throws {
        _ = try home.makeVault()
        try home.disk.openDirectory(home.disk.root).remove("v")
        let store = try home.create(number: 7)
        try store.put("new")
        try store.settleMarks()
        #expect(try Home.values(of: home.open()) == ["new"])
    }

    @Test func `a device that cannot remember anything opens the vault all the same`() throws {
        _ = try home.makeVault()
        var environment = home.environment(5)
        environment.stateDirectory = "/elsewhere/state"
        let locked = try LockedStore(home.path(), environment: environment)
        let store = try locked.open(with: try locked.unlock(with: Home.secret()))
        try store.put("three")
        try store.settleMarks()
        #expect(try Home.values(of: store).count == 3)
    }

    @Test func `an anchor is what it is written as, and nothing else`() throws {
        let anchor = Anchor(
            vaultID: Array(0..<16), generation: 7, sequence: 9, chainTag: Array(0..<32), resolvedName: Array(0..<16))
        let bytes = anchor.encoded() + [UInt8](repeating: 0, count: 64)
        #expect(bytes.count == Anchor.length)
        #expect(try Anchor(parsing: bytes.span) == anchor)
        for index in Array(0..<8) + [31, 39] {
            var wrong = bytes
            wrong[index] ^= 0xff
            #expect(throws: FormatError.self) { try Anchor(parsing: wrong.span) }
        }
        for count in [0, Anchor.length - 1] {
            #expect(throws: FormatError.self) { try Anchor(parsing: bytes.span.extracting(0..<count)) }
        }
    }

    // MARK: Version 0.1, and planted anchors

    /// Writes an anchor of version 0.1: for the resolved path alone, and without a checksum.
    private func writeOldAnchor(from good: [UInt8], as name: String, keys: borrowing VaultKeys, isTrue: Bool) throws {
        var anchor = try Anchor(parsing: good.span)
        anchor.resolvedName = nil
        var hash = KeyedHash(key: keys.anchor)
        hash.update(anchor.encoded())
        var mac = hash.digest().bytes.span.array(0..<32)
        if !isTrue { mac[0] ^= 1 }
        home.disk.put(anchor.encoded() + mac, as: name)
    }

    @Test(arguments: [true, false]) func `an anchor of version 0.1 counts if the key has made it, and is written anew`(
        isTrue: Bool
    ) throws {
        let old = try home.makeVault()
        try home.change()
        let name = try #require(try home.anchorName)
        let good = try home.bytes(name)
        try writeOldAnchor(from: good, as: name, keys: home.open(number: 9).keys, isTrue: isTrue)
        let newest = try home.bytes()
        home.disk.put(old, as: "v")
        if isTrue {
            #expect(throws: StorageError.rolledBack) { try home.open(number: 3) }
            home.disk.put(newest, as: "v")
            _ = try home.open(number: 4)
            #expect(try home.bytes(name) == good)
        } else {
            #expect(try home.locked().anchors.isEmpty)
            #expect(try Home.values(of: home.open(number: 4)).count == 2)
            #expect(try home.bytes(name).count == Anchor.length)
        }
    }

    @Test func `a well-formed anchor that no key vouches for is no reason to go on`() throws {
        _ = try home.makeVault()
        let name = try #require(try home.anchorName)
        var forged = Array(try home.bytes(name)[..<Anchor.sumOffset])
        forged[40] ^= 1
        forged += KeyedHash.digest(forged.span).bytes.span.array(0..<32)
        home.disk.put(forged + [UInt8](repeating: 7, count: 32), as: name)
        #expect(throws: StorageError.rolledBack) { try home.open(number: 3) }
        try home.open(number: 4, acceptsOlderCopy: true).acceptAsNewest()
        #expect(try Home.values(of: home.open(number: 5)).count == 2)
    }

    // MARK: Detection by each handle

    @Test func `a handle that finds the file behind writes down what it knew, before it says so`() throws {
        let store = try home.create()
        try store.put("one")
        try store.settleMarks()
        let old = try home.bytes()
        // Acknowledged, but not yet in the anchor, which is written after a second of idleness.
        try store.put("two")
        home.disk.put(old, as: "v")
        #expect(throws: StorageError.rolledBack) { try store.refresh() }
        #expect(throws: StorageError.rolledBack) { try home.open(number: 3) }
        let another = Home("writer")
        let writer = try another.create()
        try writer.put("one")
        try writer.settleMarks()
        let before = try another.bytes()
        try writer.put("two")
        another.disk.put(before, as: "v")
        #expect(throws: StorageError.rolledBack) { try writer.put("three") }
        #expect(throws: StorageError.rolledBack) { try another.open(number: 3) }
    }

    @Test(arguments: [0, 1, 2]) func `a handle that finds no vault any more, or another file, writes down what it knew`(
        number: Int
    ) throws {
        for settles in [true, false] {
            let home = Home("gone \(number) \(settles)")
            let store = try home.create()
            try store.put("one")
            try store.settleMarks()
            let old = try home.bytes()
            try store.put("two")
            switch number {
            case 0: try home.disk.openDirectory(home.disk.root).remove("v")
            case 1:
                var changed = try home.bytes()
                changed[Layout.headerMACOffset] ^= 1
                home.disk.put(changed, as: "v")
            default: home.disk.put([], as: "v")
            }
            #expect(throws: StorageError.self) { if settles { try store.settleMarks() } else { try store.refresh() } }
            home.disk.put(old, as: "v")
            #expect(throws: StorageError.rolledBack) { try home.open(number: 9) }
        }
    }

    @Test func `a newer backup in the place of an older one is newer, and the older one after it is not`() throws {
        let store = try home.create()
        try store.put("one")
        _ = try store.backUp(to: home.path("backup"), replacing: false)
        let first = try home.bytes("backup")
        home.disk.put(first, as: "mirror")
        #expect(try Home.values(of: home.open("mirror", number: 5)).count == 1)
        try store.put("two")
        _ = try store.backUp(to: home.path("backup"), replacing: true)
        home.disk.put(try home.bytes("backup"), as: "mirror")
        #expect(try Home.values(of: home.open("mirror", number: 6)).count == 2)
        home.disk.put(first, as: "mirror")
        #expect(throws: StorageError.rolledBack) { try home.open("mirror", number: 7) }
    }
}
