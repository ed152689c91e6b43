// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Synchronization

/// The two pipes to the browser.
final class NativeStream: Sendable {
    private let input: Int32
    /// The descriptor for output. The lock makes threads write one whole frame after the other.
    private let output: Mutex<Int32>

    init(input: Int32, output: Int32) {
        self.input = input
        self.output = Mutex(output)
    }

    /// Returns the bytes received, at least one; empty if the browser has closed its end.
    func read() -> ArraySlice<UInt8> {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(input, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            return bytes[..<max(0, count)]
        }
    }

    /// - Throws: `.unwritable` if the browser has exited.
    func write(_ frame: [UInt8]) throws(NativeFrameError) {
        let isWritten = output.withLock { output in
            var written = 0
            while written < frame.count {
                // The remaining bytes lie within the array.
                let count = unsafe frame.withUnsafeBytes { bytes in
                    unsafe Glibc.write(output, bytes.baseAddress.map { unsafe $0 + written }, bytes.count - written)
                }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                written += count
            }
            return true
        }
        guard isWritten else { throw .unwritable }
    }
}
