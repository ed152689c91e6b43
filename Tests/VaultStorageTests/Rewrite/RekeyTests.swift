// SPDX-License-Identifier: Apache-2.0
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultStorage

/// A new vault key and the other changes that rewrite the whole file: killed and failing at every step.
struct RekeyTests {
    private static let values = ["bound", "one", "two"]

    private func makeVault(_ home: Home) throws -> VaultStore {
        let store = try home.create()
        try store.keepHistory(2)
        try store.put("one before")
        try store.put(
            "one", at: store.records.place(of: try #require(store.records.sorted.last { $0.itemClass != nil }).id),
            keepingOld: true)
        try store.put("two", protection: .afterFirstUnlock)
        try store.put("bound", protection: .whenUnlockedThisDeviceOnly)
        try store.addSlot(for: .recoveryCode(RecoveryCode(SeededRandom("code"))))
        try store.settleMarks()
        return store
    }

    private func entries(_ text: String = "new") throws -> [SlotEntry] {
        [SlotEntry(try Home.secret(text), name: "passphrase", cost: .weakest)]
    }

    @Test func `everything opens with the new secret, and nothing with an old one`() throws {
        let home = Home("rekey")
        let store = try makeVault(home)
        let before = try home.bytes()
        let past = store.records.past.values.joined().map { $0.value?.tag.span.array }
        var heard: [Double] = []
        let done = try store.rekey(entries()) { heard.append($0) }
        #expect(done == Rekeyed(values: 4, foreign: 0))
        #expect(heard == heard.sorted() && heard.last == 1)
        #expect(try Home.values(of: store) == Self.values)
        let after = try home.open(with: Home.secret("new"), number: 3)
        #expect(try Home.values(of: after) == Self.values)
        let versions = after.records.past.values.joined()
        #expect(try versions.map { try after.openValue(of: $0)?.exposed } == [Array("one before".utf8)])
        #expect(versions.map { $0.value?.tag.span.array } != past)
        #expect(throws: StorageError.wrongPassphrase) { try home.open() }
        #expect(throws: StorageError.noMatchingSlot) {
            try home.open(with: .recoveryCode(RecoveryCode(SeededRandom("code"))))
        }
        // The file contains no earlier box.
        let bytes = try home.bytes()
        for operation in store.records.sorted where operation.value != nil {
            guard let value = operation.value else { continue }
            let box = Array(bytes[Int(value.offset)..<Int(value.offset) + Int(value.length)])
            #expect(!contains(before, box))
        }
        #expect(try after.verify(deep: true).opened == 4)
        // The old file still opens with the old passphrase, on a device that has not seen the new file.
        let elsewhere = Home("copy")
        elsewhere.disk.put(before, as: "v")
        #expect(try Home.values(of: elsewhere.open()) == ["one", "two"])
    }

    @Test func `items of other devices go, and are counted`() throws {
        let home = Home("device")
        _ = try makeVault(home)
        let other = Home("other device")
        other.disk.put(try home.bytes(), as: "v")
        let store = try other.open()
        #expect(try store.rekey(entries()) { _ in } == Rekeyed(values: 3, foreign: 1))
        #expect(try Home.values(of: other.open(with: Home.secret("new"), number: 3)) == ["one", "two"])
    }

    @Test func `without a place for the secret of this device nothing is taken for another's`() throws {
        let home = Home("nowhere")
        _ = try makeVault(home)
        let before = try home.bytes()
        var environment = home.environment(3)
        environment.stateDirectory = nil
        let locked = try LockedStore(home.path(), environment: environment)
        let store = try locked.open(with: try locked.unlock(with: Home.secret()))
        #expect(throws: StorageError.noStateDirectory) { try store.rekey(entries()) { _ in } }
        #expect(try home.bytes() == before && home.isTidy)
    }

    @Test func `a passphrase that another process has set meanwhile is not undone`() throws {
        let home = Home("meanwhile")
        let store = try makeVault(home)
        let other = try home.open(number: 2)
        try other.replaceSlot(other.header.slots[0].slotID, with: Home.secret("theirs"))
        #expect(throws: StorageError.slot(.changed)) { try store.rekey(entries()) { _ in } }
        #expect(try Home.values(of: home.open(with: Home.secret("theirs"), number: 4)) == Self.values)
    }

