// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
internal import Synchronization

/// Runs an actor's work on one thread, which waits for a descriptor and for that work at once: a queue and a source of
/// events hand each message from thread to thread, which costs more than to answer it.
final class DoorLoop: SerialExecutor {
    private struct Waiting {
        var jobs: [UnownedJob] = []
        var isAwake = true
        var isEnded = false
    }

    /// What the thread waits for beside jobs.
    struct Event {
        /// -1: nothing.
        let descriptor: Int32
        let isForWriting: Bool
        /// Nil: as long as it takes.
        let patience: Duration?

        /// There is more to do, and only jobs that wait come before it.
        static let more = Event(descriptor: -1, isForWriting: false, patience: .zero)
        /// Jobs alone.
        static let none = Event(descriptor: -1, isForWriting: false, patience: nil)
    }

    /// Whose thread it is.
    let queue: DispatchQueue
    private let waiting = Mutex(Waiting())
    private let bell: (ring: Int32, hear: Int32)

    /// Nil: there are no descriptors for it. Without them its thread would not hear of any work.
    init?(label: String) {
        var ends: [Int32] = [-1, -1]
        let result = unsafe ends.withUnsafeMutableBufferPointer { ends in
            // It has room for both.
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
    /// - Parameter work: does what there is to do, and says what to wait for; nil: that is all.
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

    /// Nil: it was ended. None: the thread may sleep, and is woken by the next.
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
