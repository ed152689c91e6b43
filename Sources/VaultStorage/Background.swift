// SPDX-License-Identifier: Apache-2.0
internal import Dispatch

/// Runs background work: compaction after a change, and the marks of an idle vault.
package protocol Background: Sendable {
    /// Runs the body once, no sooner than the delay, on another thread.
    func run(after delay: Duration, _ body: @escaping @Sendable () -> Void)
}

/// Dispatch's global queue, which has no threads in a forked child.
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
