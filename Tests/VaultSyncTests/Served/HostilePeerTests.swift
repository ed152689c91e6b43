// SPDX-License-Identifier: Apache-2.0
import Synchronization
import TestSupport
import Testing
import VaultFormat
import VaultSystem

@testable import VaultSync

/// A device's reaction to a server that violates the protocol.
struct HostilePeerTests {
    typealias Script = @Sendable (FramePipes, inout FrameReader) throws(PipeFailure) -> Void

    private static let log = RecordStream.logs[0]

    /// Returns a store whose server greets, and then runs the script on each connection.
    private static func store(
        patience: Duration = .seconds(30), _ script: @escaping Script
    ) -> ServedRecordStore {
        let link = ServedLink { () throws(RecordStoreError) in
            try ServedPair.connection(patience: patience) { input, output in
                guard
                    let pipes = try? FramePipes(
                        input: input, output: output, patience: .seconds(30))
                else { return }
                var reader = FrameReader(pipes)
                try? pipes.send(ServedFrame.greeting)
                guard (try? reader.readGreeting()) != nil else { return }
                do throws(PipeFailure) {
                    try script(pipes, &reader)
                    // Reads until the device closes the connection.
                    while true { _ = try reader.next(idle: nil) }
                } catch {}
            }
        }
        return ServedRecordStore(link, realm: .of(0xab))
    }

