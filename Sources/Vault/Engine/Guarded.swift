// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Synchronization

/// An object that one thread at a time has, and of which that thread can tell that it has it.
///
/// Unchecked, since what `Mutex` owns cannot be lent to a closure that the compiler knows nothing of.
final class Guarded<Value: AnyObject>: @unchecked Sendable {
    private let mutex = Mutex(())
    /// The thread that has the mutex; 0: none.
    private let holder = Atomic<UInt>(0)
    /// Used by that thread alone.
    private let value: Value

    init(_ value: sending Value) { self.value = value }

    /// Whether the calling thread has the value already, and would wait for itself.
    var isHeldHere: Bool { holder.load(ordering: .relaxed) == pthread_self() }

    func withLock<R, E: Error>(_ body: (Value) throws(E) -> R) throws(E) -> R {
        try mutex.withLock { _ throws(E) in
            // It was made on this thread, and nobody else has it.
            nonisolated(unsafe) let result = try holding(body)
            return unsafe result
        }
    }

    /// Nil: another thread has the value.
    func withLockIfAvailable<R, E: Error>(_ body: (Value) throws(E) -> R) throws(E) -> R? {
        try mutex.withLockIfAvailable { _ throws(E) in
            nonisolated(unsafe) let result = try holding(body)
            return unsafe result
        }
    }

    /// As ``withLock(_:)``, also where the calling thread has the value already, for a body that only looks.
    func look<R, E: Error>(_ body: (Value) throws(E) -> R) throws(E) -> R {
        isHeldHere ? try body(value) : try withLock(body)
    }

    private func holding<R, E: Error>(_ body: (Value) throws(E) -> R) throws(E) -> R {
        holder.store(pthread_self(), ordering: .relaxed)
        defer { holder.store(0, ordering: .relaxed) }
        return try body(value)
    }
}
