// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import VaultAgent

/// Threads for the requests that may wait for a remote: one that hangs takes no thread from the others, and the agent
/// ends without an answer to it.
final class RemoteWork: Sendable {
    private let pool = NIOThreadPool(numberOfThreads: 4)
    private let isAnswering = Mutex(true)

    func start() { pool.start() }

    /// Runs the work when a thread is free, and hears of its replies on the loop, unless the agent has ended by then.
    ///
    /// - Parameter isBrief: whether the work waits for some seconds at most, and so has not to wait for a thread.
    func run(
        on loop: any EventLoop, isBrief: Bool, _ work: @escaping @Sendable () -> [any AgentReply],
        _ hears: @escaping @Sendable ([any AgentReply]) -> Void
    ) {
        @Sendable func run() {
            let replies = work()
            isAnswering.withLock { if $0 { loop.execute { hears(replies) } } }
        }
        if isBrief { return DispatchQueue.global().async(execute: run) }
        pool.submit { if case .active = $0 { run() } }
    }

    /// Returns when all is answered, or `patience` is over; nothing is answered then.
    func end(patience: Duration) {
        let done = DispatchSemaphore(value: 0)
        pool.shutdownGracefully { _ in done.signal() }
        _ = done.wait(timeout: .now() + .milliseconds(Int(patience / .milliseconds(1))))
        isAnswering.withLock { $0 = false }
    }
}
