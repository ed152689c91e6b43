// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import SystemPackage
internal import VaultSystem

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
        var room = bytes.mutableSpan
        let count = (try? Descriptor.read(input, into: &room)) ?? 0
        return bytes[..<count]
    }

    /// - Throws: `.unwritable` if the browser has exited.
    func write(_ frame: [UInt8]) throws(NativeFrameError) {
        do throws(Errno) {
            try output.withLock { output throws(Errno) in try Descriptor.write(frame.span, to: output) }
        } catch { throw .unwritable }
    }
}
