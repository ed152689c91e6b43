// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Synchronization

/// An object that one thread at a time holds, and that knows whether the calling thread holds it.
///
/// Unchecked, since a value owned by `Mutex` cannot be lent to a closure that the compiler cannot see into.
final class Guarded<Value: AnyObject>: @unchecked Sendable {
    private let mutex = Mutex(())
    /// The thread that holds the mutex; 0 for none.
    private let holder = Atomic<UInt>(0)
    /// Used by that thread only.
    private let value: Value

    init(_ value: sending Value) { self.value = value }

    /// Whether the calling thread already holds the value, and would deadlock.
    var isHeldHere: Bool { holder.load(ordering: .relaxed) == pthread_self() }

    func withLock<R, E: Error>(_ body: (Value) throws(E) -> R) throws(E) -> R {
        try mutex.withLock { _ throws(E) in
            // The result was made on this thread and is not shared.
            nonisolated(unsafe) let result = try holding(body)
            return unsafe result
        }
    }

    /// Returns `nil` if another thread holds the value.
    func withLockIfAvailable<R, E: Error>(_ body: (Value) throws(E) -> R) throws(E) -> R? {
        try mutex.withLockIfAvailable { _ throws(E) in
            nonisolated(unsafe) let result = try holding(body)
            return unsafe result
        }
    }

    /// As ``withLock(_:)``, also if the calling thread already holds the value; for a body that only reads.
    func look<R, E: Error>(_ body: (Value) throws(E) -> R) throws(E) -> R {
        isHeldHere ? try body(value) : try withLock(body)
    }

    private func holding<R, E: Error>(_ body: (Value) throws(E) -> R) throws(E) -> R {
        holder.store(pthread_self(), ordering: .relaxed)
        defer { holder.store(0, ordering: .relaxed) }
        return try body(value)
    }
}