    private static func expectUnreachable(_ body: () throws(RecordStoreError) -> Void) {
        do throws(RecordStoreError) {
            try body()
            Issue.record("nothing was thrown")
        } catch {
            guard case .unreachable = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    private static func record(_ sequence: UInt64, _ id: UInt32, count: Int = 600) -> ServedFrame {
        var content: [UInt8] = []
        content.append(integer: sequence)
        return ServedFrame(ServedFrame.Answer.record, id, content + [UInt8](repeating: 1, count: count))
    }

    private static let answers: [(String, Script)] = [
        ("an end", { _, _ throws(PipeFailure) in throw .ended }),
        ("an answer to nobody", { pipes, _ throws(PipeFailure) in try pipes.send(ServedFrame(.done, 77)) }),
        (
            "an answer that there is not",
            { pipes, reader throws(PipeFailure) in
                try pipes.send(ServedFrame(0x99, try reader.next(idle: nil).id))
            }
        ),
        (
            "a frame that is too long",
            { pipes, _ throws(PipeFailure) in
                try pipes.send([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0x84])
            }
        ),
        (
            "a part of a frame",
            { pipes, _ throws(PipeFailure) in
                try pipes.send([9, 0, 0, 0, 1])
                throw .ended
            }
        ),
        (
            "a hint that was not asked for",
            { pipes, _ throws(PipeFailure) in
                try pipes.send(ServedFrame(.hint, 1, [2]))
            }
        ),
        (
            "an error that there is not",
            { pipes, reader throws(PipeFailure) in
                try pipes.send(ServedFrame(.failed, try reader.next(idle: nil).id, [9, 0, 0, 0, 0]))
            }
        ),
        (
            "a sign of life with something in it",
            { pipes, _ throws(PipeFailure) in
                try pipes.send(ServedFrame(.alive, 0, [1]))
            }
        ),
        (
            "an answer of another kind",
            { pipes, reader throws(PipeFailure) in
                let id = try reader.next(idle: nil).id
                try pipes.send(ServedFrame(ServedFrame.Answer.realms, id, [UInt8](repeating: 1, count: 16)))
            }
        ),
        (
            "an end of another question",
            { pipes, reader throws(PipeFailure) in
                try pipes.send(ServedFrame(.done, try reader.next(idle: nil).id, [3, 3, 3]))
            }
        ),
    ]

    @Test(arguments: answers.indices)
    func `what a server may not say ends the connection, whatever was asked`(index: Int) {
        let script = Self.answers[index].1
        Self.expectUnreachable { () throws(RecordStoreError) in
            _ = try Self.store(patience: .seconds(2), script).heads()
        }
        Self.expectUnreachable { () throws(RecordStoreError) in
            _ = try Self.store(patience: .seconds(2), script).all(Self.log)
        }
        Self.expectUnreachable { () throws(RecordStoreError) in
            _ = try Self.store(patience: .seconds(2), script).record(at: RecordAddress(Self.log, 1))
        }
        Self.expectUnreachable { () throws(RecordStoreError) in
            _ = try Self.store(patience: .seconds(2), script).append([.of(Self.log, 1), .of(Self.log, 2)])
        }
        Self.expectUnreachable { () throws(RecordStoreError) in
            try Self.store(patience: .seconds(2), script).remove(Self.log, below: 3)
        }
        Self.expectUnreachable { () throws(RecordStoreError) in
            _ = try Self.store(patience: .seconds(2), script).watch { _ in }
        }
    }

    private static let wrong: [[(UInt64, Int)]] = [
        [(2, 600), (1, 600)], [(0, 600)], [(1, 63)], [(1, 262_145)], [(.max, 600)],
    ]

    @Test(arguments: wrong)
    func `records that are out of order or bounds are not lent`(records: [(UInt64, Int)]) {
        let store = Self.store { pipes, reader throws(PipeFailure) in
            let id = try reader.next(idle: nil).id
            for (sequence, count) in records { try pipes.send(Self.record(sequence, id, count: count)) }
            try pipes.send(ServedFrame(.done, id, [0]))
        }
        Self.expectUnreachable { () throws(RecordStoreError) in
            try store.read([StreamStart(Self.log, from: 1)]) { _ in Issue.record("a record was lent") }
        }
    }

    @Test func `an answer without end is not kept`() {
        let store = Self.store { pipes, reader throws(PipeFailure) in
            let id = try reader.next(idle: nil).id
            for sequence in UInt64(1)...1_000_000 { try pipes.send(Self.record(sequence, id, count: 200_000)) }
        }
        Self.expectUnreachable { () throws(RecordStoreError) in _ = try store.all(Self.log) }
    }

    @Test func `a server that says that there is more, and shows nothing, is not asked for ever`() {
        let store = Self.store { pipes, reader throws(PipeFailure) in
            while true { try pipes.send(ServedFrame(.done, try reader.next(idle: nil).id, [1])) }
        }
        Self.expectUnreachable { () throws(RecordStoreError) in _ = try store.all(Self.log) }
    }

    @Test func `a server that is silent is given up`() {
        let store = Self.store(patience: .milliseconds(200)) { _, _ throws(PipeFailure) in }
        Self.expectUnreachable { () throws(RecordStoreError) in _ = try store.heads() }
    }

    @Test func `a server that does not listen is given up`() throws {
        let link = ServedLink { () throws(RecordStoreError) in
            try ServedPair.connection(patience: .milliseconds(200)) { input, output in
                guard
                    let pipes = try? FramePipes(
                        input: input, output: output, patience: .seconds(30)),
                    let stop = try? StopPipe()
                else { return }
                // Sends signs of life but no answers, until the device closes its ends.
                do throws(PipeFailure) {
                    try pipes.send(ServedFrame.greeting)
                    while true {
                        try pipes.send(ServedFrame(.alive, 0))
                        do throws(PipeFailure) {
                            try stop.wait(for: stop.ends.reading.number, within: .milliseconds(50))
                        } catch {
                            guard error == .silent else { throw error }
                        }
                    }
                } catch {}
            }
        }
        let store = ServedRecordStore(link, realm: .of(0xab))
        Self.expectUnreachable { () throws(RecordStoreError) in
            _ = try store.append((1...20).map { .of(Self.log, $0, count: 200_000) })
        }
    }

    @Test(arguments: ["Welcome to the server!\n", "VLTSRV\u{2}\u{0}", "", "VLT"])
    func `what does not greet is no server`(greeting: String) {
        let link = ServedLink { () throws(RecordStoreError) in
            try ServedPair.connection(patience: .seconds(30)) { input, output in
                try? FramePipes(input: input, output: output, patience: .seconds(30))
                    .send(Array(greeting.utf8))
            }
        }
        Self.expectUnreachable { () throws(RecordStoreError) in _ = try link.realms() }
    }

    @Test func `a connection that broke is opened again, and the question asked once more`() throws {
        let directory = try TemporaryDirectory()
        let count = Mutex(0)
        let link = ServedLink { () throws(RecordStoreError) in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return try ServedPair.connection(patience: .seconds(30)) { input, output in
                guard number > 1 else {
                    guard
                        let pipes = try? FramePipes(
                            input: input, output: output, patience: .seconds(30))
                    else { return }
                    // Sends one answer, and ends.
                    var reader = FrameReader(pipes)
                    try? pipes.send(ServedFrame.greeting)
                    try? reader.readGreeting()
                    if let question = try? reader.next(idle: nil) { try? pipes.send(ServedFrame(.done, question.id)) }
                    _ = try? reader.next(idle: nil)
                    return
                }
                _ = try? RecordServer(directory.path, .init(), input: input, output: output).run()
            }
        }
        let store = ServedRecordStore(link, realm: .of(0xab))
        #expect(try store.heads().isEmpty)
        #expect(try store.append([.of(Self.log, 1)]) == [.created])
        #expect(try store.all(Self.log) == [.of(Self.log, 1)])
        #expect(count.withLock { $0 } == 2)
    }
}
