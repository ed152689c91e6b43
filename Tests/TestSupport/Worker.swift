// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Foundation
internal import Synchronization

/// Work on a thread of its own: what waits for another client must not take one of the few threads that all tests
/// share.
package final class Worker<R: Sendable>: Sendable {
    private let result = Mutex<Result<R, any Error>?>(nil)
    private let end = DispatchSemaphore(value: 0)

    package init(_ body: @escaping @Sendable () throws -> R) {
        Thread {
            let result = Result { try body() }
            self.result.withLock { $0 = result }
            self.end.signal()
        }.start()
    }

    /// Waits for the end.
    package func value() throws -> R {
        end.wait()
        return try result.withLock { $0 }?.get() ?? { throw CancellationError() }()
    }
}

/// Runs a body so many times at once. Each has a thread of its own: Dispatch's own way would take those that all tests
/// share, and what the body waits for may need one.
package func atOnce(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    let workers = (0..<count).map { number in Worker { try body(number) } }
    for worker in workers { try worker.value() }
}
