// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Synchronization

/// A gate for hints. Once it is closed, no hint is delivered or under way.
package final class HintGate: Sendable {
    private let hint: @Sendable (RecordHint) -> Void
    private let isOpen = Mutex(true)
    /// The thread that delivers a hint, or 0. The hint's callback may close the gate.
    private let deliverer = Atomic<UInt>(0)
    private let isClosed = Atomic<Bool>(false)

    package init(_ hint: @escaping @Sendable (RecordHint) -> Void) { self.hint = hint }

    package func pass(_ said: RecordHint) {
        isOpen.withLock { isOpen in
            guard isOpen, !isClosed.load(ordering: .acquiring) else { return }
            deliverer.store(Self.thread, ordering: .releasing)
            hint(said)
            deliverer.store(0, ordering: .releasing)
            if case .lost = said { isOpen = false }
        }
    }

    package func close() {
        isClosed.store(true, ordering: .releasing)
        guard !isDelivering else { return }
        isOpen.withLock { $0 = false }
    }

    /// Whether the calling thread delivers a hint.
    var isDelivering: Bool { deliverer.load(ordering: .acquiring) == Self.thread }

    static var thread: UInt { UInt(pthread_self()) }
}
