// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultFormat
import VaultStorage

@testable import VaultSync

/// The rights of a device at a server, and the server's reaction to violations of the protocol.
struct RecordServerTests {
    private static let log = RecordStream.logs[0]
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func store(_ rules: RecordServer.Rules, realm: RealmID = .of(0xab)) -> ServedRecordStore {
        ServedRecordStore(ServedPair.link(to: directory.path, rules), realm: realm)
    }

    @Test func `a folder that is not there is not made`() throws {
        let link = ServedPair.link(to: directory.path.appending("missing"))
        let store = ServedRecordStore(link, realm: .of(0xab))
        for attempt in [
            { _ = try link.realms() }, { _ = try store.heads() }, { _ = try store.append([.of(Self.log, 1)]) },
        ] {
            do {
                try attempt()
                Issue.record("nothing was thrown")
            } catch let error as RecordStoreError {
                guard case .unreachable(let what) = error else {
                    Issue.record("\(error)")
                    continue
                }
                #expect(what == "there is no 'missing' on the server")
            }
        }
        #expect(try LinuxFileSystem().openDirectory(directory.path).status(of: "missing") == nil)
    }

    @Test func `one that may append alone removes nothing`() throws {
        let store = store(.init(isAppendOnly: true))
        #expect(try store.append([.of(Self.log, 1), .of(Self.log, 2)]) == [.created, .created])
        let attempts: [() throws -> Void] = [
            { try store.remove(Self.log, below: 2) }, { try store.remove(RecordAddress(Self.log, 1)) },
        ]
        for attempt in attempts {
            do {
                try attempt()
                Issue.record("nothing was thrown")
            } catch let error as RecordStoreError { #expect(error.isRefusal) }
        }
        #expect(try store.all(Self.log).count == 2)
    }

    @Test func `one that serves a fleet serves no other, but mailboxes`() throws {
        let rules = RecordServer.Rules(realms: [.of(0xab)])
        for realm in [RealmID.of(0xab), .of(0xcd)] {
            _ = try store(.init(), realm: realm).append([.of(Self.log, 1)])
        }
        #expect(try Set(ServedPair.link(to: directory.path).realms()) == [.of(0xab), .of(0xcd)])
        #expect(try ServedPair.link(to: directory.path, rules).realms() == [.of(0xab)])
        #expect(try store(rules).all(Self.log).count == 1)
        let other = store(rules, realm: .of(0xcd))
        let mailboxes = store(rules, realm: .zero)
        let attempts: [() throws -> Void] = [
            { _ = try other.all(Self.log) }, { _ = try other.append([.of(Self.log, 2)]) }, { _ = try other.heads() },
            { _ = try mailboxes.append([.of(Self.log, 2)]) },
        ]
        for attempt in attempts {
            do {
                try attempt()
                Issue.record("nothing was thrown")
            } catch let error as RecordStoreError { #expect(error.isRefusal) }
        }
        #expect(try mailboxes.append([.of(.mailbox, 1)]) == [.created])
        #expect(try mailboxes.all(.mailbox) == [.of(.mailbox, 1)])
    }

    @Test func `a stream of many pages is read whole, in order`() throws {
        let store = store(.init())
        let records = (UInt64(1)...40).map { StoredRecord.of(Self.log, $0, count: 260_000) }
        #expect(try store.append(records).allSatisfy { $0 == .created })
        #expect(try store.all([StreamStart(Self.log, from: 3), StreamStart(.blob, from: 1)]) == Array(records[2...]))
    }

    // MARK: Hostile devices

    /// - Returns: the server's reason for its end; `nil` if the device has gone.
    private func end(after bytes: [UInt8], isTaken: Bool = true) throws -> String? {
        let (there, back) = (try ServedPair.pipe(), try ServedPair.pipe())
        let pipes = try FramePipes(
            input: back.reading, output: there.writing, patience: .seconds(30))
        let sending = DispatchGroup()
        DispatchQueue(label: "hostile device").async(group: sending) {
            try? pipes.send(bytes)
            close(there.writing)
            var reader = FrameReader(pipes)
            if isTaken, (try? reader.readGreeting()) != nil { while (try? reader.next(idle: nil)) != nil {} }
        }
        let said = try RecordServer(
            directory.path, .init(), input: there.reading, output: back.writing, patience: .milliseconds(500)
        ).run()
        for end in [there.reading, back.writing] { close(end) }
        sending.wait()
        close(back.reading)
        return said
    }

    private static func frame(_ what: UInt8, _ content: [UInt8]) -> [UInt8] {
        ServedFrame.greeting + ServedFrame(what, 1, content).encoded
    }

    private static let realm = [UInt8](repeating: 0xab, count: 16)

    private static let wrong: [[UInt8]] = [
        Array("GET / HTTP/1.1\r\n\r\n".utf8), Array("VLTSRV".utf8) + [2, 0],
        ServedFrame.greeting + [0xff, 0xff, 0xff, 0x7f, 1, 0, 0, 0, 2], frame(0, []), frame(200, []), frame(0x84, []),
        frame(1, [1]), frame(2, []), frame(2, realm + [1]), frame(3, realm), frame(3, realm + [9]),
        frame(3, realm + [1] + realm),
        frame(5, realm + [1] + realm + [1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]),
        frame(6, realm + [4] + realm + [1, 0, 0, 0, 0, 0, 0, 0]), frame(9, [1]),
    ]

    @Test(arguments: wrong)
    func `what a device may not say ends the service`(bytes: [UInt8]) throws {
        #expect(try end(after: bytes) != nil)
        #expect(try LinuxFileSystem().openDirectory(directory.path).names().isEmpty)
    }

    @Test(arguments: [[], ServedFrame.greeting, frame(2, realm)])
    func `a device that goes between two questions is let go`(bytes: [UInt8]) throws {
        #expect(try end(after: bytes) == nil)
    }

    @Test(arguments: [ServedFrame.greeting + [1, 0], Array(frame(2, realm).dropLast())])
    func `a device that goes in the middle of a question leaves a reason`(bytes: [UInt8]) throws {
        #expect(try end(after: bytes)?.contains("a part of a frame") == true)
    }

    @Test func `a device that takes no answers is given up`() throws {
        _ = try DirectoryRecordStore(directory.path, realm: .of(0xab), createsRoot: false)
            .append((1...4).map { .of(Self.log, $0, count: 200_000) })
        var content = Self.realm
        content.append(RecordAddress(Self.log, 1))
        #expect(try end(after: Self.frame(3, content), isTaken: false)?.contains("takes no answer") == true)
    }
}
