// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing
import VaultCrypto

@testable import VaultBrowser

struct NativeFrameTests {
    private func number(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

    /// Returns the messages and the error at the end.
    private func read(_ bytes: [UInt8], by count: Int) -> (messages: [[UInt8]], error: NativeFrameError?) {
        var frames = NativeFrames()
        var messages: [[UInt8]] = []
        do throws(NativeFrameError) {
            for start in stride(from: 0, to: bytes.count, by: count) {
                frames.append(bytes[start..<min(start + count, bytes.count)])
                while let message = try frames.next() { messages.append(message) }
            }
            try frames.end()
            return (messages, nil)
        } catch { return (messages, error) }
    }

    @Test(arguments: [UInt32(1 << 20) + 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff])
    func `a frame of more than 1 MiB is refused by its length alone`(length: UInt32) {
        let (messages, error) = read(number(2) + [1, 2] + number(length), by: 3)
        #expect(messages == [[1, 2]] && error == .tooLong(length))
    }

    @Test func `a frame that is cut is an error, and the end behind a frame is none`() {
        let frame = number(3) + [1, 2, 3]
        for length in 1..<frame.count { #expect(read(Array(frame.prefix(length)), by: 2).error == .truncated) }
        #expect(read([], by: 1).error == nil && read(frame, by: 1).error == nil)
    }

    @Test func `frames come whole, however the pipe cuts them`() {
        let largest = [UInt8](repeating: 7, count: NativeFrames.limit)
        let bytes = number(0) + number(1) + [9] + number(UInt32(largest.count)) + largest + number(2) + [8, 8]
        for count in [1 << 22, 65_536, 4095] {
            #expect(read(bytes, by: count).messages == [[], [9], largest, [8, 8]])
        }
        #expect(NativeFrames.frame(largest)?.count == largest.count + 4)
        #expect(NativeFrames.frame(largest + [0]) == nil)
    }

    @Test func `streams that were changed here and there give messages or an error`() {
        let random = SeededRandom("frames")
        let seed = (0..<6).flatMap { count in
            number(UInt32(count * 5)) + [UInt8](repeating: UInt8(count), count: count * 5)
        }
        for _ in 0..<4000 {
            var bytes = seed
            for _ in 0..<random.number(in: 0...3) {
                bytes[random.number(in: 0...bytes.count - 1)] = UInt8(random.uniform(256))
            }
            bytes.removeLast(random.number(in: 0...bytes.count - 1))
            let whole = read(bytes, by: 1 << 20)
            let parts = read(bytes, by: random.number(in: 1...7))
            #expect(whole.messages == parts.messages && whole.error == parts.error)
            let length = whole.messages.reduce(0) { $0 + $1.count + 4 }
            #expect(length <= bytes.count && (whole.error != nil || length == bytes.count))
        }
    }
}
