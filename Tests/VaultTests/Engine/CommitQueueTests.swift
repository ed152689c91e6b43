// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import Vault

/// Queued work is carried out once, in order, by one thread at a time, and its submitter learns of the result.
struct CommitQueueTests {
    /// The batches that the leaders carried out.
    private final class Record: Sendable {
        let batches = Mutex<[[Int]]>([])
        let leaders = Atomic(0)
        let mostLeaders = Atomic(0)

        func carryOut(_ batch: [Int]) {
            let now = leaders.add(1, ordering: .sequentiallyConsistent).newValue
            mostLeaders.max(now, ordering: .sequentiallyConsistent)
            batches.withLock { $0.append(batch) }
            leaders.subtract(1, ordering: .sequentiallyConsistent)
        }
    }

    @Test func `a change that comes alone is carried out alone, by its own thread`() {
        let (queue, record) = (CommitQueue<Int>(), Record())
        for number in 0..<5 { queue.run(number) { record.carryOut($0) } }
        #expect(record.batches.withLock { $0 } == [[0], [1], [2], [3], [4]])
    }

    @Test
    func `of many threads each change is carried out once, each thread's in order, and nobody leads beside another`()
        throws
    {
        let (queue, record) = (CommitQueue<Int>(), Record())
        let (threads, each) = (16, 200)
        let workers = (0..<threads).map { thread in
            Worker<Bool> {
                var isDone = true
                for number in 0..<each {
                    queue.run(thread * each + number) { record.carryOut($0) }
                    // A returning thread knows that its work was done.
                    let own = thread * each + number
                    isDone = isDone && record.batches.withLock { $0.contains { $0.contains(own) } }
                }
                return isDone
            }
        }
        for worker in workers { #expect(try worker.value()) }
        let all = record.batches.withLock { $0 }.flatMap { $0 }
        #expect(all.sorted() == Array(0..<threads * each))
        for thread in 0..<threads {
            let own = all.filter { $0 / each == thread }
            #expect(own == own.sorted())
        }
        #expect(record.mostLeaders.load(ordering: .relaxed) == 1)
    }

    @Test func `what comes while a batch is carried out is the next batch, whole`() throws {
        let (queue, record) = (CommitQueue<Int>(), Record())
        let (isLeading, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let first = Worker<Void> {
            queue.run(0) { batch in
                isLeading.signal()
                mayGoOn.wait()
                record.carryOut(batch)
            }
        }
        isLeading.wait()
        let others = (1...8).map { number in Worker<Void> { queue.run(number) { record.carryOut($0) } } }
        // The others are in the queue, and none of them leads.
        Patience.look { queue.waitingCount == others.count }
        #expect(queue.waitingCount == others.count)
        #expect(record.batches.withLock { $0 }.isEmpty)
        mayGoOn.signal()
        for worker in [first] + others { try worker.value() }
        let batches = record.batches.withLock { $0 }
        #expect(batches.count == 2 && batches[0] == [0] && batches[1].sorted() == Array(1...8))
    }

    @Test func `a change is let go before its thread goes on`() throws {
        final class Change: Sendable {}
        let queue = CommitQueue<Change>()
        for _ in 0..<100 {
            let workers = (0..<4).map { _ in
                Worker<Bool> {
                    weak var seen: Change?
                    do {
                        let change = Change()
                        seen = change
                        queue.run(change) { _ in }
                    }
                    return seen == nil
                }
            }
            for worker in workers { #expect(try worker.value()) }
        }
    }

    @Test func `who has an object knows it, looks at it without waiting for itself, and keeps others out`() throws {
        final class Counter { var value = 0 }
        let counter = Guarded(Counter())
        #expect(!counter.isHeldHere)
        counter.withLock { held in
            held.value += 1
            #expect(counter.isHeldHere && counter.look { $0.value } == 1)
            let other = Worker<Bool> { counter.isHeldHere || counter.withLockIfAvailable { _ in true } != nil }
            #expect((try? other.value()) == false)
        }
        let workers = (0..<8).map { _ in Worker<Void> { for _ in 0..<1000 { counter.withLock { $0.value += 1 } } } }
        for worker in workers { try worker.value() }
        #expect(counter.look { $0.value } == 8001)
    }
}
