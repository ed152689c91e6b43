// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import VaultAgent

/// Threads for requests that may wait for a remote. A remote that hangs occupies none of the other threads, and does
/// not delay the agent's end.
final class RemoteWork: Sendable {
    private let pool = NIOThreadPool(numberOfThreads: 4)
    private let isAnswering = Mutex(true)

    func start() { pool.start() }

    /// Runs the work on a free thread, and delivers its replies on the loop, unless the agent has ended by then.
    ///
    /// - Parameter isBrief: whether the work takes some seconds at most, and so may run on a thread beyond the pool.
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

    /// Returns when everything is answered, or after `patience`; no reply is delivered from then on.
    func end(patience: Duration) {
        let done = DispatchSemaphore(value: 0)
        pool.shutdownGracefully { _ in done.signal() }
        _ = done.wait(timeout: .now() + .milliseconds(Int(patience / .milliseconds(1))))
        isAnswering.withLock { $0 = false }
    }
}
