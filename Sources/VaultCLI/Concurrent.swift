// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization

/// A value that is made once: by another thread after ``begin()``, or by the first caller that needs it.
final class Concurrent<Value: Sendable>: Sendable {
    private let make: @Sendable () throws -> Value
    /// Held while the value is made.
    private let result = Mutex<Result<Value, any Error>?>(nil)

    init(_ make: @escaping @Sendable () throws -> Value) { self.make = make }

    func begin() { DispatchQueue(label: "vault.concurrent").async { _ = self.made } }

    /// The value, for which the caller waits.
    ///
    /// - Throws: the error of the closure that makes it.
    var value: Value { get throws { try made.get() } }

    private var made: Result<Value, any Error> {
        result.withLock { result in
            let made = result ?? Result { try make() }
            result = made
            return made
        }
    }
}
