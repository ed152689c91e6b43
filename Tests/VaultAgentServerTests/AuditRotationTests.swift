// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultAgent
import VaultStorage

@testable import Vault
@testable import VaultAgentServer

/// A log of several small files.
private struct RotatedLog {
    let directory: TemporaryDirectory
    let vault: Vault
    let files: AuditFiles

    /// Some lines fit.
    static let mostBytes = 2000

    init() throws {
        directory = try TemporaryDirectory()
        vault = try Vault.inMemory()
        files = AuditFiles(directory: directory.path, vaultID: vault.vaultID)
    }

    func open() throws -> AuditLog {
        let log = AuditLog(in: directory.path, mostBytes: Self.mostBytes) { Date() }
        try log.begin(vault)
        return log
    }

    func note(_ count: Int, in log: AuditLog) throws {
        let caller = Caller(process: .own, access: .full, groups: ["*"], purpose: .reveal)
        for _ in 0..<count { try log.note(.lock, by: caller) }
    }

    /// Writes with a log that is closed again.
    func note(_ count: Int) throws { try note(count, in: open()) }

    func check() throws -> (entries: Int, firstChanged: Int?) {
        try AuditLog.check(with: vault, in: directory.path)
    }

    func numbers() throws -> [Int] {
        var numbers: [Int] = []
        try AuditLog.forEachLine(of: vault.vaultID, in: directory.path) { numbers.append(AuditLine($0).number) }
        return numbers
    }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path.string).sorted() }
    }

    /// The number of files, without the head.
    var count: Int { files.all().count }

    func path(_ age: Int) -> String { files.path(files.name(age)) }
}

struct AuditRotationTests {
    @Test func `a log that has grown goes on in a new file, and is one chain`() throws {
        let log = try RotatedLog()
        try log.note(50)
        #expect((3...AuditFiles.mostOlder).contains(log.count))
        #expect(try log.check() == (50, nil))
        #expect(try log.numbers() == Array(1...50))
        try log.note(1)
        #expect(try log.check() == (51, nil))
    }

    @Test func `however long the log, its files have a bound, and the rest is whole`() throws {
        let log = try RotatedLog()
        let writer = try log.open()
        for _ in 0..<20 {
            try log.note(25, in: writer)
            #expect(try log.names.count <= AuditFiles.mostOlder + 2)
            let size = try log.names.reduce(0) { sum, name in
                sum + (try FileManager.default.attributesOfItem(atPath: log.files.path(name))[.size] as? Int ?? 0)
            }
            #expect(size < (AuditFiles.mostOlder + 2) * RotatedLog.mostBytes)
            #expect(try log.check().firstChanged == nil)
        }
        let numbers = try log.numbers()
        #expect(numbers.last == 500 && numbers.count < 100 && numbers == Array((501 - numbers.count)...500))
        #expect(try log.check() == (numbers.count, nil))
    }

    @Test func `an older file that was altered, removed, cut, swapped or put back shows, and goes on to show`() throws {
        let changes: [(String, (RotatedLog) throws -> Void)] = [
            (
                "altered",
                { log in
                    var text = try String(contentsOfFile: log.path(2), encoding: .utf8)
                    text.replace("\"lock\"", with: "\"find\"", maxReplacements: 1)
                    try text.write(toFile: log.path(2), atomically: false, encoding: .utf8)
                }
            ),
            ("removed", { try FileManager.default.removeItem(atPath: $0.path(2)) }),
            ("oldest removed", { try FileManager.default.removeItem(atPath: $0.path(AuditFiles.mostOlder)) }),
            ("newest removed", { try FileManager.default.removeItem(atPath: $0.path(0)) }),
            (
                "cut",
                { log in
                    let text = try String(contentsOfFile: log.path(3), encoding: .utf8)
                    let lines = text.split(separator: "\n").dropLast().map { $0 + "\n" }
                    try lines.joined().write(toFile: log.path(3), atomically: false, encoding: .utf8)
                }
            ),
            (
                "swapped",
                { log in
                    for (from, to) in [(2, 9), (3, 2), (9, 3)] {
                        try FileManager.default.moveItem(atPath: log.path(from), toPath: log.path(to))
                    }
                }
            ),
            (
                "all removed",
                { log in
                    for age in 0...AuditFiles.mostOlder { try FileManager.default.removeItem(atPath: log.path(age)) }
                }
            ),
            ("head removed", { try FileManager.default.removeItem(atPath: $0.files.path($0.files.head)) }),
        ]
        for (what, change) in changes {
            let log = try RotatedLog()
            try log.note(200)
            #expect(try log.check().firstChanged == nil)
            try change(log)
            #expect(try log.check().firstChanged != nil, "\(what)")
            try log.note(2)
            #expect(try log.check().firstChanged != nil, "\(what), after more lines")
        }
    }

