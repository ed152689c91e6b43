// SPDX-License-Identifier: Apache-2.0
package import Dispatch
internal import Synchronization

/// A value that another thread computes in the meantime. The work reads no changing state, so its result does not
/// depend on the time at which it runs.
package final class Later<Value: Sendable>: Sendable {
    private let made = Mutex<Value?>(nil)
    private let end = DispatchGroup()

    /// - Parameter make: runs at once in a process without threads.
    package init(on queue: DispatchQueue = .global(qos: .userInitiated), _ make: @escaping @Sendable () -> Value) {
        let work = { @Sendable in self.made.withLock { $0 = make() } }
        if Parallel.hasThreads { queue.async(group: end, execute: work) } else { work() }
    }

    /// Waits for the value.
    package var value: Value {
        end.wait()
        guard let value = made.withLock({ $0 }) else { preconditionFailure("the work has ended") }
        return value
    }
}

/// A value that its owner frees explicitly, whichever thread has made it.
package final class LastOwner<Value: Sendable>: Sendable {
    private let value: Mutex<Value?>

    package init(_ value: consuming Value) { self.value = Mutex(value) }

    package func free() { value.withLock { $0 = nil } }
}
