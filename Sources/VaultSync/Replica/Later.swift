// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization

/// A value that another thread computes in the meantime. The work reads no changing state, so its result does not
/// depend on the time at which it runs.
final class Later<Value: Sendable>: Sendable {
    private let made = Mutex<Value?>(nil)
    private let work = DispatchGroup()

    init(on queue: DispatchQueue = .global(qos: .userInitiated), _ make: @escaping @Sendable () -> Value) {
        queue.async(group: work) { self.made.withLock { $0 = make() } }
    }

    /// Waits for the value.
    var value: Value {
        work.wait()
        guard let value = made.withLock({ $0 }) else { preconditionFailure("the work has ended") }
        return value
    }
}

/// A value that its owner frees explicitly, whichever thread has made it.
final class LastOwner<Value: Sendable>: Sendable {
    private let value: Mutex<Value?>

    init(_ value: consuming Value) { self.value = Mutex(value) }

    func free() { value.withLock { $0 = nil } }
}