    @Test(arguments: [50, 200])
    func `a crash between any two steps of a rotation loses no line and raises no alarm`(lines: Int) throws {
        // The number of steps is known once there is a log.
        for count in 0...AuditFiles.mostOlder + 4 {
            let log = try RotatedLog()
            try log.note(lines)
            let before = try log.numbers()
            let seal = try log.vault.auditSeal()
            let known = try #require(log.files.headBytes.flatMap { AuditHead($0, seal) })
            var dropped: Int?
            for step in log.files.rotation.prefix(count) {
                try log.files.perform(step) { tail throws(Errno) in
                    dropped = tail.number
                    let head = AuditHead(
                        count: known.count, tag: known.tag, dropped: tail.number, base: tail.tag ?? AuditLog.start)
                    let file = try LinuxFileSystem().openDirectory(log.directory.path).open(
                        log.files.head, writable: true)
                    _ = try file.write(head.sealed(seal).span, at: 0)
                }
            }
            let rest = before.filter { $0 > dropped ?? 0 }
            #expect(try log.numbers() == rest, "\(count)")
            #expect(try log.check() == (rest.count, nil), "\(count)")
            try log.note(30)
            let numbers = try log.numbers()
            #expect(numbers.last == lines + 30 && numbers == Array((numbers.first ?? 0)...(lines + 30)), "\(count)")
            #expect(try log.check() == (numbers.count, nil), "\(count)")
            #expect(log.count <= AuditFiles.mostOlder + 1)
        }
    }

    @Test func `ten that take turns to write continue one chain, and a check meanwhile finds it whole`() throws {
        let log = try RotatedLog()
        try log.note(1)
        let isOver = Mutex(false)
        let checker = Worker { () throws -> Void in
            while !isOver.withLock(\.self) {
                let firstChanged = try log.check().firstChanged
                #expect(firstChanged == nil)
            }
        }
        let writers = (0..<10).map { _ in
            Worker { () throws -> Void in
                var turns = 0
                while turns < 10 {
                    do {
                        try log.note(3)
                        turns += 1
                    } catch VaultError.storage(.inputOutput(.resourceBusy, .log)) { sched_yield() }
                }
            }
        }
        for writer in writers { try writer.value() }
        isOver.withLock { $0 = true }
        try checker.value()
        #expect(try log.numbers().last == 301)
        #expect(try log.check().firstChanged == nil)
    }

    @Test func `a log from before files had a size is continued in a new file, and kept whole`() throws {
        let log = try RotatedLog()
        do {
            let long = AuditLog(in: log.directory.path) { Date() }
            try long.begin(log.vault)
            try log.note(100, in: long)
        }
        #expect(log.count == 1)
        try log.note(1)
        #expect(log.count == 2)
        #expect(try log.check() == (101, nil))
    }

    @Test func `a log whose keys have changed is set aside with all its files`() throws {
        let log = try RotatedLog()
        try log.note(50)
        let count = try log.names.count
        let aside = AuditLog.setAside(of: log.vault.vaultID, in: log.directory.path, generation: 7)
        #expect(aside?.string == log.path(0) + ".before-7")
        #expect(try log.names.allSatisfy { $0.contains(".before-7") } && log.names.count == count)
        #expect(!AuditLog.exists(of: log.vault.vaultID, in: log.directory.path))
    }

    @Test func `a line that is longer than any is malformed, and takes no memory`() throws {
        let log = try RotatedLog()
        try log.note(3)
        let size = AuditLine.longest + (1 << 20)
        #expect(truncate(log.path(0), off_t(size)) == 0)
        let file = try FileHandle(forWritingTo: URL(filePath: log.path(0)))
        try file.seekToEnd()
        try file.write(contentsOf: Data("\n".utf8))
        #expect(try log.check() == (4, 4))
        try log.note(1)
        #expect(try log.check() == (5, 4))
    }
}
