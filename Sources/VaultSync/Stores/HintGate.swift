// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Synchronization

/// Lets hints through until it is closed; then none is under way any more.
package final class HintGate: Sendable {
    private let hint: @Sendable (RecordHint) -> Void
    private let isOpen = Mutex(true)
    /// The thread that delivers a hint; 0: none does. A hint may close the gate itself.
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

    /// Whether this very thread delivers a hint.
    var isDelivering: Bool { deliverer.load(ordering: .acquiring) == Self.thread }

    static var thread: UInt { UInt(pthread_self()) }
}
