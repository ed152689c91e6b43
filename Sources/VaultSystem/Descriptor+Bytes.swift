// SPDX-License-Identifier: Apache-2.0
internal import Glibc
package import SystemPackage

/// Reading and writing of descriptors that the caller lends, such as the standard streams.
extension Descriptor {
    /// Reads what is available, and waits for the first byte.
    ///
    /// - Parameters:
    ///   - room: the memory that receives the bytes, also locked memory for secrets.
    ///   - start: the index of the first byte that is written, at most the size of the room.
    /// - Returns: the number of bytes; 0 at the end.
    package static func read(
        _ number: Int32, into room: inout MutableSpan<UInt8>, from start: Int = 0
    ) throws(Errno) -> Int {
        while true {
            let count = unsafe room.withUnsafeMutableBytes { room in
                // The slice ends with the room.
                let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[start...])
                return unsafe Glibc.read(number, rest.baseAddress, rest.count)
            }
            if count >= 0 { return count }
            guard errno == EINTR else { throw Errno(rawValue: errno) }
        }
    }

    /// Writes all bytes.
    package static func write(_ bytes: Span<UInt8>, to number: Int32) throws(Errno) {
        var written = 0
        while written < bytes.count {
            let rest = bytes.extracting(written..<bytes.count)
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
            if count >= 0 {
                // A device that writes nothing without an error is full.
                guard count > 0 else { throw .noSpace }
                written += count
            } else if errno == EAGAIN {
                // Another program may have made a shared descriptor non-blocking; wait until it is writable.
                var waiting = pollfd(fd: number, events: Int16(POLLOUT), revents: 0)
                _ = unsafe poll(&waiting, 1, -1)
            } else if errno != EINTR {
                throw Errno(rawValue: errno)
            }
        }
    }
}
