// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization

/// A queue where changes of several threads meet, to share the cost of making them durable.
///
/// A single thread at a time leads: it carries out all waiting changes, its own and those of others, and hands the lead
/// to the first that arrived meanwhile.
final class CommitQueue<Change>: Sendable {
    /// A waiting change, whose thread or task waits with it.
    ///
    /// Unchecked: the leading thread carries the change out while the thread that owns it waits.
    private final class Waiting: @unchecked Sendable {
        /// Read and written under the queue's lock. `nil` once carried out: its captures must not outlive the call that
        /// brought it.
        var change: Change?
        private let turn = DispatchSemaphore(value: 0)

        /// The counterpart of a waiting thread for a task: how it leads, and how it learns that its change is done.
        private let task: (lead: @Sendable (Waiting) -> Void, finish: @Sendable () -> Void)?

        init(_ change: Change, _ task: (lead: @Sendable (Waiting) -> Void, finish: @Sendable () -> Void)? = nil) {
            self.change = change
            self.task = task
        }

        func wait() { turn.wait() }

        func wait(atMost patience: Duration) { _ = turn.wait(timeout: .now() + patience / .seconds(1)) }

        /// Ends the gathering: as many changes as expected have arrived.
        func hurry() { turn.signal() }

        /// Gives it the lead, since its change was not carried out.
        func lead() { if let task { task.lead(self) } else { turn.signal() } }

        /// Tells it that its change was carried out.
        func finish() { if let task { task.finish() } else { turn.signal() } }
    }

    private struct State {
        /// The thread of the first one leads.
        var waiting: [Waiting] = []
        var isLed = false
        /// How many threads were active when the last changes were carried out, and how long the next leader waits for
        /// as many.
        var expected = 1
        var patience = Duration.zero
        var isGathering = false
    }

    private let state = Mutex(State())

    /// Returns when the change was carried out, by this thread or another.
    ///
    /// - Parameter carryOut: takes one or more changes, in the order in which they arrived. Called by one thread at a
    ///   time.
    func run(_ change: Change, carryOut: ([Change]) -> Void) {
        // The usual case: this thread is alone, and was alone last time.
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
        // A thread that wakes before its change was carried out takes the lead.
        if state.withLock({ _ in own.change != nil }) { lead(own, carryOut) }
    }

    /// As ``run(_:carryOut:)``, for a task: no thread waits.
    ///
    /// - Parameters:
    ///   - executor: provides the thread that leads when it is the task's turn.
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

    /// - Returns: whether the change leads, and the gathering leader if all changes that it waits for are there.
    private func enter(_ own: Waiting) -> (leads: Bool, gatherer: Waiting?) {
        state.withLock { state in
            state.waiting.append(own)
            defer { state.isLed = true }
            let isComplete = state.isGathering && state.waiting.count == state.expected
            return (!state.isLed, isComplete ? state.waiting.first : nil)
        }
    }

    /// The number of waiting changes.
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

    /// Ends a lead. The next leader is woken first, so that the disk stays busy.
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

    /// Threads whose changes were just carried out are likely to return with more: waiting briefly for them saves them,
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