    @Test func `a vault that nobody could open is not made`() throws {
        let home = Home("people")
        let store = try makeVault(home)
        let keyFile = try KeyFile(SecretBytes(zeroed: 64))
        #expect(throws: StorageError.slot(.lastForPeople)) {
            try store.rekey([SlotEntry(.keyFile(keyFile), name: "k")]) { _ in }
        }
        #expect(throws: StorageError.slot(.lastForPeople)) { try store.rekey([]) { _ in } }
        #expect(try Home.values(of: home.open()) == Self.values)
    }

    @Test func `a value that does not open stops it, and the file is as it was`() throws {
        let home = Home("damage")
        let store = try makeVault(home)
        let value = try #require(store.records.sorted.last { $0.value != nil }?.value)
        var bytes = try home.bytes()
        bytes[Int(value.offset) + 60] ^= 1
        home.disk.put(bytes, as: "v")
        let damaged = try home.open(number: 3)
        #expect(throws: StorageError.self) { try damaged.rekey(entries()) { _ in } }
        #expect(try home.bytes() == bytes && home.isTidy)
    }

    @Test func `another process has to open the vault again`() throws {
        let home = Home("others")
        let store = try makeVault(home)
        let other = try home.open(number: 2)
        _ = try store.rekey(entries()) { _ in }
        #expect(throws: StorageError.rekeyed) { try other.refresh() }
    }

    enum Change: String, CaseIterable, Sendable {
        case rekey, addSlot, removeSlot, purge, accept, backUp, restore
    }

    enum Fault: Sendable, CaseIterable { case killed, full, broken }

    /// After an interruption at any step, the file opens with the old secret or with the new one, and is complete.
    @Test(arguments: Change.allCases, Fault.allCases)
    func `what is stopped in the middle has happened, or has not`(change: Change, fault: Fault) throws {
        var number = 0
        while try stops(change, fault, at: number) { number += 1 }
        #expect(number >= 8, "\(number) steps")
    }

    private func stops(_ change: Change, _ fault: Fault, at number: Int) throws -> Bool {
        let home = Home("\(change) \(fault) \(number)")
        let store = try makeVault(home)
        if change == .restore || change == .backUp { _ = try store.backUp(to: home.path("b"), replacing: false) }
        let before = try home.bytes()
        let backup = try? home.bytes("b")
        let counter = Mutex(0)
        home.disk.judge.withLock { judge in
            judge = { _ in
                let count = counter.withLock { count in
                    defer { count += 1 }
                    return count
                }
                guard count == number else { return .done }
                switch fault {
                case .killed: return .killed
                case .full: return .fails(.noSpace)
                case .broken: return .fails(.ioError)
                }
            }
        }
        var failure: (any Error)?
        do { try perform(change, store, home) } catch { failure = error }
        home.disk.judge.withLock { $0 = nil }
        let isThrough = counter.withLock { $0 } <= number
        home.disk.bury()
        for remains in [home.disk, home.disk.afterPowerCut(SeededRandom("\(change) \(number)"))] {
            try check(
                Home("look \(change) \(fault) \(number)", disk: remains), change, before, backup, failure,
                "\(change) \(fault) step \(number)")
        }
        return !isThrough
    }

    private func check(
        _ home: Home, _ change: Change, _ before: [UInt8], _ backup: [UInt8]?, _ failure: (any Error)?, _ place: Comment
    ) throws {
        let isNew = try home.locked().header.slots != Header(parsing: before.span).slots
        let store = try home.open(with: change == .rekey && isNew ? Home.secret("new") : Home.secret(), number: 9)
        #expect(try Home.values(of: store) == Self.values, place)
        #expect(try store.verify(deep: true).opened == 3 + store.records.past.values.joined().count, place)
        if failure == nil, change == .rekey { #expect(isNew, place) }
        if change == .backUp {
            // The old copy, or the new copy.
            let copy = try LockedStore(home.path("b"), environment: home.environment(10))
            #expect(try Home.values(of: copy.openAsBackup(with: Home.secret())) == Self.values, place)
            if failure != nil, case .inputOutput = failure as? StorageError {
                #expect(try home.bytes("b") == backup, place)
            }
        }
        try store.put("next")
        #expect(try Home.values(of: store) == Self.values.dropLast(2) + ["next"] + Self.values.suffix(2), place)
    }

    private func perform(_ change: Change, _ store: VaultStore, _ home: Home) throws {
        switch change {
        case .rekey: _ = try store.rekey(entries()) { _ in }
        case .addSlot: try store.addSlot(for: .keyFile(KeyFile(SecretBytes(zeroed: 64))))
        case .removeSlot: try store.removeSlot(store.header.slots[1].slotID)
        case .purge: try store.purge { .init(histories: Set(store.records.past.keys)) }
        case .accept: try store.acceptAsNewest()
        case .backUp: _ = try store.backUp(to: home.path("b"), replacing: true)
        case .restore:
            let backup = try LockedStore(home.path("b"), environment: home.environment(11)).openAsBackup(
                with: Home.secret())
            _ = try VaultStore.restore(
                backup, to: home.path(), replacing: true, environment: home.environment(12), accepts: { _ in true }
            ) { _ in }
        }
    }
}

private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    guard let first = part.first else { return true }
    return bytes.indices.dropLast(part.count - 1).contains {
        bytes[$0] == first && bytes[$0..<$0 + part.count].elementsEqual(part)
    }
}

extension Span<UInt8> {
    fileprivate var array: [UInt8] { array(indices) }
}
