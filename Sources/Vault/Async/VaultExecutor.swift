// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization

/// Threads of the vault for work that waits for a disk, a lock, another process or a key derivation, so that this work
/// does not block the few threads on which all tasks of a process run.
final class VaultExecutor: Sendable {
    static let shared = VaultExecutor(width: 16)
    /// Threads for commit leaders: a job on ``shared`` may wait for a leader, but leaders never wait for each other.
    static let leaders = VaultExecutor(width: 16)
    /// Threads for key derivations of passphrases. Each derivation takes a core for most of a second and 64 MiB; many
    /// at once would exhaust the memory and processors of the machine, and every thread of ``shared``.
    static let derivations = VaultExecutor(width: 2)

    private struct State {
        /// Queues without work. Each has its own thread, even while other threads wait in the kernel.
        var idle: [DispatchQueue]
        /// Waiting jobs; `nil` where a job was taken, so that its captures are released.
        var jobs: [(@Sendable () -> Void)?] = []
        /// The position of the next job in ``jobs``.
        var next = 0
    }

    private let state: Mutex<State>

    /// - Parameter width: the maximum number of jobs that run at once.
    init(width: Int) { state = Mutex(State(idle: (0..<width).map { DispatchQueue(label: "vault.\($0)") })) }

    func submit(_ job: @escaping @Sendable () -> Void) {
        let queue = state.withLock { state in
            let queue = state.idle.popLast()
            if queue == nil { state.jobs.append(job) }
            return queue
        }
        if let queue { queue.async { self.work(on: queue, job) } }
    }

    private func work(on queue: DispatchQueue, _ first: @Sendable () -> Void) {
        first()
        while let job = take(orRest: queue) { job() }
    }

    private func take(orRest queue: DispatchQueue) -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard state.next < state.jobs.count else {
                state.jobs.removeAll(keepingCapacity: state.jobs.capacity <= 64)
                state.next = 0
                state.idle.append(queue)
                return nil
            }
            let job = state.jobs[state.next].take()
            state.next += 1
            // Compacts the list, which would otherwise never become empty under constant load.
            if state.next >= 64, state.next * 2 > state.jobs.count {
                state.jobs.removeFirst(state.next)
                state.next = 0
            }
            return job
        }
    }

    /// Runs a call that may block.
    ///
    /// - Parameter executor: the threads to run on.
    /// - Throws: `.cancelled` if the task was cancelled before the call began; nothing has happened then. A call that
    ///   has begun completes.
    static func run<R: Sendable>(
        on executor: VaultExecutor = shared, _ call: @escaping @Sendable () throws(VaultError) -> R
    ) async throws(VaultError) -> R {
        let outcome = Outcome<R>()
        await outcome.whenDone { done in
            executor.submit {
                outcome.record { () throws(VaultError) in try call() }
                done()
            }
        }
        return try outcome.get()
    }
}

/// The outcome of a call that runs on another thread, for the task that waits for it.
final class Outcome<R: Sendable>: Sendable {
    private let result = Mutex<Result<R, VaultError>?>(nil)
    private let isCancelled = Atomic(false)

    /// Suspends until `done` is called; `begin` starts the work that calls it.
    func whenDone(_ begin: (_ done: @escaping @Sendable () -> Void) -> Void) async {
        guard !Task.isCancelled else { return isCancelled.store(true, ordering: .relaxed) }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in begin { continuation.resume() } }
        } onCancel: {
            isCancelled.store(true, ordering: .relaxed)
        }
    }

    /// Runs the call, unless its task was cancelled before.
    ///
    /// - Throws: the error of the call, which ``get()`` throws as well.
    func carryOut(_ call: () throws(VaultError) -> R) throws(VaultError) {
        record(call)
        if case .failure(let error)? = result.withLock({ $0 }) { throw error }
    }

    func record(_ call: () throws(VaultError) -> R) {
        guard !isCancelled.load(ordering: .relaxed) else { return }
        let came: Result<R, VaultError>
        do throws(VaultError) { came = .success(try call()) } catch { came = .failure(error) }
        result.withLock { $0 = came }
    }

    func get() throws(VaultError) -> R {
        guard let result = result.withLock({ $0 }) else { throw .cancelled }
        return try result.get()
    }
}
