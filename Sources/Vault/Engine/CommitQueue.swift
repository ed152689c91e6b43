// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization

/// Where changes of several threads meet, to share what making them durable costs.
///
/// One thread at a time leads: it carries out what waits, its own change and those of others, and hands the lead to the
/// first that came meanwhile.
final class CommitQueue<Change>: Sendable {
    /// A change that waits; its thread, or its task, waits with it.
    ///
    /// Unchecked: the thread that leads carries the change out while the one that it belongs to waits.
    private final class Waiting: @unchecked Sendable {
        /// Read and written under the queue's lock. Nil once it was carried out: what it holds must not outlive the
        /// call that brought it.
        var change: Change?
        private let turn = DispatchSemaphore(value: 0)

        /// What a task has in the place of a thread that waits: how it leads, and how it learns that it is done.
        private let task: (lead: @Sendable (Waiting) -> Void, finish: @Sendable () -> Void)?

        init(_ change: Change, _ task: (lead: @Sendable (Waiting) -> Void, finish: @Sendable () -> Void)? = nil) {
            self.change = change
            self.task = task
        }

        func wait() { turn.wait() }

        func wait(atMost patience: Duration) { _ = turn.wait(timeout: .now() + patience / .seconds(1)) }

        /// There are as many as it waits for.
        func hurry() { turn.signal() }

        /// Its change was not carried out: it leads.
        func lead() { if let task { task.lead(self) } else { turn.signal() } }

        /// Its change was carried out.
        func finish() { if let task { task.finish() } else { turn.signal() } }
    }

    private struct State {
        /// The first one's thread leads.
        var waiting: [Waiting] = []
        var isLed = false
        /// How many threads were at it when the last changes were carried out, and how long the next leader waits for
        /// as many.
        var expected = 1
        var patience = Duration.zero
        var isGathering = false
    }

    private let state = Mutex(State())

    /// Returns when the change was carried out, by this thread or by another one.
    ///
    /// - Parameter carryOut: takes one change or more, in the order in which they came. One thread at a time is in it.
    func run(_ change: Change, carryOut: ([Change]) -> Void) {
        // The usual case: this thread is alone, and was before.
        let isAlone = state.withLock { state in
            guard !state.isLed, state.expected <= 1 else { return false }
            state.isLed = true
            return true
        }
        if isAlone {
            let start = ContinuousClock.now
            carryOut([change])
            handOver(after: 1, since: start) {}
            return
        }
        let own = Waiting(change)
        let (leads, gatherer) = enter(own)
        gatherer?.hurry()
        if !leads { own.wait() }
        // A thread that wakes before its change was carried out leads.
        if state.withLock({ _ in own.change != nil }) { lead(own, carryOut) }
    }

    /// As ``run(_:carryOut:)``, for a task: no thread waits with it.
    ///
    /// - Parameters:
    ///   - executor: whose thread leads when it is the task's turn.
    ///   - done: called when the change was carried out.
    func run(
        _ change: sending Change, on executor: VaultExecutor, carryOut: @escaping @Sendable ([Change]) -> Void,
        then done: @escaping @Sendable () -> Void
    ) {
        let own = Waiting(
            change,
            (
                lead: { own in
                    executor.submit {
                        self.lead(own, carryOut)
                        done()
                    }
                }, finish: done
            ))
        let (leads, gatherer) = enter(own)
        gatherer?.hurry()
        if leads { own.lead() }
    }

    /// - Returns: whether it leads, and the one that has all that it waits for now.
    private func enter(_ own: Waiting) -> (leads: Bool, gatherer: Waiting?) {
        state.withLock { state in
            state.waiting.append(own)
            defer { state.isLed = true }
            let isComplete = state.isGathering && state.waiting.count == state.expected
            return (!state.isLed, isComplete ? state.waiting.first : nil)
        }
    }

    /// How many changes wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    private func lead(_ own: Waiting, _ carryOut: ([Change]) -> Void) {
        gather(own)
        let batch = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        let start = ContinuousClock.now
        carryOut(batch.compactMap(\.change))
        handOver(after: batch.count, since: start) { for waiting in batch { waiting.change = nil } }
        for waiting in batch.dropFirst() { waiting.finish() }
    }

    /// Ends a lead. Who comes next is woken first, so that the disk does not wait.
    private func handOver(after count: Int, since start: ContinuousClock.Instant, _ finish: () -> Void) {
        let next = state.withLock { state in
            finish()
            state.isLed = !state.waiting.isEmpty
            state.expected = count + state.waiting.count
            if state.expected > 1 { state.patience = (ContinuousClock.now - start) / 4 }
            return state.waiting.first
        }
        next?.lead()
    }

    /// Threads whose changes have just been carried out are likely to be back with more: a little patience saves them,
    /// and all others, a sync.
    private func gather(_ own: Waiting) {
        let patience = state.withLock { state in
            state.isGathering = state.waiting.count < state.expected
            return state.isGathering ? state.patience : nil
        }
        guard let patience else { return }
        own.wait(atMost: patience)
        state.withLock { $0.isGathering = false }
    }
}
