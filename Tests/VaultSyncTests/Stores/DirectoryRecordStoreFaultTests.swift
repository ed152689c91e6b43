// SPDX-License-Identifier: Apache-2.0
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultFormat
import VaultStorage

@testable import VaultSync

/// Failing disks, full disks and power cuts under a folder of records.
struct DirectoryRecordStoreFaultTests {
    private static let log = RecordStream.logs[0]
    private static let acknowledged: [StoredRecord] = [.of(.roster, 1), .of(log, 1), .of(log, 2, count: 1400)]
    /// A batch with a value's parts before the entry that names them.
    private static let batch: [StoredRecord] = [
        .of(.blob, 1, count: 1400), .of(.blob, 2), .of(log, 3), .of(log, 4, count: 1400), .of(.logs[1], 1),
    ]

    private static func store(on disk: SimulatedDisk) -> DirectoryRecordStore {
        DirectoryRecordStore(disk.root, realm: .of(0xab), createsRoot: false, on: disk)
    }

    private static func everything(on disk: SimulatedDisk) throws -> [StoredRecord] {
        let store = store(on: disk)
        return try store.all(store.streams().map { StreamStart($0, from: 1) })
    }

    /// Judges the modifying steps, from the step with that number.
    private static func judge(
        _ disk: SimulatedDisk, from number: Int, only wanted: SimulatedDisk.Step? = nil, _ fate: SimulatedDisk.Fate
    ) {
        let count = Mutex(0)
        disk.judge.withLock { judge in
            judge = { step in
                guard step != .read, wanted == nil || step == wanted else { return .done }
                return count.withLock { count in
                    count += 1
                    return count >= number ? fate : .done
                }
            }
        }
    }

