// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import VaultCrypto

/// Runs a command whose output comes without the secrets, and ends as it ends.
enum MaskedRun {
    static func run(_ child: Child, hiding secrets: [Secret]) throws -> Never {
        let (output, error) = (try Pipe(), try Pipe())
        let (process, signals) = try child.start(output: output.writeEnd, error: error.writeEnd)
        // Both ends of a pipe in one process would never come to an end.
        output.closeWriteEnd()
        error.closeWriteEnd()
        let streams = [
            Stream(from: output.readEnd, to: STDOUT_FILENO, mask: try Mask(secrets)),
            Stream(from: error.readEnd, to: STDERR_FILENO, mask: try Mask(secrets)),
        ]
        var status: Int32?
        while streams.contains(where: { !$0.isAtEnd }) {
            var waiting = streams.map { pollfd(fd: $0.isAtEnd ? -1 : $0.source, events: Int16(POLLIN), revents: 0) }
            waiting.append(pollfd(fd: signals, events: Int16(POLLIN), revents: 0))
            // Once the command has ended only what is there already counts: somebody that it left behind may keep the pipe open for ever.
            let count = unsafe waiting.withUnsafeMutableBufferPointer {
                unsafe poll($0.baseAddress, nfds_t($0.count), status == nil ? -1 : 0)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            for index in streams.indices where waiting[index].revents != 0 { try streams[index].pass() }
            if waiting[streams.count].revents != 0 { status = passSignals(signals, to: process) ?? status }
        }
        for stream in streams { try stream.finish() }
        while status == nil { status = wait(for: process, options: 0) }
        clinux_end_as(status ?? 0)
    }

    /// - Returns: how the command ended, if it did.
    private static func passSignals(_ signals: Int32, to process: Int32) -> Int32? {
        var passed: Int32 = 0
        var status: Int32?
        while true {
            let signal = unsafe clinux_next_command_signal(signals, &passed)
            guard signal != 0 else { return status }
            if signal == SIGCHLD { status = wait(for: process, options: WNOHANG) ?? status } else if passed != 0 { kill(process, signal) }
        }
    }

    private static func wait(for process: Int32, options: Int32) -> Int32? {
        var status: Int32 = 0
        return unsafe waitpid(process, &status, options) == process ? status : nil
    }

    private final class Stream {
        let source: Int32
        private let target: Int32
        private var mask: Mask
        private var buffer: SecretBytes?
        private(set) var isAtEnd = false

        init(from source: Int32, to target: Int32, mask: consuming Mask) {
            self.source = source
            self.target = target
            self.mask = mask
        }

        func pass() throws {
            let target = target
            var buffer = try self.buffer.take() ?? SecretBytes(zeroed: 32_768)
            let count = buffer.withMutableBytes { bytes in
                unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(source, $0.baseAddress, $0.count) }
            }
            if count > 0 {
                try buffer.withBytes { bytes in
                    try mask.pass(bytes.extracting(0..<count)) { try Output.write($0, to: target) }
                }
            } else if count == 0 || errno != EINTR {
                isAtEnd = true
            }
            self.buffer = consume buffer
        }

        func finish() throws {
            let target = target
            try mask.finish { try Output.write($0, to: target) }
        }
    }
}
