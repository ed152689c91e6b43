// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Synchronization
internal import SystemPackage
internal import VaultFormat
internal import VaultSystem

/// Both directions of a connection. One thread reads, any thread writes.
final class FramePipes: Sendable {
    private struct Ends: ~Copyable, Sendable {
        let input: Descriptor
        let output: Descriptor
    }

    /// The longest time that a pending read or write waits for one byte to move.
    let patience: Duration
    private let input: Int32
    private let output: Int32
    private let owned: Ends?
    /// The original flags of both descriptors.
    private let flags: (input: Int, output: Int)
    private let stopPipe: StopPipe
    private let writing = Mutex(())

    /// - Parameters:
    ///   - input: the descriptor to read, made non-blocking.
    ///   - output: the descriptor to write, made non-blocking.
    convenience init(
        owning input: consuming Descriptor, _ output: consuming Descriptor, patience: Duration
    ) throws(Errno) {
        try self.init(input.number, output.number, Ends(input: input, output: output), patience)
    }

    /// Borrows both descriptors until ``giveBack()``. They may be the same.
    convenience init(input: Int32, output: Int32, patience: Duration) throws(Errno) {
        try self.init(input, output, nil, patience)
    }

    private init(_ input: Int32, _ output: Int32, _ owned: consuming Ends?, _ patience: Duration) throws(Errno) {
        (self.input, self.output, self.patience) = (input, output, patience)
        self.owned = owned
        stopPipe = try StopPipe()
        flags = (clinux_set_nonblocking(input), clinux_set_nonblocking(output))
    }

    /// Restores the flags of borrowed descriptors, which other processes may share.
    func giveBack() {
        // Both may be the same descriptor.
        for (end, flags) in [(output, flags.output), (input, flags.input)] where flags >= 0 {
            clinux_set_flags(end, flags)
        }
    }

    /// Ends every wait for the other side.
    func stop() { stopPipe.stop() }

    func send(_ frame: ServedFrame) throws(PipeFailure) { try send(frame.encoded) }

    func send(_ bytes: [UInt8]) throws(PipeFailure) {
        try writing.withLock { _ throws(PipeFailure) in
            var done = 0
            while done < bytes.count {
                // The bytes outlive the call.
                let written = unsafe bytes.withUnsafeBytes { bytes in
                    unsafe bytes.baseAddress.map { unsafe clinux_write_some(output, $0 + done, bytes.count - done) }
                        ?? 0
                }
                if written > 0 {
                    done += written
                    continue
                }
                switch Errno(rawValue: CInt(clamping: -written)) {
                case .interrupted: continue
                case .wouldBlock: try stopPipe.wait(for: output, writable: true, within: patience)
                case .brokenPipe, .connectionReset: throw .ended
                case let error: throw .failed(error)
                }
            }
        }
    }

    /// Reads the available bytes, as many as fit.
    ///
    /// - Parameters:
    ///   - room: the buffer, which is filled from its beginning.
    ///   - patience: the longest wait; `nil` waits without limit.
    /// - Returns: the number of bytes read.
    fileprivate func receive(into room: inout [UInt8], within patience: Duration?) throws(PipeFailure) -> Int {
        while true {
            let count = unsafe read(input, &room, room.count)
            if count > 0 { return count }
            guard count < 0 else { throw .ended }
            switch Errno(rawValue: errno) {
            case .interrupted: continue
            case .wouldBlock: try stopPipe.wait(for: input, within: patience)
            case .connectionReset: throw .ended
            case let error: throw .failed(error)
            }
        }
    }
}

/// A buffer of bytes that were read from a connection and not yet parsed.
struct FrameReader {
    private let pipes: FramePipes
    private var room = [UInt8](repeating: 0, count: 64 << 10)
    private var buffer: [UInt8] = []
    private var start = 0

    init(_ pipes: FramePipes) { self.pipes = pipes }

    /// Reads the greeting, which precedes the first frame. Each side sends its protocol version at once.
    ///
    /// - Throws: `.violation`, with the beginning of another program's output.
    mutating func readGreeting() throws(PipeFailure) {
        do throws(PipeFailure) { try fill(ServedFrame.greeting.count, idle: pipes.patience) } catch {
            guard start < buffer.count else { throw error }
            throw .violation(said)
        }
        let found = Array(buffer[start..<start + ServedFrame.greeting.count])
        guard found.prefix(ServedFrame.magic.count) == ServedFrame.magic[...] else { throw .violation(said) }
        guard found == ServedFrame.greeting else {
            throw .violation("another version of the protocol: both sides need the same version of vault")
        }
        start += ServedFrame.greeting.count
    }

    private var said: String { "'" + String(decoding: buffer[start...].prefix(200), as: UTF8.self) + "'" }

    /// - Parameter idle: the longest wait for the start of the next frame; `nil` waits without limit.
    mutating func next(idle: Duration?) throws(PipeFailure) -> ServedFrame {
        try fill(ServedFrame.headLength, idle: idle)
        let length = Int(buffer.span.integer(at: start, as: UInt32.self))
        // Checked before memory is allocated.
        guard length <= ServedFrame.limit else { throw .violation("a frame of \(length) bytes") }
        try fill(ServedFrame.headLength + length, idle: pipes.patience)
        let content = start + ServedFrame.headLength
        defer { start = content + length }
        return ServedFrame(
            buffer[start + 8], buffer.span.integer(at: start + 4, as: UInt32.self),
            Array(buffer[content..<content + length]))
    }

    private mutating func fill(_ count: Int, idle: Duration?) throws(PipeFailure) {
        if start == buffer.count || start > ServedFrame.limit {
            buffer.removeSubrange(..<start)
            start = 0
        }
        while buffer.count - start < count {
            let isBegun = buffer.count > start
            do throws(PipeFailure) {
                let count = try pipes.receive(into: &room, within: isBegun ? pipes.patience : idle)
                buffer += room[..<count]
            } catch {
                // The end of the input inside a frame is a violation, not an end.
                throw error == .ended && isBegun ? .violation("a part of a frame") : error
            }
        }
    }
}
