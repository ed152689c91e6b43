// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
internal import Synchronization

/// Runs an actor's jobs on one thread, which waits for a descriptor and for jobs at once: with a dispatch queue and an
/// event source each message changes threads, which costs more than answering it.
final class DoorLoop: SerialExecutor {
    private struct Waiting {
        var jobs: [UnownedJob] = []
        var isAwake = true
        var isEnded = false
    }

    /// The event for which the thread waits besides jobs.
    struct Event {
        /// The descriptor; -1 for none.
        let descriptor: Int32
        let isForWriting: Bool
        /// The timeout; `nil` for none.
        let patience: Duration?

        /// Work remains, and only jobs that are already waiting come before it.
        static let more = Event(descriptor: -1, isForWriting: false, patience: .zero)
        /// Waits for jobs only.
        static let none = Event(descriptor: -1, isForWriting: false, patience: nil)
    }

    /// The queue whose thread runs the loop.
    let queue: DispatchQueue
    private let waiting = Mutex(Waiting())
    private let bell: (ring: Int32, hear: Int32)

    /// Fails if no descriptors are available: without them the thread could not be woken.
    init?(label: String) {
        var ends: [Int32] = [-1, -1]
        let result = unsafe ends.withUnsafeMutableBufferPointer { ends in
            // The buffer has room for both descriptors.
            unsafe ends.baseAddress.map { unsafe clinux_pipe($0) }
        }
        guard result == 0 else { return nil }
        queue = DispatchQueue(label: label)
        bell = (ends[1], ends[0])
    }

    deinit {
        close(bell.ring)
        close(bell.hear)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let sleeps = waiting.withLock { waiting in
            waiting.jobs.append(job)
            defer { waiting.isAwake = true }
            return !waiting.isAwake
        }
        if sleeps { wake() }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }

    private func wake() {
        var byte: UInt8 = 1
        _ = unsafe write(bell.ring, &byte, 1)
    }

    /// Runs until ``end()``.
    ///
    /// - Parameter work: does pending work and returns the event to wait for; `nil` ends the loop.
    func run(_ work: @escaping @Sendable () -> Event?) {
        queue.async {
            while let event = work() {
                guard let jobs = self.jobs() else { return }
                if jobs.isEmpty {
                    self.wait(for: event)
                } else {
                    for job in jobs { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
                }
            }
        }
    }

    func end() {
        waiting.withLock { $0.isEnded = true }
        wake()
    }

    /// Takes the waiting jobs; `nil` if the loop was ended. If the result is empty, the thread may sleep until the next
    /// job wakes it.
    private func jobs() -> [UnownedJob]? {
        waiting.withLock { waiting in
            guard !waiting.isEnded else { return nil }
            defer { waiting.jobs.removeAll(keepingCapacity: true) }
            waiting.isAwake = !waiting.jobs.isEmpty
            return waiting.jobs
        }
    }

    private func wait(for event: Event) {
        var descriptors = [
            pollfd(fd: event.descriptor, events: Int16(event.isForWriting ? POLLIN | POLLOUT : POLLIN), revents: 0),
            pollfd(fd: bell.hear, events: Int16(POLLIN), revents: 0),
        ]
        let milliseconds =
            event.patience.map { $0 <= .zero ? 0 : Int32(clamping: Int64($0 / .milliseconds(1)) + 1) } ?? -1
        guard unsafe poll(&descriptors, 2, milliseconds) > 0 else { return waiting.withLock { $0.isAwake = true } }
        waiting.withLock { $0.isAwake = true }
        guard descriptors[1].revents != 0 else { return }
        var bytes = [UInt8](repeating: 0, count: 64)
        _ = unsafe read(bell.hear, &bytes, bytes.count)
    }
}
