// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Synchronization
import TestSupport
import Testing
import VaultFormat

@testable import VaultSync

/// The promises of every store.
struct RecordStoreTests {
    private static let log = RecordStream.logs[0]

    private static func records(_ sequences: [UInt64], of stream: RecordStream = log) -> [StoredRecord] {
        sequences.map { .of(stream, $0) }
    }

    @Test(arguments: StoreKind.allCases)
    func `a record out of bounds is refused with its whole batch`(kind: StoreKind) throws {
        let store = try kind.place().open()
        for stream in [RecordStream.roster, Self.log, .blob, .mailbox] {
            let limit = stream.kind.limit
            let wrong: [StoredRecord] = [
                .of(stream, 0), .of(stream, 1 << 63),
                StoredRecord(RecordAddress(stream, 2), [UInt8](repeating: 1, count: 63)),
                .of(stream, 2, count: limit + 1),
            ]
            for record in wrong {
                do throws(RecordStoreError) {
                    _ = try store.append([.of(stream, 1), record])
                    Issue.record("nothing was thrown")
                } catch {
                    guard case .invalid = error else {
                        Issue.record("\(error)")
                        continue
                    }
                }
            }
            #expect(try store.all(stream).isEmpty)
            let longest = [StoredRecord.of(stream, 1, count: 64), .of(stream, 1 << 63 - 1, count: limit)]
            #expect(try store.append(longest) == [.created, .created])
            #expect(try store.all(stream) == longest)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an address keeps its first record`(kind: StoreKind) throws {
        let store = try kind.place().open()
        let record = StoredRecord.of(Self.log, 1)
        #expect(try store.append([record]) == [.created])
        #expect(try store.append([.of(Self.log, 1, "other")]) == [.differs])
        #expect(try store.append([.of(Self.log, 1, count: 601)]) == [.differs])
        #expect(try store.append([record]) == [.same])
        #expect(try store.append([record, record]) == [.same, .same])
        #expect(try store.all(Self.log) == [record])
    }

    @Test(arguments: StoreKind.allCases)
    func `after one that differs nothing of a batch is stored`(kind: StoreKind) throws {
        let store = try kind.place().open()
        _ = try store.append([.of(Self.log, 2)])
        let batch: [StoredRecord] = [
            .of(Self.log, 1), .of(Self.log, 2), .of(.blob, 1), .of(Self.log, 2, "other"), .of(Self.log, 3),
            .of(.roster, 1),
        ]
        #expect(try store.append(batch) == [.created, .same, .created, .differs])
        #expect(try store.all(Self.log) == Self.records([1, 2]))
        #expect(try store.all(.blob).count == 1 && store.all(.roster).isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `an empty store has nothing to read, to name or to remove`(kind: StoreKind) throws {
        let store = try kind.place().open()
        #expect(try store.heads().isEmpty && store.all(Self.log).isEmpty && store.append([]).isEmpty)
        try store.remove(Self.log, below: 5)
    }

    @Test(arguments: StoreKind.allCases)
    func `records come in the order of their numbers, stream by stream as they are asked for`(kind: StoreKind) throws {
        let store = try kind.place().open()
        let (first, second) = (RecordStream.logs[0], RecordStream.logs[1])
        let sequences: [UInt64] = [300, 2, 0x1_0000_0000, 1, 16, 9, 10]
        #expect(try store.append(Self.records(sequences, of: first)).allSatisfy { $0 == .created })
        _ = try store.append(Self.records([2, 1], of: second))
        #expect(try store.all(first) == Self.records(sequences.sorted(), of: first))
        let starts = [
            StreamStart(second, from: 2), StreamStart(.blob, from: 1), StreamStart(first, from: 10),
            StreamStart(.roster, from: 1),
        ]
        #expect(
            try store.all(starts)
                == Self.records([2], of: second) + Self.records([10, 16, 300, 0x1_0000_0000], of: first))
        #expect(try store.all(first, from: 0x1_0000_0001).isEmpty && store.all(first, from: .max).isEmpty)
    }

    @Test(arguments: StoreKind.allCases)
    func `what is stored behind the last record while it is read is read as well`(kind: StoreKind) throws {
        let store = try kind.place().open()
        _ = try store.append(Self.records([1, 2]))
        var seen: [UInt64] = []
        try store.read([StreamStart(Self.log, from: 1)]) { record throws(RecordStoreError) in
            seen.append(record.address.sequence)
            if let last = seen.last, last < 6 { _ = try store.append(Self.records([last + 2])) }
        }
        #expect(seen == [1, 2, 3, 4, 5, 6, 7])
    }

