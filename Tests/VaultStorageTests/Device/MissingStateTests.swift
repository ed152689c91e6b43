// SPDX-License-Identifier: Apache-2.0
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// The state seen by the device that a salvaged or restored vault lacks.
struct MissingStateTests {
    private let home = Home("missing")

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
        let old = try home.makeVault()
        for number in 0..<3 { try home.change(number: 10 + number) }
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

    @Test func `what comes from before a rekey is asked about, whether it is salvaged or restored`() throws {
        let old = try home.makeVault()
        home.disk.put(old, as: "backup")
        _ = try home.open(number: 3).rekey([SlotEntry(Home.secret(), name: "passphrase", cost: .weakest)]) { _ in }
        let backup = try home.locked("backup").openAsBackup(with: Home.secret())
        var asked: [MissingState] = []
        #expect(throws: StorageError.rolledBack) {
            try VaultStore.restore(backup, to: home.path(), replacing: true, environment: home.environment(4)) {
                asked.append($0)
                return false
            } report: { _ in
            }
        }
        #expect(asked == [MissingState(nil)])
        home.disk.put(old[..<4096] + [UInt8](repeating: 0, count: 8192) + old[12288...], as: "v")
        #expect(throws: StorageError.rolledBack) { try Self.salvage(home, accepting: false) }
        #expect(try Self.salvage(home, accepting: true).asked == MissingState(nil))
    }

    @Test func `a salvage of the newest file asks nothing, also after a rekey`() throws {
        _ = try home.makeVault()
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
            let backup = try LockedStore(home.path("backup"), environment: home.environment(20)).openAsBackup(
                with: Home.secret())
            return try VaultStore.restore(
                backup, to: home.path(), replacing: true, environment: home.environment(21), accepts: accepts,
                report: { _ in })
        }
        try store.settleMarks()
        // The vault has everything that exists.
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
        // Without a vault and an anchor nothing is missing.
        let bare = Home("bare")
        bare.disk.put(try home.bytes("backup"), as: "backup")
        let backup = try LockedStore(bare.path("backup"), environment: bare.environment(20)).openAsBackup(
            with: Home.secret())
        let environment = bare.environment(21)
        #expect(
            try VaultStore.restore(
                backup, to: bare.path(), replacing: false, environment: environment, accepts: { _ in false },
                report: { _ in }) == 1)
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
        // The crash left the frame's metadata and half of its values; the next writer cut the frame off and reused its
        // number.
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
}
