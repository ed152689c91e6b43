// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Synchronization

/// Cancels a question from another thread: the vault was unlocked elsewhere, or the caller has exited.
package final class PromptStop: Sendable {
    private let isSet = Atomic(false)
    /// The end of a pipe that becomes readable for poll(2) once the other end is closed.
    let descriptor: Int32
    private let writing: Mutex<Int32>

    /// Fails if no descriptors are available: without them the question could not be cancelled.
    package init?() {
        var ends: [Int32] = [-1, -1]
        let result = unsafe ends.withUnsafeMutableBufferPointer { ends in
            // The buffer has room for both descriptors.
            unsafe ends.baseAddress.map { unsafe clinux_pipe($0) }
        }
        guard result == 0 else { return nil }
        descriptor = ends[0]
        writing = Mutex(ends[1])
    }

    deinit {
        stop()
        close(descriptor)
    }

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
        writing.withLock { end in
            if end >= 0 { close(end) }
            end = -1
        }
    }
}
