// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import Synchronization
internal import SystemPackage
internal import VaultFormat

/// Both directions of a connection. One thread reads, any thread writes.
final class FramePipes: Sendable {
    /// How long the other side may be without taking or giving a byte, when something is due.
    let patience: Duration
    private let input: Int32
    private let output: Int32
    private let ownsDescriptors: Bool
    /// What the flags of both were.
    private let flags: (input: Int, output: Int)
    private let stopPipe: StopPipe
    private let writing = Mutex(())

    /// - Parameters:
    ///   - input: to be read, without waiting.
    ///   - output: to be written, without waiting.
    ///   - ownsDescriptors: whether they are closed with the value; else see ``giveBack()``.
    init(input: Int32, output: Int32, ownsDescriptors: Bool, patience: Duration) throws(Errno) {
        (self.input, self.output, self.ownsDescriptors) = (input, output, ownsDescriptors)
        self.patience = patience
        stopPipe = try StopPipe()
        flags = (clinux_set_nonblocking(input), clinux_set_nonblocking(output))
    }

    deinit {
        guard ownsDescriptors else { return }
        close(input)
        if output != input { close(output) }
    }

    /// Leaves descriptors that belong to others as they were: other processes may share them.
    func giveBack() {
        // Both may be one.
        for (end, flags) in [(output, flags.output), (input, flags.input)] where flags >= 0 {
            clinux_set_flags(end, flags)
        }
    }

    /// Whatever waits for the other side does so no more.
    func stop() { stopPipe.stop() }

    func send(_ frame: ServedFrame) throws(PipeFailure) { try send(frame.encoded) }

    func send(_ bytes: [UInt8]) throws(PipeFailure) {
        try writing.withLock { _ throws(PipeFailure) in
            var done = 0
            while done < bytes.count {
                // The bytes live as long as the call.
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

    /// What there is to read, as much as there is room for.
    ///
    /// - Parameters:
    ///   - room: is written from its beginning.
    ///   - patience: nil: as long as it takes.
    /// - Returns: how many bytes there are.
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

/// What was read from a connection and not yet understood.
struct FrameReader {
    private let pipes: FramePipes
    private var room = [UInt8](repeating: 0, count: 64 << 10)
    private var buffer: [UInt8] = []
    private var start = 0

    init(_ pipes: FramePipes) { self.pipes = pipes }

    /// What comes before the first frame. Each side says at once which version it speaks.
    ///
    /// - Throws: `.violation`, with the beginning of what another program says instead.
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

    private var said: String {
        "'" + String(decoding: buffer[start...].prefix(200), as: UTF8.self) + "'"
    }

    /// - Parameter idle: how long the next frame may be away; nil: as long as it takes.
    mutating func next(idle: Duration?) throws(PipeFailure) -> ServedFrame {
        try fill(ServedFrame.headLength, idle: idle)
        let length = Int(buffer.span.integer(at: start, as: UInt32.self))
        // Before there is memory for it.
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
                // A frame that was cut off is no end.
                throw error == .ended && isBegun ? .violation("a part of a frame") : error
            }
        }
    }
}
