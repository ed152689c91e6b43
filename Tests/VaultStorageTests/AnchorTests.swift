// SPDX-License-Identifier: Apache-2.0
import Synchronization
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

    @Test(arguments: ["absent", "empty", "short", "long", "garbage", "sum"])
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
        default: home.disk.put(good[..<Anchor.sumOffset] + [good[Anchor.sumOffset] ^ 1] + good[(Anchor.sumOffset + 1)...], as: name)
        }
        #expect(try Home.values(of: home.open(number: 5)).count == 3)
        #expect(try home.bytes(name) == good)
        home.disk.put(old, as: "v")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 6) }
    }

    @Test func `a device that only reads remembers what it has read`() throws {
        let old = try makeVault()
        try change()
        let other = Home("reader")
        other.disk.put(try home.bytes(), as: "v")
        for number in 0..<3 { #expect(try Home.values(of: other.open(number: number)).count == 3) }
        other.disk.put(old, as: "v")
        #expect(throws: StorageError.rolledBack) { try other.open(number: 4) }
    }

    @Test func `what a device remembers is never lowered by somebody who is behind`() throws {
        _ = try makeVault()
        let behind = try home.open(number: 3)
        try change()
        let name = try #require(try anchorName)
        let newest = try home.bytes(name)
        behind.moveAnchors(to: behind.tip.position)
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
        let anchor = Anchor(vaultID: Array(0..<16), generation: 7, sequence: 9, chainTag: Array(0..<32), resolvedName: Array(0..<16))
        let bytes = anchor.encoded() + [UInt8](repeating: 0, count: 64)
        #expect(bytes.count == Anchor.length)
        #expect(try Anchor(parsing: bytes.span) == anchor)
        for index in Array(0..<8) + [31, 39] {
            var wrong = bytes
            wrong[index] ^= 0xff
            #expect(throws: FormatError.self) { try Anchor(parsing: wrong.span) }
        }
        for count in [0, Anchor.length - 1] { #expect(throws: FormatError.self) { try Anchor(parsing: bytes.span.extracting(0..<count)) } }
    }

    // MARK: Links

    private func turn(_ name: String, to target: String) {
        home.disk.links.withLock { $0[home.path(name)] = home.path(target) }
    }

    @Test func `a link that is put in the vault's place leads to no older copy`() throws {
        let old = try makeVault()
        try change()
        home.disk.put(old, as: "older")
        turn("v", to: "older")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 3) }
        // Nor once somebody has looked at the copy by its own name.
        #expect(try Home.values(of: home.open("older", number: 4)).count == 2)
        #expect(throws: StorageError.rolledBack) { try home.open(number: 5) }
    }

    @Test func `a link that its owner turns to another vault is no alarm, and one to an older copy of that is`() throws {
        let other = Home("another vault", disk: home.disk)
        _ = try makeVault()
        let store = try other.create("w")
        try store.put("other")
        try store.settleMarks()
        let older = try home.bytes("w")
        try store.put("more")
        try store.settleMarks()
        for target in ["v", "w", "v", "w"] {
            turn("link", to: target)
            let count = try Home.values(of: home.open("link", number: 10)).count
            #expect(count == 2)
        }
        home.disk.put(older, as: "x")
        turn("link", to: "x")
        #expect(throws: StorageError.rolledBack) { try home.open("link", number: 11) }
        // A vault that this device has never seen, behind a name that it has.
        let strange = Home("strange")
        try strange.create().put("theirs")
        home.disk.put(try strange.bytes(), as: "y")
        turn("link", to: "y")
        #expect(throws: StorageError.rolledBack) { try home.open("link", number: 12) }
    }

    @Test func `a link in the place of the vault itself leads to no other, and the vault that comes back is none the worse`() throws {
        let other = Home("another vault", disk: home.disk)
        _ = try makeVault()
        try other.create("w").put("other")
        _ = try home.open("w", number: 9)
        turn("v", to: "w")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 10) }
        home.disk.links.withLock { $0 = [:] }
        #expect(try Home.values(of: home.open(number: 11)).count == 2)
    }

    @Test func `an older copy is not let in by turning a link to another vault first`() throws {
        let other = Home("another vault", disk: home.disk)
        _ = try makeVault()
        turn("link", to: "v")
        // This device knows the older one, by its own name.
        _ = try home.open("link", number: 8).backUp(to: home.path("older"), replacing: false)
        try change(number: 9)
        _ = try home.open("link", number: 10)
        try other.create("w").put("other")
        _ = try home.open("w", number: 11)
        turn("link", to: "w")
        #expect(try Home.values(of: home.open("link", number: 12)) == ["other"])
        turn("link", to: "older")
        #expect(throws: StorageError.rolledBack) { try home.open("link", number: 13) }
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

    @Test(arguments: [0, 1, 2]) func `a handle that finds no vault any more, or another file, writes down what it knew`(number: Int) throws
    {
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

    @Test func `a new vault, a restored one and an accepted one let what was remembered of the place go, by every name`() throws {
        let old = try makeVault()
        turn("link", to: "v")
        _ = try home.open("link", number: 3)
        try change(number: 4)
        _ = try home.open("link", number: 5)
        home.disk.put(old, as: "v")
        try home.open(number: 6, acceptsOlderCopy: true).acceptAsNewest()
        #expect(try Home.values(of: home.open("link", number: 7)).count == 2)
        try home.disk.openDirectory(home.disk.root).remove("v")
        try home.create(number: 8).put("new")
        #expect(try Home.values(of: home.open("link", number: 9)) == ["new"])
    }

    // MARK: Keys

    /// What an attacker makes of a copy that opens with an old credential: a file whose numbers are above the victim's.
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
        // Not a second time either, and what was remembered is as it was.
        #expect(throws: StorageError.rolledBack) { try home.open(number: 4) }
        home.disk.put(mine, as: "v")
        #expect(try Home.values(of: home.open(number: 5)) == ["mine"])
        // A handle that was open all the while neither.
        home.disk.put(try raise(leaked, with: code), as: "v")
        #expect(throws: StorageError.self) { try store.refresh() }
        #expect(throws: StorageError.rolledBack) { try home.open(number: 6) }
    }

    @Test func `a vault that was rekeyed on another device goes on here, also after the second time`() throws {
        var bytes = try makeVault()
        for number in 0..<3 {
            let other = Home("elsewhere \(number)")
            other.disk.put(bytes, as: "v")
            _ = try other.open(number: number).rekey([SlotEntry(Home.secret(), name: "passphrase", cost: .weakest)]) { _ in }
            bytes = try other.bytes()
            // This device sees every second one of them.
            guard number != 1 else { continue }
            home.disk.put(bytes, as: "v")
            #expect(try Home.values(of: home.open(number: 20 + number)) == ["one", "two"])
        }
        let name = try #require(try anchorName)
        let found = try #require(FoundAnchor(home.bytes(name), under: []))
        let newest = try home.open(number: 30)
        let isSigned = found.isSigned(by: newest.keys.anchor)
        #expect(isSigned)
    }

    @Test func `a rekey elsewhere of what this device has gone on from since is another history`() throws {
        let shared = try makeVault()
        try change()
        let other = Home("elsewhere")
        other.disk.put(shared, as: "v")
        _ = try other.open().rekey([SlotEntry(Home.secret(), name: "passphrase", cost: .weakest)]) { _ in }
        home.disk.put(try other.bytes(), as: "v")
        #expect(throws: StorageError.rolledBack) { try home.open(number: 5) }
        try home.open(number: 6, acceptsOlderCopy: true).acceptAsNewest()
        #expect(try Home.values(of: home.open(number: 7)) == ["one", "two"])
    }

    @Test func `every rewrite, backup and salvage keeps the succession`() throws {
        let old = try makeVault()
        let name = try #require(try anchorName)
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

    // MARK: Version 0.1, and what somebody planted

    /// As version 0.1 wrote it: for the resolved path alone, and without a checksum.
    private func writeOldAnchor(from good: [UInt8], as name: String, keys: borrowing VaultKeys, isTrue: Bool) throws {
        var anchor = try Anchor(parsing: good.span)
        anchor.resolvedName = nil
        var hash = KeyedHash(key: keys.anchor)
        hash.update(anchor.encoded())
        var mac = hash.digest().bytes.span.array(0..<32)
        if !isTrue { mac[0] ^= 1 }
        home.disk.put(anchor.encoded() + mac, as: name)
    }

    @Test(arguments: [true, false]) func `an anchor of version 0.1 counts if the key has made it, and is written anew`(isTrue: Bool) throws
    {
        let old = try makeVault()
        try change()
        let name = try #require(try anchorName)
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
        _ = try makeVault()
        let name = try #require(try anchorName)
        var forged = Array(try home.bytes(name)[..<Anchor.sumOffset])
        forged[40] ^= 1
        forged += KeyedHash.digest(forged.span).bytes.span.array(0..<32)
        home.disk.put(forged + [UInt8](repeating: 7, count: 32), as: name)
        #expect(throws: StorageError.rolledBack) { try home.open(number: 3) }
        try home.open(number: 4, acceptsOlderCopy: true).acceptAsNewest()
        #expect(try Home.values(of: home.open(number: 5)).count == 2)
    }

    // MARK: Whoever notices

    @Test func `a handle that finds the file behind writes down what it knew, before it says so`() throws {
        let store = try home.create()
        try store.put("one")
        try store.settleMarks()
        let old = try home.bytes()
        // Acknowledged, and not yet written down: that comes with a second of idleness.
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

    // MARK: Salvage and restore

    private static func salvage(_ home: Home, accepting: Bool) throws -> (Salvage, asked: MissingState?) {
        let locked = try LockedStore(home.path(), environment: home.environment(30), isDamaged: true)
        var asked: MissingState?
        let salvage = try locked.salvage(
            with: try locked.unlock(with: Home.secret()), to: home.path("new"),
            accepts: {
                asked = $0
                return accepting
            }, report: { _ in })
        return (salvage, asked)
    }

    @Test func `a salvage of an older copy says how much is missing, and wants to be told that it is meant`() throws {
        let old = try makeVault()
        for number in 0..<3 { try change(number: 10 + number) }
        home.disk.put(old[..<4096] + [UInt8](repeating: 0, count: 8192) + old[12288...], as: "v")
        #expect(throws: StorageError.damaged(.marks)) { try home.open(number: 3) }
        #expect(throws: StorageError.rolledBack) { try Self.salvage(home, accepting: false) }
        #expect(home.disk.inode("new") == nil)
        let (salvage, asked) = try Self.salvage(home, accepting: true)
        #expect(asked == MissingState(3) && salvage.whole == 2)
    }

    @Test func `a salvage that may lack the oldest frames says so`() throws {
        let store = try home.create()
        for number in 0..<5 { try store.put("\(number)") }
        try store.settleMarks()
        var bytes = try home.bytes()
        let first = Layout.firstFrame..<Layout.firstFrame + Layout.frameHeadLength
        let length = try FrameHead(parsing: bytes.span.extracting(first), available: bytes.count).length
        for offset in 0..<length { bytes[Layout.firstFrame + offset] = 0 }
        bytes[Layout.headerMACOffset] ^= 1
        home.disk.put(bytes, as: "v")
        let (salvage, _) = try Self.salvage(home, accepting: true)
        #expect(salvage.lacksStart && salvage.whole == 4)
    }

    @Test func `a salvage of the newest file asks nothing, also after a rekey`() throws {
        _ = try makeVault()
        let store = try home.open(number: 2)
        _ = try store.rekey([SlotEntry(Home.secret(), name: "passphrase", cost: .weakest)]) { _ in }
        try store.put("three")
        try store.settleMarks()
        var bytes = try home.bytes()
        for offset in 4096..<12288 { bytes[offset] = 0 }
        home.disk.put(bytes, as: "v")
        let (salvage, asked) = try Self.salvage(home, accepting: false)
        #expect(asked == nil && salvage.whole == 3)
    }

    @Test func `a backup that lacks what this device has seen is restored by whoever means it`() throws {
        let store = try home.create()
        try store.put("one")
        _ = try store.backUp(to: home.path("backup"), replacing: false)
        func restore(_ accepts: (MissingState) -> Bool) throws -> Int {
            let backup = try LockedStore(home.path("backup"), environment: home.environment(20)).openAsBackup(with: Home.secret())
            return try VaultStore.restore(
                backup, to: home.path(), replacing: true, environment: home.environment(21), accepts: accepts, report: { _ in })
        }
        try store.settleMarks()
        // It has all that there is.
        #expect(try restore { _ in false } == 1)
        let after = try home.open(number: 22)
        for number in 0..<2 { try after.put("later \(number)") }
        try after.settleMarks()
        let newest = try home.bytes()
        var asked: [MissingState] = []
        #expect(throws: StorageError.rolledBack) {
            try restore {
                asked.append($0)
                return false
            }
        }
        #expect(asked.count == 1 && asked[0].commits ?? 0 >= 2)
        #expect(try home.bytes() == newest)
        // Where there is neither a vault nor an anchor nothing is missing.
        let bare = Home("bare")
        bare.disk.put(try home.bytes("backup"), as: "backup")
        let backup = try LockedStore(bare.path("backup"), environment: bare.environment(20)).openAsBackup(with: Home.secret())
        let environment = bare.environment(21)
        #expect(
            try VaultStore.restore(
                backup, to: bare.path(), replacing: false, environment: environment, accepts: { _ in false }, report: { _ in }) == 1)
    }

    @Test(arguments: ["attribute-critical-unknown", "frame-version-2", "operation-kind-unknown"])
    func `what a newer version has written is not left out of a salvage`(vector: String) throws {
        let newer = try #require(VectorCase.all.first { $0.name == vector })
        let home = Home("newer")
        home.disk.put(try newer.vault(), as: "v")
        let locked = try LockedStore(home.path(), environment: home.environment(1), isDamaged: true)
        #expect {
            let keys = try locked.unlock(with: .passphrase(.of(newer.passphrase)))
            _ = try locked.salvage(with: keys, to: home.path("new"), accepts: { _ in true }, report: { _ in })
        } throws: { error in
            if case .unsupported? = error as? StorageError { true } else { false }
        }
        #expect(home.disk.inode("new") == nil)
    }

    @Test func `a torn frame whose number was used again is not salvaged`() throws {
        let store = try home.create()
        try store.put("one")
        try store.settleMarks()
        let settled = try home.bytes()
        try store.put(String(repeating: "torn", count: 3000))
        let torn = try home.bytes()
        // The crash left the frame's metadata and half of its values; the next writer cut it off and used its number.
        let other = Home("next")
        other.disk.put(Array(torn[..<(settled.count + 4000)]), as: "v")
        try other.open().put("two")
        var bytes = try other.bytes()
        for offset in 4096..<12288 { bytes[offset] = 0 }
        other.disk.put(bytes, as: "v")
        let (salvage, _) = try Self.salvage(other, accepting: true)
        #expect(salvage.whole == 2 && salvage.damaged.isEmpty && salvage.missingFrames == 0)
        #expect(try Home.values(of: other.open("new", number: 40)) == ["one", "two"])
    }

    // MARK: Hostile headers

    @Test func `what all slots would cost is added up before the first of them is tried`() throws {
        _ = try makeVault()
        let locked = try home.locked()
        var header = locked.header
        var slot = header.slots[0]
        slot.stretching = .argon2id(passes: 4, memoryBytes: 4 << 30)
        header.slots = (0..<8).map { number in
            slot.slotID[0] = UInt8(number)
            return slot
        }
        let page = header.encoded() + [UInt8](repeating: 0, count: 32)
        home.disk.put(page + KeyedHash.digest(page.span).bytes.span.array(0..<32) + [UInt8](repeating: 0, count: 8192), as: "v")
        var environment = home.environment(3)
        environment.forcesMemory = true
        let hostile = try LockedStore(home.path(), environment: environment)
        #expect(throws: StorageError.damaged(.header(.outOfBounds(.slotPasses)))) { _ = try hostile.unlock(with: Home.secret()) }
    }
}
