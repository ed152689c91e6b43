// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// The changes of a store since the subscription, in order and without loss; several changes of one item are merged
/// into one. For one reader. A slow reader gets `many`; the buffer holds at most 256 changes.
///
/// The sequence ends when the store is closed or the reading task is cancelled.
public struct ChangeSequence: AsyncSequence, Sendable {
    public typealias Element = ItemChange
    public typealias Failure = Never

    private let subscription: ChangeSubscription

    /// - Parameter stop: called when the last reader is released.
    package init(_ buffer: ChangeBuffer, stop: @escaping @Sendable () -> Void) {
        subscription = ChangeSubscription(buffer, stop)
    }

    /// A sequence that reports only why there is nothing to read.
    package init(failing error: VaultError) {
        let buffer = ChangeBuffer()
        buffer.offer(ItemChange(.failed(error), sequence: 0))
        buffer.end()
        self.init(buffer) {}
    }

    /// A reader of the sequence. Two readers of one sequence would each get a part of the changes.
    public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

    /// Takes the buffered changes for a reader that is not a task.
    package func take(whenReady: @escaping @Sendable () -> Void) -> [ItemChange]? {
        subscription.take(whenReady: whenReady)
    }

    /// The reader of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let subscription: ChangeSubscription
        private var taken: ArraySlice<ItemChange> = []

        fileprivate init(subscription: ChangeSubscription) { self.subscription = subscription }

        /// - Returns: `nil` if the sequence has ended or the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ItemChange? {
            if taken.isEmpty { taken = await subscription.next()[...] }
            return taken.popFirst()
        }

        /// The next change; `nil` if the sequence has ended or the task was cancelled.
        public mutating func next() async -> ItemChange? { await next(isolation: nil) }

        /// The changes that are buffered now, without waiting for more.
        mutating func takeRest() -> [ItemChange] {
            defer { taken = [] }
            return taken + (subscription.take {} ?? [])
        }
    }
}

/// The subscription that a reader of changes holds; releasing the last reference stops it.
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
        // Takes one change at a time, so that buffered changes can still merge with new ones.
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

/// A suspended task that is woken once, by a change or by cancellation.
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
