// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// The items recovered from a damaged vault.
struct SalvageTests {
    private static let values = (0..<6).map { "value \($0)" }

    /// Makes a vault of six commits with an item each, and a seventh that replaces the first value; all of its frames
    /// are still in the file.
    private func makeVault(_ home: Home) throws -> VaultStore {
        let store = try home.create()
        for value in Self.values { try store.put(value) }
        try store.put("value 0 again", at: 0)
        try store.settleMarks()
        return store
    }

    private func salvage(_ home: Home, secret: UnlockingSecret? = nil) throws -> (Salvage, [String]) {
        let locked = try LockedStore(home.path(), environment: home.environment(30), isDamaged: true)
        let before = try home.bytes()
        let salvage = try locked.salvage(
            with: try locked.unlock(with: secret ?? Home.secret()), to: home.path("new"), accepts: { _ in true }
        ) { _ in }
        #expect(try home.bytes() == before && home.isTidy)
        let store = try LockedStore(home.path("new"), environment: home.environment(31))
        let opened = try store.openAsBackup(with: secret ?? Home.secret())
        _ = try opened.verify(deep: true)
        return (salvage, try Home.values(of: home.open("new", with: secret, number: 32)))
    }

    private func frames(_ bytes: [UInt8]) -> [Range<Int>] {
        var (frames, offset): ([Range<Int>], Int) = ([], Layout.firstFrame)
        while offset + 4 <= bytes.count {
            let length = Int(bytes.span.integer(at: offset, as: UInt32.self))
            guard length > 0 else { break }
            frames.append(offset..<offset + length)
            offset += length
        }
        return frames
    }

    private func damage(_ home: Home, _ change: (inout [UInt8], [Range<Int>]) -> Void) throws {
        var bytes = try home.bytes()
        change(&bytes, frames(bytes))
        home.disk.put(bytes, as: "v")
    }

    private static let current = ["value 0 again"] + values.dropFirst()

