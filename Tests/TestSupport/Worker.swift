// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Foundation
internal import Synchronization

/// Work on a thread of its own, since work that waits for another client must not occupy a thread of the pool shared by
/// all tests.
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

    /// Waits for the end and returns the result.
    package func value() throws -> R {
        end.wait()
        return try result.withLock { $0 }?.get() ?? { throw CancellationError() }()
    }
}

/// Runs a body `count` times concurrently, each on a thread of its own: Dispatch would use the pool shared by all
/// tests, and the event that the body waits for may need a thread of the pool.
package func atOnce(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    let workers = (0..<count).map { number in Worker { try body(number) } }
    for worker in workers { try worker.value() }
}
