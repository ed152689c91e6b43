// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Synchronization

/// Ends a question from another thread: the vault was unlocked elsewhere, or the program that asked has gone.
package final class PromptStop: Sendable {
    private let isSet = Atomic(false)
    /// One end of a pipe, which poll(2) finds readable once the other is closed.
    let descriptor: Int32
    private let writing: Mutex<Int32>

    /// Nil: there are no descriptors for it. A question without them would stay when nobody wants to know any more.
    package init?() {
        var ends: [Int32] = [-1, -1]
        let result = unsafe ends.withUnsafeMutableBufferPointer { ends in
            // It has room for both.
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

    /// Waits for the stop.
    ///
    /// - Returns: whether it has come.
    func waits(milliseconds: Int32) -> Bool {
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
