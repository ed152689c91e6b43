// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// Why a stream of frames cannot go on.
package enum NativeFrameError: Error, Equatable {
    /// A frame says that it is longer than frames can be.
    case tooLong(UInt32)
    /// The stream ends within a frame.
    case truncated
    /// The browser does not read, or has gone.
    case unwritable
}

/// Native messaging as browsers speak it: a length of four bytes in the machine's order, and that much JSON.
struct NativeFrames {
    /// The longest message of either side, in bytes. A browser takes no more, and sends no more to this host.
    static let limit = 1 << 20

    private var received: [UInt8] = []
    private var start = 0

    mutating func append(_ bytes: ArraySlice<UInt8>) { received += bytes }

    /// The next message; nil: its end has yet to come.
    mutating func next() throws(NativeFrameError) -> [UInt8]? {
        let count = received.count - start
        guard count >= 4 else { return nil }
        // What is read as little-endian is the machine's own number in that order.
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

    /// - Throws: `.truncated` when a message has begun.
    func end() throws(NativeFrameError) {
        guard start == received.count else { throw .truncated }
    }

    /// A message behind its length; nil for one that no browser would take.
    static func frame(_ message: [UInt8]) -> [UInt8]? {
        guard message.count <= limit else { return nil }
        var frame: [UInt8] = []
        frame.reserveCapacity(message.count + 4)
        frame.append(integer: UInt32(message.count).littleEndian)
        return frame + message
    }
}
