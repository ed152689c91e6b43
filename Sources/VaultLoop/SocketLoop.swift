// SPDX-License-Identifier: Apache-2.0
internal import CLinux
package import Dispatch
internal import Glibc
internal import Synchronization
internal import VaultSystem

/// Runs an actor on one thread, which waits for descriptors and for jobs at once: with a dispatch queue and event
/// sources each message changes threads, which costs more than answering it.
package final class SocketLoop: SerialExecutor {
    private struct Waiting {
        var jobs: [Job] = []
        var isAwake = true
        var isEnded = false
    }

    private enum Job {
        case of(UnownedJob)
        case closure(@Sendable () -> Void)
    }

    /// The events of a descriptor, as poll(2) has them.
    package struct Events: OptionSet, Sendable {
        package let rawValue: Int16

        package init(rawValue: Int16) { self.rawValue = rawValue }

        package static let reading = Events(rawValue: Int16(POLLIN))
        package static let writing = Events(rawValue: Int16(POLLOUT))
        /// The peer has closed its end. Error conditions count as this event too.
        package static let end = Events(rawValue: SocketLoop.hangUp)
    }

    /// POLLRDHUP, a GNU extension.
    private static let hangUp: Int16 = 0x2000

    /// The events for which the thread waits besides jobs.
    package struct Wait {
        package var descriptors: [(descriptor: Int32, events: Events)]
        /// The timeout; `nil` for none.
        package var patience: Duration?

        package init(_ descriptors: [(descriptor: Int32, events: Events)] = [], patience: Duration? = nil) {
            (self.descriptors, self.patience) = (descriptors, patience)
        }

        /// Waits for jobs only.
        package static let none = Wait()
        /// Work remains, and only jobs that are already waiting come before it.
        package static let more = Wait(patience: .zero)
    }

    /// The queue whose thread runs the loop.
    package let queue: DispatchQueue
    private let waiting = Mutex(Waiting())
    private let bell: DescriptorPair
    private let ended = DispatchGroup()

    /// Fails if no descriptors are available: without them the thread could not be woken.
    package init?(label: String) {
        guard let bell = try? DescriptorPair() else { return nil }
        self.bell = bell
        queue = DispatchQueue(label: label)
    }

    package func enqueue(_ job: consuming ExecutorJob) { add(.of(UnownedJob(job))) }

    /// Runs a closure on the loop's thread, in order with the other jobs.
    package func execute(_ body: @escaping @Sendable () -> Void) { add(.closure(body)) }

    private func add(_ job: Job) {
        let sleeps = waiting.withLock { waiting in
            waiting.jobs.append(job)
            defer { waiting.isAwake = true }
            return !waiting.isAwake
        }
        if sleeps { wake() }
    }

    package func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }

    private func wake() {
        var byte: UInt8 = 1
        _ = unsafe write(bell.writing.number, &byte, 1)
    }

    /// Runs until ``end()``.
    ///
    /// - Parameter work: receives the events that have come, does pending work, and returns the events to wait for;
    ///   `nil` ends the loop.
    package func run(_ work: @escaping @Sendable (_ ready: [Int32: Events]) -> Wait?) {
        queue.async(group: ended) {
            var ready: [Int32: Events] = [:]
            while let wait = work(ready) {
                ready = [:]
                guard let jobs = self.jobs() else { return }
                if jobs.isEmpty {
                    ready = self.events(of: wait)
                } else {
                    for job in jobs {
                        switch job {
                        case .of(let job): unsafe job.runSynchronously(on: self.asUnownedSerialExecutor())
                        case .closure(let body): body()
                        }
                    }
                }
            }
        }
    }

    /// Ends the loop. Jobs that wait for it are not run.
    package func end() {
        waiting.withLock { $0.isEnded = true }
        wake()
    }

    /// Waits until the loop's thread has left it. Not for that thread.
    package func waitForEnd() { ended.wait() }

    /// Takes the waiting jobs; `nil` if the loop was ended. If the result is empty, the thread may sleep until the next
    /// job wakes it.
    private func jobs() -> [Job]? {
        waiting.withLock { waiting in
            guard !waiting.isEnded else { return nil }
            defer { waiting.jobs.removeAll(keepingCapacity: true) }
            waiting.isAwake = !waiting.jobs.isEmpty
            return waiting.jobs
        }
    }

    private func events(of wait: Wait) -> [Int32: Events] {
        var polled = wait.descriptors.map { pollfd(fd: $0.descriptor, events: $0.events.rawValue, revents: 0) }
        polled.append(pollfd(fd: bell.reading.number, events: Int16(POLLIN), revents: 0))
        let milliseconds =
            wait.patience.map { $0 <= .zero ? 0 : Int32(clamping: Int64($0 / .milliseconds(1)) + 1) } ?? -1
        let count = unsafe poll(&polled, nfds_t(polled.count), milliseconds)
        waiting.withLock { $0.isAwake = true }
        guard count > 0 else { return [:] }
        if polled[polled.count - 1].revents != 0 {
            var bytes = [UInt8](repeating: 0, count: 64)
            _ = unsafe read(bell.reading.number, &bytes, bytes.count)
        }
        var ready: [Int32: Events] = [:]
        for entry in polled.dropLast() where entry.revents != 0 {
            var events = Events(rawValue: entry.revents).intersection([.reading, .writing, .end])
            if entry.revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 { events.insert(.end) }
            ready[entry.fd] = events
        }
        return ready
    }
}
