// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization

/// A value that another thread makes meanwhile.
final class Concurrent<Value: Sendable>: Sendable {
    private let result: Mutex<Result<Value, any Error>?>
    private let making = DispatchGroup()

    init(made value: Value) { result = Mutex(.success(value)) }

    init(_ make: @escaping @Sendable () throws -> Value) {
        result = Mutex(nil)
        DispatchQueue(label: "vault.concurrent").async(group: making) { [self] in
            let made = Result { try make() }
            result.withLock { $0 = made }
        }
    }

    /// Waits for the value.
    ///
    /// - Throws: the error of the closure that makes it.
    func value() throws -> Value {
        making.wait()
        guard let result = result.withLock({ $0 }) else { throw CommandError(.failure, "a thread has ended early") }
        return try result.get()
    }
}