    @Test func `a record that cannot be read is an error, not a hole`() throws {
        let disk = SimulatedDisk()
        _ = try Self.store(on: disk).append(Self.acknowledged)
        disk.judge.withLock { $0 = { $0 == .read ? .fails(.ioError) : .done } }
        let log = String(repeating: "01", count: 16)
        let path = disk.root.appending("vlt1").appending(String(repeating: "ab", count: 16)).appending("1")
            .appending(log).appending("0000000000000001").string
        #expect(throws: RecordStoreError.inputOutput(.ioError, path)) { try Self.store(on: disk).all(Self.log) }
        #expect(throws: RecordStoreError.inputOutput(.ioError, path)) {
            try Self.store(on: disk).append([.of(Self.log, 1)])
        }
        #expect(try Self.store(on: disk).heads().map(\.last) == [1, 2])
    }

    @Test(arguments: [SimulatedDisk.Step.write, .create, .fileSync, .install, .directorySync], [false, true])
    func `what fails in the middle of a batch leaves whole records and no litter`(
        step: SimulatedDisk.Step, namesTemporaries: Bool
    ) throws {
        let errno = step == .write || step == .create ? Errno.noSpace : .ioError
        var (failures, isDone) = (0, false)
        while !isDone {
            let disk = SimulatedDisk(namesTemporaries: namesTemporaries)
            let store = Self.store(on: disk)
            _ = try store.append(Self.acknowledged)
            Self.judge(disk, from: failures + 1, only: step, .fails(errno))
            do throws(RecordStoreError) {
                _ = try store.append(Self.batch)
                isDone = true
            } catch {
                guard case .inputOutput(errno, _) = error else { throw error }
                failures += 1
            }
            disk.judge.withLock { $0 = nil }
            let found = try Self.everything(on: disk)
            #expect(found.allSatisfy { (Self.acknowledged + Self.batch).contains($0) })
            #expect(Self.acknowledged.allSatisfy { found.contains($0) })
            for stream in try store.streams() {
                #expect(try Self.folder(of: stream, on: disk).names().allSatisfy { !$0.hasPrefix(".") })
            }
            #expect(try store.append(Self.batch).allSatisfy { $0 != .differs })
            #expect(try Self.everything(on: disk).count == Self.acknowledged.count + Self.batch.count)
        }
        #expect(failures >= 3)
    }

    private static func folder(of stream: RecordStream, on disk: SimulatedDisk) throws -> any VaultDirectory {
        var folder = try disk.openDirectory(disk.root)
        for component in store(on: disk).components(of: stream) { folder = try folder.directory(component) }
        return folder
    }

    // MARK: Crashes

    private struct Violation: Error, CustomStringConvertible { let description: String }

    /// - Parameter acknowledged: The records that must be present. Those of the batch may be, one stream after the
    ///   other.
    private static func check(_ disk: SimulatedDisk, _ acknowledged: [StoredRecord], _ when: String) throws {
        let found = try everything(on: disk)
        guard found.allSatisfy({ (acknowledged + batch).contains($0) }) else {
            throw Violation(description: "a record is half there \(when)")
        }
        guard acknowledged.allSatisfy(found.contains) else {
            throw Violation(description: "an acknowledged record is lost \(when)")
        }
        let streams: [RecordStream] = [.blob, log, .logs[1]]
        let shares = streams.map { stream in
            let wanted = batch.filter { $0.address.stream == stream }
            return (wanted.count, wanted.count(where: found.contains))
        }
        for (before, after) in zip(shares, shares.dropFirst()) where after.1 > 0 && before.1 < before.0 {
            throw Violation(description: "a record outlasted what was stored before it \(when)")
        }
    }

    /// Kills a writer before each of its steps and cuts the power; returns the number of states.
    private static func crash(lies: Set<SimulatedDisk.Step> = [], namesTemporaries: Bool) throws -> Int {
        let random = SeededRandom("crash")
        var (number, states, isDone) = (0, 0, false)
        while !isDone {
            number += 1
            let disk = SimulatedDisk(namesTemporaries: namesTemporaries)
            disk.lie(about: lies)
            let writer = store(on: disk)
            guard try writer.append(acknowledged).allSatisfy({ $0 == .created }) else {
                throw Violation(description: "a new disk is not empty")
            }
            judge(disk, from: number, .killed)
            do throws(RecordStoreError) {
                _ = try writer.append(batch)
                isDone = true
            } catch { guard disk.isDead else { throw error } }
            for remains in disk.powerCuts(atMost: 64, else: 12, random) {
                states += 1
                try check(remains, acknowledged, "after a power cut before step \(number)")
                guard try store(on: remains).append(batch).allSatisfy({ $0 != .differs }) else {
                    throw Violation(description: "what was left is in the way")
                }
                try check(remains.afterPowerCut(random), acknowledged + batch, "after a second power cut")
            }
            // Another process, which knows nothing of un-synced changes.
            disk.judge.withLock { $0 = nil }
            disk.bury()
            _ = try store(on: disk).append(batch)
            for remains in disk.powerCuts(atMost: 64, else: 12, random) {
                states += 1
                try check(remains, acknowledged + batch, "after a kill before step \(number) and a power cut")
            }
        }
        return states
    }

    @Test(arguments: [false, true])
    func `after every crash what was acknowledged is there, and the rest is whole or absent`(
        namesTemporaries: Bool
    ) throws {
        #expect(try Self.crash(namesTemporaries: namesTemporaries) > 200)
    }

    @Test func `a record that another program put there is durable once it is said to be the same`() throws {
        let random = SeededRandom("copied")
        let disk = SimulatedDisk()
        _ = try Self.store(on: disk).append([.of(Self.log, 1)])
        let copied = StoredRecord.of(Self.log, 2, count: 1400)
        try Self.folder(of: Self.log, on: disk).openOrCreate("0000000000000002").writeAll(copied.bytes.span, at: 0)
        #expect(disk.hasUnsyncedState)
        #expect(try Self.store(on: disk).append([copied]) == [.same])
        for _ in 0..<20 {
            #expect(try Self.everything(on: disk.afterPowerCut(random)) == [.of(Self.log, 1), copied])
        }
    }

    /// Controls: these disks break the promise.
    @Test(arguments: [SimulatedDisk.Step.fileSync, .directorySync], [false, true])
    func `a disk that lies about a sync is found out`(step: SimulatedDisk.Step, namesTemporaries: Bool) {
        #expect(throws: Violation.self) { try Self.crash(lies: [step], namesTemporaries: namesTemporaries) }
    }
}