    @Test(arguments: StoreKind.allCases)
    func `reading ends with the error of who reads`(kind: StoreKind) throws {
        let store = try kind.place().open()
        _ = try store.append(Self.records([1, 2]))
        #expect(throws: RecordStoreError.invalid("enough")) {
            try store.read([StreamStart(Self.log, from: 1)]) { _ throws(RecordStoreError) in throw .invalid("enough") }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `heads tell the first, the last and how many there are of all streams but mailboxes`(kind: StoreKind) throws {
        let store = try kind.place().open()
        for stream in [RecordStream.mailbox, .blob, .logs[1], .roster] {
            _ = try store.append(Self.records([1, 2], of: stream))
        }
        _ = try store.append(Self.records([7, 4, 9], of: .logs[0]))
        #expect(
            try store.heads() == [
                StreamHead(.roster, first: 1, last: 2, count: 2), StreamHead(.logs[0], first: 4, last: 9, count: 3),
                StreamHead(.logs[1], first: 1, last: 2, count: 2), StreamHead(.blob, first: 1, last: 2, count: 2),
            ])
    }

    @Test(arguments: StoreKind.allCases)
    func `what lies below a number goes, of that stream alone`(kind: StoreKind) throws {
        let store = try kind.place().open()
        _ = try store.append(Self.records([1, 2, 3, 5, 6]) + Self.records([1], of: .logs[1]))
        try store.remove(Self.log, below: 5)
        try store.remove(Self.log, below: 2)
        #expect(try store.all(Self.log) == Self.records([5, 6]))
        #expect(try store.heads().map(\.first) == [5, 1])
        try store.remove(Self.log, below: .max)
        #expect(try store.heads().map(\.stream) == [.logs[1]])
        #expect(try store.append(Self.records([1])) == [.created])
    }

    @Test(arguments: StoreKind.allCases)
    func `who opens the place again finds everything`(kind: StoreKind) throws {
        let place = try kind.place()
        let records = [RecordStream.roster, Self.log, .blob, .mailbox].map { StoredRecord.of($0, 1) }
        #expect(try place.open().append(records).allSatisfy { $0 == .created })
        let again = try place.open()
        for record in records { #expect(try again.all(record.address.stream) == [record]) }
        #expect(try again.append(records).allSatisfy { $0 == .same })
        #expect(try again.heads().count == 3)
    }

    @Test(arguments: StoreKind.allCases.filter(\.tells))
    func `a hint may end its own watch, and is the last one`(kind: StoreKind) throws {
        let store = try kind.place().open()
        _ = try store.append(Self.records([1]))
        let ended = DispatchSemaphore(value: 0)
        let kept = KeptWatch()
        let watch = try #require(
            try store.watch { _ in
                guard let watch = kept.take() else { return }
                watch.end()
                ended.signal()
            })
        kept.put(watch)
        _ = try store.append(Self.records([2]))
        #expect(ended.wait(timeout: Patience.deadline) == .success)
        kept.put(watch)
        _ = try store.append(Self.records([3]))
        watch.end()
        #expect(kept.count == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `of writers at one address at once exactly one has created its record`(kind: StoreKind) async throws {
        let place = try kind.place()
        for sequence in UInt64(1)...20 {
            let results = try await withThrowingTaskGroup(of: (Int, [Appended]).self) { group in
                for writer in 0..<4 {
                    group.addTask { (writer, try place.open().append([.of(Self.log, sequence, "by \(writer)")])) }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            let winners = results.filter { $0.value == [.created] }
            #expect(winners.count == 1 && results.values.count { $0 == [.differs] } == 3)
            let winner = try #require(winners.first?.key)
            #expect(try place.open().all(Self.log, from: sequence) == [.of(Self.log, sequence, "by \(winner)")])
        }
    }
}

/// A watch that its own hint can find and take.
private final class KeptWatch: Sendable {
    private let state = Mutex<(watch: (any RecordWatch)?, count: Int)>((nil, 0))

    /// The number of times that a watch was taken.
    var count: Int { state.withLock { $0.count } }

    func put(_ watch: any RecordWatch) { state.withLock { $0.watch = watch } }

    func take() -> (any RecordWatch)? {
        state.withLock { state in
            guard let watch = state.watch else { return nil }
            state = (nil, state.count + 1)
            return watch
        }
    }
}