    @Test func `a whole vault comes out whole`() throws {
        let home = Home("whole")
        _ = try makeVault(home)
        let (salvage, values) = try salvage(home)
        #expect(values == Self.current && salvage.whole == 6 && salvage.damaged.isEmpty)
        #expect(
            salvage.frames == 7 && salvage.missingFrames == 0 && salvage.unreadableBytes == 0 && salvage.isHeaderWhole)
    }

    @Test func `without marks everything is there`() throws {
        let home = Home("marks")
        _ = try makeVault(home)
        try damage(home) { bytes, _ in bytes.replaceSubrange(4096..<12288, with: [UInt8](repeating: 0, count: 8192)) }
        #expect(throws: StorageError.damaged(.marks)) { try home.open() }
        #expect(try salvage(home).1 == Self.current)
    }

    @Test func `a frame that is lost takes what was in it, and nothing else`() throws {
        for lost in 0..<7 {
            let home = Home("frame \(lost)")
            _ = try makeVault(home)
            // The frame's length: without it the start of the next frame is unknown.
            try damage(home) { bytes, frames in bytes[frames[lost].lowerBound] ^= 0xff }
            #expect(throws: StorageError.self) { try home.open() }
            let (salvage, values) = try salvage(home)
            #expect(salvage.missingFrames == 1 && salvage.frames == 6 && salvage.unreadableBytes > 0)
            switch lost {
            // The later change still contains the item.
            case 0: #expect(values == Self.current)
            // The item has its state from before the lost change.
            case 6: #expect(values == Self.values)
            default: #expect(values == Self.current.enumerated().filter { $0.offset != lost }.map(\.element))
            }
        }
    }

    @Test func `a value that was changed is lost, and an older one takes its place if there is one`() throws {
        for lost in [3, 6] {
            let home = Home("value \(lost)")
            _ = try makeVault(home)
            try damage(home) { bytes, frames in bytes[frames[lost].upperBound - 40] ^= 1 }
            let (salvage, values) = try salvage(home)
            #expect(salvage.whole == 5 && salvage.damaged.count == 1 && salvage.missingFrames == 0)
            if lost == 6 {
                guard case .newestValue? = salvage.damaged.first?.loss else {
                    Issue.record("an older value was there"); continue
                }
                #expect(values == Self.values)
            } else {
                guard case .value? = salvage.damaged.first?.loss else { Issue.record("no value was there"); continue }
                #expect(values == Self.current.filter { $0 != "value 3" })
                #expect(try home.open("new", number: 40).records.count == 6)
            }
        }
    }

    @Test(arguments: [true, false])
    func `an older value has its own fields, and an item without a value has no fields`(hasOlder: Bool) throws {
        let home = Home("fields")
        let store = try home.create()
        func attributes(_ fields: [String: Int]) throws -> EncodedAttributes {
            EncodedAttributes(
                [
                    .fields: .data(try #require(ValueFields(fields)).encoded),
                    AttributeTag(rawValue: 0x10): .string("a"),
                ],
                user: [:])
        }
        for (text, fields) in hasOlder ? [("mainone", ["one": 3]), ("m", ["two": 1])] : [("m", ["two": 1])] {
            let (secret, attributes) = (try Secret(text: text), try attributes(fields))
            try store.change { (session: inout WriteSession) throws(StorageError) in
                var operation = Operation(
                    kind: .put, itemClass: .genericPassword, protection: .whenUnlocked,
                    id: ItemID(high: 0x4000, low: 1 << 63), version: 1, valueVersion: 0, ordinal: session.nextOrdinal,
                    created: 1, modified: 1, value: nil,
                    deviceID: .init(repeating: 0), attributes: attributes)
                operation.version = (store.records.sorted.first?.version ?? 0) + 1
                try session.stage(operation, value: .set(secret))
            }
        }
        try store.settleMarks()
        try damage(home) { bytes, frames in bytes[frames[frames.count - 1].upperBound - 40] ^= 1 }
        let (salvage, values) = try salvage(home)
        #expect(values == (hasOlder ? ["mainone"] : []) && salvage.damaged.count == 1)
        let record = try #require(try home.open("new", number: 40).records.sorted.first)
        #expect(record.attributes.fields?.fields.map(\.name) == (hasOlder ? ["one"] : nil))
        #expect(record.attributes[AttributeTag(rawValue: 0x10)] == .string("a"))
    }

    @Test func `a file that was cut gives what is left, and says what is missing`() throws {
        let home = Home("cut")
        _ = try makeVault(home)
        try damage(home) { bytes, frames in bytes.removeLast(bytes.count - frames[4].lowerBound - 7) }
        #expect(throws: StorageError.self) { try home.open() }
        let (salvage, values) = try salvage(home)
        #expect(values == Array(Self.values[..<4]) && salvage.missingFrames == 3 && salvage.frames == 4)
    }

    @Test func `a value that is cut off is lost, and its item is not`() throws {
        let home = Home("cut value")
        let store = try home.create()
        try store.put(String(repeating: "v", count: 5000))
        try store.settleMarks()
        try damage(home) { bytes, _ in bytes.removeLast(1000) }
        let (salvage, values) = try salvage(home)
        #expect(values.isEmpty && salvage.damaged.count == 1 && salvage.frames == 1)
    }

    @Test func `a header whose checksum is wrong opens with what still opens, and only that is taken over`() throws {
        let home = Home("header")
        let store = try makeVault(home)
        let code = try RecoveryCode(SeededRandom("code"))
        try store.addSlot(for: .recoveryCode(code))
        try store.settleMarks()
        // The name of a slot, on which no key depends.
        try damage(home) { bytes, _ in bytes[Layout.slotsOffset + 186] ^= 1 }
        #expect(throws: StorageError.damaged(.headerChecksum)) { try home.open() }
        let (salvage, values) = try salvage(home, secret: .recoveryCode(code))
        #expect(values == Self.current && !salvage.isHeaderWhole)
        #expect(try home.locked("new").header.slots.map(\.kind) == [.recoveryCode])
    }

    @Test func `a header that says where the log begins, and is wrong, is no obstacle`() throws {
        for byte in [1, 5] {
            let home = Home("base \(byte)")
            _ = try makeVault(home)
            try damage(home) { bytes, _ in bytes[88 + byte] = 0x40 }
            let (salvage, values) = try salvage(home)
            #expect(values == Self.current && !salvage.isHeaderWhole && salvage.missingFrames == 0)
        }
    }

    @Test func `where nothing can be had no vault is made`() throws {
        let home = Home("nothing")
        _ = try makeVault(home)
        // The salt of the file: the slots still open.
        try damage(home) { bytes, _ in bytes[50] ^= 1 }
        let locked = try LockedStore(home.path(), environment: home.environment(30), isDamaged: true)
        #expect(throws: StorageError.damaged(.headerMAC)) {
            try locked.salvage(
                with: try locked.unlock(with: Home.secret()), to: home.path("new"), accepts: { _ in true }
            ) { _ in }
        }
        #expect(home.disk.inode("new") == nil)
    }

    @Test func `frames of another vault, or put in by a stranger, are not taken`() throws {
        let home = Home("stranger")
        _ = try makeVault(home)
        let other = Home("other")
        _ = try makeVault(other)
        let theirs = try other.bytes()
        try damage(home) { bytes, frames in bytes.replaceSubrange(frames[2], with: Array(theirs[frames[2]])) }
        let (salvage, values) = try salvage(home)
        #expect(values == Self.current.filter { $0 != "value 2" } && salvage.missingFrames == 1)
    }

    @Test func `deleted items stay deleted, and kept versions stay`() throws {
        let home = Home("history")
        let store = try home.create()
        try store.keepHistory(2)
        try store.put("one")
        let place = try #require(
            store.records.sorted.first { $0.itemClass != nil }.flatMap { store.records.place(of: $0.id) })
        try store.put("two", at: place, keepingOld: true)
        try store.put("binned")
        let binned = try #require(
            store.records.sorted.first { (try? store.openValue(of: $0)?.exposed) == Array("binned".utf8) })
        try store.remove(try #require(store.records.place(of: binned.id)), keepingOld: true)
        try store.settleMarks()
        try damage(home) { bytes, _ in bytes.replaceSubrange(4096..<12288, with: [UInt8](repeating: 0, count: 8192)) }
        #expect(try salvage(home).1 == ["two"])
        let opened = try home.open("new", number: 41)
        #expect(opened.records.historyLimit == 2)
        let kept = try opened.records.past.values.joined().map { try opened.openValue(of: $0)?.exposed }
        #expect(Set(kept) == [Array("one".utf8), Array("binned".utf8)])
    }

    @Test func `a transaction that a mark names counts without its last frame's flag`() throws {
        let home = Home("flag")
        _ = try makeVault(home)
        // The chain is broken, and the frame's own box is intact.
        try damage(home) { bytes, frames in bytes[frames[6].lowerBound + 4] = 0 }
        #expect(try salvage(home).1 == Self.current)
    }

    @Test func `a transaction that was never finished is as if it had not been begun`() throws {
        for frame in 7...8 {
            let home = Home("unfinished \(frame)")
            let store = try makeVault(home)
            try store.change { (session: inout WriteSession) throws(StorageError) in
                for _ in 0..<40 { try session.add("more") }
            }
            // No mark names the frame until the handle is closed.
            try withExtendedLifetime(store) {
                try damage(home) { bytes, frames in bytes.removeLast(bytes.count - frames[frame].upperBound) }
            }
            let (salvage, values) = try salvage(home)
            #expect(values == Self.current)
            #expect(salvage.missingFrames == 0)
        }
    }

    @Test func `a transaction whose last frame may have been there counts`() throws {
        let home = Home("may have been there")
        let store = try makeVault(home)
        try store.change { (session: inout WriteSession) throws(StorageError) in
            for _ in 0..<40 { try session.add("more") }
        }
        try withExtendedLifetime(store) {
            try damage(home) { bytes, frames in bytes[frames[9].lowerBound + 100] ^= 1 }
        }
        let (salvage, values) = try salvage(home)
        #expect(values == (Self.current + [String](repeating: "more", count: 32)).sorted())
        #expect(salvage.unreadableBytes > 0)
    }

    @Test func `any damage to the file ends in a vault or an error`() throws {
        let home = Home("any")
        _ = try makeVault(home)
        let good = try home.bytes()
        let random = SeededRandom("damage")
        for _ in 0..<150 {
            var bytes = good
            for _ in 0..<random.number(in: 1...20) {
                bytes[random.number(in: 256...bytes.count - 1)] = UInt8(random.uniform(256))
            }
            if random.chance(20) { bytes.removeLast(random.number(in: 0...bytes.count - 256)) }
            let copy = Home("any", disk: SimulatedDisk())
            copy.disk.put(bytes, as: "v")
            do { _ = try salvage(copy) } catch let error as StorageError {
                switch error {
                case .damaged, .wrongPassphrase, .unsupported: break
                default: Issue.record("\(error)")
                }
            }
        }
    }

    @Test func `a file is not made where one is`() throws {
        let home = Home("exists")
        _ = try makeVault(home)
        home.disk.put([1], as: "new")
        let locked = try home.locked()
        #expect(throws: StorageError.alreadyExists) {
            try locked.salvage(
                with: try locked.unlock(with: Home.secret()), to: home.path("new"), accepts: { _ in true }
            ) { _ in }
        }
        #expect(try home.bytes("new") == [1])
    }
}
