// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Synchronization
internal import VaultSystem

/// Cancels a question from another thread: the vault was unlocked elsewhere, or the caller has exited.
package final class PromptStop: Sendable {
    private let isSet = Atomic(false)
    /// The end of a pipe that becomes readable once the other end is closed.
    private let reading: Descriptor
    private let writing: Mutex<Descriptor?>

    /// Fails if no descriptors are available: without them the question could not be cancelled.
    package init?() {
        guard let pipe = try? DescriptorPair() else { return nil }
        reading = pipe.reading
        writing = Mutex(pipe.writing)
    }

    /// For poll(2), which finds it readable after the cancellation.
    var descriptor: Int32 { reading.number }

    package var isStopped: Bool { isSet.load(ordering: .acquiring) }

    /// Waits for the cancellation.
    ///
    /// - Returns: `true` if cancelled, `false` on timeout.
    package func waits(milliseconds: Int32) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&waiting, 1, milliseconds)
        return isStopped
    }

    package func stop() {
        isSet.store(true, ordering: .releasing)
        writing.withLock { $0 = nil }
    }
}
