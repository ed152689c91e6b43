// SPDX-License-Identifier: Apache-2.0
internal import Dispatch

/// Runs work that no caller waits for: compaction after a change, the marks of an idle vault.
package protocol Background: Sendable {
    /// Runs the body once, no sooner than the delay, on a thread of its own.
    func run(after delay: Duration, _ body: @escaping @Sendable () -> Void)
}

/// Dispatch's global queue. In a forked child it has no threads.
package struct DispatchBackground: Background {
    package init() {}

    package func run(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue.global(qos: .utility)
        if delay > .zero {
            queue.asyncAfter(deadline: .now() + delay / .seconds(1), execute: body)
        } else {
            queue.async(execute: body)
        }
    }
}
