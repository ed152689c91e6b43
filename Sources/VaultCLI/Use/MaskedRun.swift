// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import VaultAgent
internal import VaultCrypto
internal import VaultSystem

/// Runs a command, removes secrets from its output, and exits with its status.
///
/// The command keeps the terminal as its controlling terminal and its input, and stays in the process group of this
/// process: the shell's job control is for both.
final class MaskedRun {
    private let process: Int32
    /// The descriptor that receives signals while the command runs; afterwards signals act on this process as usual.
    private let signals: Descriptor
    private let streams: [MaskedStream]
    private var status: Int32?
    /// The signal that has stopped the command.
    private var stop: Int32?
    private var failure: (any Error)?

    /// The most that is read without waiting: a process left behind by the command may write forever.
    private static let mostAtOnce = 1 << 20

    private init(_ child: Child, hiding secrets: [Secret]) throws {
        let output = try MaskedStream.make(to: STDOUT_FILENO, hiding: secrets)
        let writing = Descriptor(owning: output.writing)
        let isOneTerminal = clinux_is_same_terminal(STDOUT_FILENO, STDERR_FILENO) != 0
        // Through one terminal, lines of both streams keep their order.
        let error = isOneTerminal ? nil : try MaskedStream.make(to: STDERR_FILENO, hiding: secrets)
        let errorWriting = error.map { Descriptor(owning: $0.writing) }
        let (process, signals) = try child.start(output: writing.number, error: error?.writing ?? writing.number)
        self.process = process
        self.signals = Descriptor(owning: signals)
        streams = [output.stream] + (error.map { [$0.stream] } ?? [])
        // With a write end open in this process, the streams would never end.
        _ = consume errorWriting
        writing.close()
    }

    static func run(_ child: Child, hiding secrets: [Secret]) throws -> Never {
        let run = try MaskedRun(child, hiding: secrets)
        while run.status == nil { run.step() }
        for stream in run.streams {
            run.drain(stream)
            run.finish(stream)
        }
        if let failure = run.failure { throw failure }
        clinux_end_as(run.status ?? 0)
    }

    private func step() {
        var waiting = streams.map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
        waiting.append(pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0))
        let count = unsafe waiting.withUnsafeMutableBufferPointer { unsafe poll($0.baseAddress, nfds_t($0.count), -1) }
        guard count > 0 else { return }
        for (stream, waiting) in zip(streams, waiting) where waiting.revents != 0 { pass(stream) }
        passSignals()
        guard let stop, status == nil else { return }
        // A full-screen program leaves the screen before it stops.
        for stream in streams { drain(stream) }
        self.stop = nil
        clinux_stop_as(stop)
        followSize()
    }

    /// Passes what is available.
    private func drain(_ stream: MaskedStream) {
        var rest = MaskedRun.mostAtOnce
        while rest > 0, stream.isReady { rest -= max(pass(stream), 1) }
    }

    private func finish(_ stream: MaskedStream) {
        guard failure == nil else { return }
        do { try stream.finish { try self.write($0, to: stream.target) } } catch { failure = error }
    }

    /// If the output cannot be written, closing the stream tells the command so.
    @discardableResult
    private func pass(_ stream: MaskedStream) -> Int {
        // The shell of a command may have made another process group the foreground one, so that no signal came.
        followSize()
        do {
            let count = try stream.pass { try self.write($0, to: stream.target) }
            stream.followModes { belongs($0) }
            return count
        } catch {
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
            guard count > 0 else { throw CommandError.cannot("write the output", Errno(rawValue: errno)) }
            written += count
        }
    }

    private func passSignals() {
        var passed: Int32 = 0
        while status == nil {
            let signal = unsafe clinux_next_command_signal(signals.number, &passed)
            guard signal != 0 else { return }
            if signal == SIGCHLD { reap() } else if passed != 0 { kill(process, signal) }
            if signal == SIGWINCH { followSize() }
        }
    }

    private func reap() {
        var status: Int32 = 0
        while unsafe waitpid(process, &status, WNOHANG | WUNTRACED | WCONTINUED) == process {
            if status == 0xffff {
                stop = nil
            } else if status & 0xff == 0x7f {
                stop = (status >> 8) & 0xff
            } else {
                self.status = status
                return clinux_unblock_command_signals()
            }
        }
    }

    /// Tells the command of another size. The signal of the terminal may have come before the command's terminal had
    /// that size.
    private func followSize() {
        for stream in streams where stream.followSize() {
            let foreground = stream.foreground
            kill(-(belongs(foreground) ? foreground : getpgrp()), SIGWINCH)
        }
    }

    /// Whether a process group is the command's own, or one that a shell below it has made.
    private func belongs(_ group: Int32) -> Bool {
        guard group > 0, group != getpgrp() else { return group > 0 }
        var (next, left) = (Optional(group), 64)
        while let ancestor = next, ancestor > 1, left > 0 {
            if ancestor == process { return true }
            (next, left) = (ProcessTable.parent(of: ancestor), left - 1)
        }
        return false
    }
}
