// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import VaultSystem

/// A pipe that ends a thread's wait for descriptors.
final class StopPipe: Sendable {
    /// Its reading end is readable once ``stop()`` was called.
    let ends: DescriptorPair

    init() throws(Errno) {
        ends = try DescriptorPair()
        for end in [ends.reading.number, ends.writing.number] { _ = clinux_set_nonblocking(end) }
    }

    func stop() {
        // A full pipe needs no further byte.
        _ = unsafe clinux_write_some(ends.writing.number, [1], 1)
    }

    /// Waits for a descriptor or the stop.
    ///
    /// - Parameter patience: the longest wait; `nil` waits without limit.
    /// - Throws: `.stopped`, `.silent` after the timeout, or `.failed`.
    func wait(for descriptor: Int32, writable: Bool = false, within patience: Duration?) throws(PipeFailure) {
        let deadline = patience.map { ContinuousClock.now + $0 }
        while true {
            var waiting = [
                pollfd(fd: descriptor, events: Int16(writable ? POLLOUT : POLLIN), revents: 0),
                pollfd(fd: ends.reading.number, events: Int16(POLLIN), revents: 0),
            ]
            let left = deadline.map { ContinuousClock.now.duration(to: $0) / .milliseconds(1) }
            let ready = unsafe poll(&waiting, 2, left.map { Int32(clamping: Int64(max(0, $0.rounded(.up)))) } ?? -1)
            if ready < 0 {
                guard errno == EINTR else { throw .failed(Errno(rawValue: errno)) }
                continue
            }
            if waiting[1].revents != 0 { throw .stopped }
            guard ready > 0 else { throw .silent }
            return
        }
    }
}

/// The reason why a pipe carries nothing more.
enum PipeFailure: Error, Equatable {
    /// The other side has closed its end.
    case ended
    /// Nothing has moved until the timeout.
    case silent
    case failed(Errno)
    /// This side has stopped.
    case stopped
    /// The other side has violated the protocol, in the described way.
    case violation(String)
}
