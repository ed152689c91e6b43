// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage

/// A pipe that ends a thread's wait for descriptors.
final class StopPipe: Sendable {
    /// Readable once ``stop()`` was called.
    let descriptor: Int32
    private let end: Int32

    init() throws(Errno) {
        (descriptor, end) = try Self.pipe()
        for end in [descriptor, end] { _ = clinux_set_nonblocking(end) }
    }

    deinit {
        close(descriptor)
        close(end)
    }

    func stop() {
        // A full pipe needs no further byte.
        _ = unsafe clinux_write_some(end, [1], 1)
    }

    /// Makes a pipe. Child processes do not inherit its ends.
    static func pipe() throws(Errno) -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        // The array has room for both.
        let result = unsafe ends.withUnsafeMutableBufferPointer { unsafe clinux_pipe($0.baseAddress) }
        guard result == 0 else { throw Errno(rawValue: CInt(-result)) }
        return (ends[0], ends[1])
    }

    /// Waits for a descriptor or the stop.
    ///
    /// - Parameter patience: the longest wait; `nil` waits without limit.
    /// - Throws: `.stopped`, `.silent` after the timeout, or `.failed`.
    func wait(
        for descriptor: Int32, writable: Bool = false, within patience: Duration?
    ) throws(PipeFailure) {
        let deadline = patience.map { ContinuousClock.now + $0 }
        while true {
            var waiting = [
                pollfd(fd: descriptor, events: Int16(writable ? POLLOUT : POLLIN), revents: 0),
                pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0),
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
