// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization

/// A limited number of threads for blocking work, each of which starts when it is first needed.
package final class WorkPool: Sendable {
    private struct State {
        var isOpen = true
        var idle: [DispatchQueue]
        var waiting: [@Sendable () -> Void] = []
    }

    private let state: Mutex<State>
    private let unfinished = DispatchGroup()

    package init(threads: Int) {
        // A serial queue for each: work on a concurrent queue shares as many threads as there are processors, and work
        // that waits for something would block the rest.
        state = Mutex(State(idle: (0..<threads).map { DispatchQueue(label: "vault.work.\($0)") }))
    }

    /// Runs the work on the next free thread. After ``end(patience:)``, the work is dropped.
    package func run(_ work: @escaping @Sendable () -> Void) {
        let queue = state.withLock { state -> DispatchQueue? in
            guard state.isOpen else { return nil }
            guard let queue = state.idle.popLast() else {
                state.waiting.append(work)
                return nil
            }
            unfinished.enter()
            return queue
        }
        queue?.async {
            var next: (@Sendable () -> Void)? = work
            while let work = next {
                work()
                next = self.state.withLock { state in
                    if state.waiting.isEmpty {
                        queue.map { state.idle.append($0) }
                        return nil
                    }
                    return state.waiting.removeFirst()
                }
            }
            self.unfinished.leave()
        }
    }

    /// Drops the work that has not begun, and waits for the rest.
    ///
    /// - Parameter patience: the timeout; `nil` for none.
    package func end(patience: Duration? = nil) {
        state.withLock { state in (state.isOpen, state.waiting) = (false, []) }
        guard let patience else { return unfinished.wait() }
        _ = unfinished.wait(timeout: .now() + .milliseconds(Int(patience / .milliseconds(1))))
    }
}
