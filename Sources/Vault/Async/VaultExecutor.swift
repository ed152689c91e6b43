// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization

/// Threads of the vault's own, for what waits for a disk, a lock, another process or a key derivation: none of it may
/// hold up the few threads on which all tasks of a process run.
final class VaultExecutor: Sendable {
    static let shared = VaultExecutor(width: 16)
    /// For those who lead a commit: a thread of ``shared`` may wait for one of them, and none of them for another.
    static let leaders = VaultExecutor(width: 16)
    /// For key derivations of passphrases, each of which takes a core for most of a second and 64 MiB. Many at once
    /// would take the memory and the processors of the whole machine, and every thread of ``shared``.
    static let derivations = VaultExecutor(width: 2)

    private struct State {
        /// Queues whose threads have nothing to do; each has one of its own, also while others wait in the kernel.
        var idle: [DispatchQueue]
        /// Nil where one was taken: what it holds goes with it.
        var jobs: [(@Sendable () -> Void)?] = []
        /// Of the next job.
        var next = 0
    }

    private let state: Mutex<State>

    /// - Parameter width: how many jobs run at once, at most.
    init(width: Int) {
        state = Mutex(State(idle: (0..<width).map { DispatchQueue(label: "vault.\($0)") }))
    }

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
            // Where there is always one more, the list would never be empty.
            if state.next >= 64, state.next * 2 > state.jobs.count {
                state.jobs.removeFirst(state.next)
                state.next = 0
            }
            return job
        }
    }

    /// Runs a call that may wait.
    ///
    /// - Parameter executor: whose threads it takes.
    /// - Throws: `.cancelled` when the task is before the call began: nothing has happened then. A call that has begun
    ///   comes to its end.
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

/// What becomes of a call that runs elsewhere, for the task that waits for it.
final class Outcome<R: Sendable>: Sendable {
    private let result = Mutex<Result<R, VaultError>?>(nil)
    private let isCancelled = Atomic(false)

    /// Waits until `done` is called, which `begin` brings about.
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
    /// - Throws: what the call throws, which ``get()`` throws as well.
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
