// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import VaultCrypto
internal import VaultSystem

/// Runs a command, removes secrets from its output, and exits with its status.
final class MaskedRun {
    private let process: Int32
    /// The descriptor that receives signals while the command runs; afterwards signals act on this process as usual.
    private let signals: Descriptor
    private var status: Int32?
    private var failure: (any Error)?

    private init(_ child: Child, _ output: borrowing Descriptor, _ error: borrowing Descriptor) throws {
        let (process, signals) = try child.start(output: output.number, error: error.number)
        self.process = process
        self.signals = Descriptor(owning: signals)
    }

    static func run(_ child: Child, hiding secrets: [Secret]) throws -> Never {
        let output = try Helper.pipe()
        let error = try Helper.pipe()
        let run = try MaskedRun(child, output.writing, error.writing)
        // With a write end open in this process, the pipe would never end.
        output.writing.close()
        error.writing.close()
        let streams = [
            Stream(from: output.reading, to: STDOUT_FILENO, mask: try Mask(secrets)),
            Stream(from: error.reading, to: STDERR_FILENO, mask: try Mask(secrets)),
        ]
        while run.status == nil { run.step(streams) }
        // Drains only what is available: a process left behind by the command may keep the pipe open, and write to it
        // forever.
        for stream in streams { run.drain(stream) }
        if let failure = run.failure { throw failure }
        clinux_end_as(run.status ?? 0)
    }

    private func step(_ streams: [Stream]) {
        var waiting = streams.map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
        waiting.append(pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0))
        let count = unsafe waiting.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, nfds_t($0.count), -1) }
        guard count > 0 else { return }
        for (stream, waiting) in zip(streams, waiting) where waiting.revents != 0 { pass(stream, atMost: .max) }
        passSignals()
    }

    private func drain(_ stream: Stream) {
        var rest = Int(clinux_readable(stream.number))
        while rest > 0, !stream.isAtEnd { rest -= pass(stream, atMost: rest) }
        guard failure == nil else { return }
        do { try stream.finish { try self.write($0, to: stream.target) } } catch { failure = error }
    }

    /// If the output cannot be written, closing the pipe tells the command so.
    @discardableResult
    private func pass(_ stream: Stream, atMost limit: Int) -> Int {
        do { return try stream.pass(atMost: limit) { try self.write($0, to: stream.target) } } catch {
            failure = failure ?? error
            stream.end()
            return 0
        }
    }

    /// Writes, and passes signals on meanwhile: the reader may be slow.
    private func write(_ bytes: Span<UInt8>, to target: Int32) throws {
        var written = 0
        while written < bytes.count {
            var waiting = [
                pollfd(fd: target, events: Int16(POLLOUT), revents: 0),
                pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0),
            ]
            _ = unsafe waiting.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, nfds_t($0.count), -1) }
            if waiting[1].revents != 0 { passSignals() }
            guard waiting[0].revents != 0 else { continue }
            // A writable pipe has room for this many bytes.
            let part = bytes.extracting(written..<min(written + 4096, bytes.count))
            let count = unsafe part.withUnsafeBytes { unsafe Glibc.write(target, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else {
                throw CommandError(
                    .inputOutput, "cannot write the output: \(Errno(rawValue: errno).text)")
            }
            written += count
        }
    }

    private func passSignals() {
        var passed: Int32 = 0
        while status == nil {
            let signal = unsafe clinux_next_command_signal(signals.number, &passed)
            guard signal != 0 else { return }
            if signal == SIGCHLD { reap() } else if passed != 0 { kill(process, signal) }
        }
    }

    private func reap() {
        var status: Int32 = 0
        guard unsafe waitpid(process, &status, WNOHANG) == process else { return }
        self.status = status
        clinux_unblock_command_signals()
    }

    private final class Stream {
        /// Closed once its output cannot be written.
        private var source: Descriptor?
        let target: Int32
        private var mask: Mask
        private var buffer: SecretBytes?
        private(set) var isAtEnd = false

        init(from source: consuming Descriptor, to target: Int32, mask: consuming Mask) {
            self.source = consume source
            self.target = target
            self.mask = mask
        }

        /// For poll(2), which ignores a negative number.
        var number: Int32 {
            switch source {
            case .some(let source): isAtEnd ? -1 : source.number
            case .none: -1
            }
        }

        /// - Returns: the number of bytes read.
        func pass(atMost limit: Int, _ write: (Span<UInt8>) throws -> Void) throws -> Int {
            var buffer = try self.buffer.take() ?? SecretBytes(zeroed: 32_768)
            let number = number
            let count = buffer.withMutableBytes { bytes in
                unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(number, $0.baseAddress, min($0.count, limit)) }
            }
            if count > 0 {
                try buffer.withBytes { try mask.pass($0.extracting(0..<count), write) }
            } else if count == 0 || errno != EINTR {
                isAtEnd = true
            }
            self.buffer = consume buffer
            return max(count, 0)
        }

        func finish(_ write: (Span<UInt8>) throws -> Void) throws { try mask.finish(write) }

        func end() {
            guard !isAtEnd else { return }
            isAtEnd = true
            source = nil
        }
    }
}
