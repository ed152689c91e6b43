// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// The changes of a store from when it was asked for them: none is lost, in order, several of one item as one. For one
/// reader; a slow one gets `many`, and memory for 256 changes is all that it takes.
///
/// It ends when the store is closed, or the task is cancelled that reads it.
public struct ChangeSequence: AsyncSequence, Sendable {
    public typealias Element = ItemChange
    public typealias Failure = Never

    private let subscription: ChangeSubscription

    /// - Parameter stop: called when nobody reads any more.
    package init(_ buffer: ChangeBuffer, stop: @escaping @Sendable () -> Void) {
        subscription = ChangeSubscription(buffer, stop)
    }

    /// One that says why there is nothing to read.
    package init(failing error: VaultError) {
        let buffer = ChangeBuffer()
        buffer.offer(ItemChange(.failed(error), sequence: 0))
        buffer.end()
        self.init(buffer) {}
    }

    public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

    /// For a reader that is no task.
    package func take(whenReady: @escaping @Sendable () -> Void) -> [ItemChange]? {
        subscription.take(whenReady: whenReady)
    }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let subscription: ChangeSubscription
        private var taken: ArraySlice<ItemChange> = []

        fileprivate init(subscription: ChangeSubscription) { self.subscription = subscription }

        /// - Returns: nil when nothing will come any more, or the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ItemChange? {
            if taken.isEmpty { taken = await subscription.next()[...] }
            return taken.popFirst()
        }

        public mutating func next() async -> ItemChange? { await next(isolation: nil) }

        /// The changes that are there now, without a wait for more.
        mutating func takeRest() -> [ItemChange] {
            defer { taken = [] }
            return taken + (subscription.take {} ?? [])
        }
    }
}

/// What a reader of changes holds; when nobody does any more, nothing is kept for it.
private final class ChangeSubscription: Sendable {
    private let buffer: ChangeBuffer
    private let stop: @Sendable () -> Void

    init(_ buffer: ChangeBuffer, _ stop: @escaping @Sendable () -> Void) {
        self.buffer = buffer
        self.stop = stop
    }

    deinit { stop() }

    func take(whenReady: @escaping @Sendable () -> Void) -> [ItemChange]? { buffer.take(whenReady: whenReady) }

    func next() async -> [ItemChange] {
        // One at a time: what waits in the buffer is still merged with what comes.
        while !Task.isCancelled {
            let wake = WakeOnce()
            guard let taken = buffer.take(1, whenReady: { wake.now() }) else { return [] }
            if !taken.isEmpty { return taken }
            await withTaskCancellationHandler {
                await wake.wait()
            } onCancel: {
                wake.now()
            }
        }
        return []
    }
}

/// A task that waits, woken once: by a change, or by being cancelled.
private final class WakeOnce: Sendable {
    private enum State {
        case fresh
        case waiting(CheckedContinuation<Void, Never>)
        case woken
    }

    private let state = Mutex(State.fresh)

    func wait() async {
        await withCheckedContinuation { continuation in
            let isWoken = state.withLock { state in
                if case .woken = state { return true }
                state = .waiting(continuation)
                return false
            }
            if isWoken { continuation.resume() }
        }
    }

    func now() {
        let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
            defer { state = .woken }
            return if case .waiting(let continuation) = state { continuation } else { nil }
        }
        waiting?.resume()
    }
}
