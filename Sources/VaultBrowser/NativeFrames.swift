// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The reason why a stream of frames ends with an error.
package enum NativeFrameError: Error, Equatable {
    /// The declared length of a frame exceeds the limit.
    case tooLong(UInt32)
    /// The stream ends within a frame.
    case truncated
    /// The browser does not read, or has exited.
    case unwritable
}

/// Native-messaging frames: a length of four bytes in native byte order, followed by that many bytes of JSON.
struct NativeFrames {
    /// The maximum length of a message in either direction, in bytes. A browser accepts no longer one, and sends no
    /// longer one to this host.
    static let limit = 1 << 20

    private var received: [UInt8] = []
    private var start = 0

    mutating func append(_ bytes: ArraySlice<UInt8>) { received += bytes }

    /// Returns the next message; `nil` if it is incomplete.
    mutating func next() throws(NativeFrameError) -> [UInt8]? {
        let count = received.count - start
        guard count >= 4 else { return nil }
        // The integer is read as little-endian; `littleEndian` converts it to native byte order.
        let length = received.span.integer(at: start, as: UInt32.self).littleEndian
        guard length <= NativeFrames.limit else { throw .tooLong(length) }
        let end = start + 4 + Int(length)
        guard end <= received.count else { return nil }
        let message = Array(received[start + 4..<end])
        start = end
        if start == received.count || start > NativeFrames.limit {
            received.removeFirst(start)
            start = 0
        }
        return message
    }

    /// - Throws: `.truncated` if a message is incomplete.
    func end() throws(NativeFrameError) {
        guard start == received.count else { throw .truncated }
    }

    /// Returns a message with its length in front; `nil` if the message is too long for a browser.
    static func frame(_ message: [UInt8]) -> [UInt8]? {
        guard message.count <= limit else { return nil }
        var frame: [UInt8] = []
        frame.reserveCapacity(message.count + 4)
        frame.append(integer: UInt32(message.count).littleEndian)
        return frame + message
    }
}
