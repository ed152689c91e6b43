// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import SystemPackage

/// A running `ssh`: its end, and what it says.
final class SSHProcess: ServedPeer {
    private struct State {
        var said: [UInt8] = []
        var isReaped = false
        var ending: SSHEnding?
    }

    private static let longestSaying = 2048
    /// How long what has ended may take to say why, and what was told to end to do that.
    private static let patience = Duration.seconds(1)

    private let command: SSHCommand
    private let number: Int32
    /// Readable once it has ended.
    private let handle: Int32
    private let stopPipe: StopPipe
    private let listening = DispatchGroup()
    private let state = Mutex(State())

    /// Starts it in a session of its own: what a terminal sends to this command is not meant for it, and it finds no
    /// terminal to ask at.
    ///
    /// - Throws: `.unreachable` when there is no ssh.
    static func start(
        _ command: SSHCommand, patience: Duration
    ) throws(RecordStoreError) -> (FramePipes, SSHProcess) {
        do throws(Errno) {
            let stop = try StopPipe()
            let (input, output, error) = (try Ends(), try Ends(), try Ends())
            let pipes = try FramePipes(
                input: output.reading, output: input.writing, ownsDescriptors: true, patience: patience)
            (output.reading, input.writing) = (-1, -1)
            let number = try start(command.arguments, input.reading, output.writing, error.writing)
            let process = SSHProcess(command, number, error.reading, stop)
            error.reading = -1
            return (pipes, process)
        } catch {
            guard error == .noSuchFileOrDirectory else { throw .inputOutput(error, command.byHand) }
            throw .unreachable("there is no ssh on this machine: install openssh-client")
        }
    }

    /// A pipe, whose ends are closed with the value but for those that went on to an owner of their own.
    private final class Ends {
        var reading: Int32
        var writing: Int32

        init() throws(Errno) {
            (reading, writing) = try StopPipe.pipe()
        }

        deinit { for end in [reading, writing] where end >= 0 { close(end) } }
    }

    private static func start(
        _ arguments: [String], _ input: Int32, _ output: Int32, _ error: Int32
    ) throws(Errno) -> Int32 {
        var pointers = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe pointers.forEach { unsafe free($0) } }
        // The strings live as long as the call.
        let result = unsafe pointers.withUnsafeMutableBufferPointer {
            unsafe clinux_spawn_helper($0.baseAddress, nil, input, output, error, 1)
        }
        guard result > 0 else { throw Errno(rawValue: CInt(-result)) }
        return Int32(result)
    }

    private init(_ command: SSHCommand, _ number: Int32, _ error: Int32, _ stop: StopPipe) {
        (self.command, self.number, stopPipe) = (command, number, stop)
        // A process that was not waited for keeps its number.
        handle = Int32(clamping: clinux_process(number))
        _ = clinux_set_nonblocking(error)
        DispatchQueue(label: "vault.ssh").async(group: listening) { [self] in listen(to: error) }
    }

    deinit { if handle >= 0 { close(handle) } }

    /// The last of what it says is kept; all of it is read, so that it does not wait.
    private func listen(to error: Int32) {
        defer { close(error) }
        var part = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe read(error, &part, part.count)
            if count > 0 {
                state.withLock { $0.said = ($0.said + part[..<count]).suffix(Self.longestSaying) }
            } else if count == 0 || errno != EAGAIN && errno != EINTR {
                return
            } else if (try? stopPipe.wait(for: error, within: nil)) == nil {
                return
            }
        }
    }

    func reason(of failure: PipeFailure) -> RecordStoreError {
        if failure == .ended {
            _ = reap(within: Self.patience)
            // What it has started may keep its standard error open.
            _ = listening.wait(timeout: .now() + Self.patience / .seconds(4))
        }
        let (said, ending) = state.withLock { ($0.said, $0.ending) }
        return .unreachable(
            SSHComplaint(
                said: String(decoding: said, as: UTF8.self), ending: ending, failure: failure, byHand: command.byHand
            ).words)
    }

    func end() {
        if !reap(within: .zero) {
            signal(SIGTERM)
            if !reap(within: Self.patience) {
                signal(SIGKILL)
                _ = reap(within: nil)
            }
        }
        stopPipe.stop()
        listening.wait()
    }

    /// Once it was reaped its number may be another process's.
    private func signal(_ number: CInt) { state.withLock { if !$0.isReaped { kill(self.number, number) } } }

    /// - Returns: whether it has ended in that time; nil: it is waited for.
    private func reap(within patience: Duration?) -> Bool {
        if let patience, handle >= 0 {
            _ = clinux_has_ended(handle, Int32(clamping: Int64(patience / .milliseconds(1))))
        }
        return state.withLock { state in
            guard !state.isReaped else { return true }
            var status: Int32 = 0
            var ended: Int32
            repeat {
                ended = unsafe waitpid(number, &status, patience == nil ? 0 : WNOHANG)
            } while ended < 0 && errno == EINTR
            guard ended != 0 else { return false }
            state.isReaped = true
            if ended == number {
                let signal = status & 0x7f
                state.ending = signal == 0 ? .exited((status >> 8) & 0xff) : .killed(signal)
            }
            return true
        }
    }
}
