// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import SystemPackage
internal import VaultSystem

/// A running `ssh`: its output on standard error, and its end.
final class SSHProcess: ServedPeer {
    private struct State {
        var said: [UInt8] = []
        var isReaped = false
        var ending: SSHEnding?
    }

    private static let longestSaying = 2048
    /// The longest wait for an ended program's last words, and for the end of a program after SIGTERM.
    private static let patience = Duration.seconds(1)

    private let command: SSHCommand
    private let number: Int32
    /// A pidfd, readable once the process has ended; `nil` if the kernel has none.
    private let handle: Descriptor?
    private let stopPipe: StopPipe
    private let listening = DispatchGroup()
    private let state = Mutex(State())

    /// Starts `ssh` in a session of its own: signals of the terminal to this command do not reach it, and it finds no
    /// terminal to ask at.
    ///
    /// - Throws: `.unreachable` if no ssh is installed.
    static func start(_ command: SSHCommand, patience: Duration) throws(RecordStoreError) -> (FramePipes, SSHProcess) {
        do throws(Errno) {
            let stop = try StopPipe()
            let input = try DescriptorPair()
            let output = try DescriptorPair()
            let error = try DescriptorPair()
            let pipes = try FramePipes(owning: output.reading, input.writing, patience: patience)
            let number = try start(
                command.arguments, input.reading.number, output.writing.number, error.writing.number)
            let process = SSHProcess(command, number, error.reading, stop)
            return (pipes, process)
        } catch {
            guard error == .noSuchFileOrDirectory else { throw .inputOutput(error, command.byHand) }
            throw .unreachable("there is no ssh on this machine: install openssh-client")
        }
    }

    private static func start(
        _ arguments: [String], _ input: Int32, _ output: Int32, _ error: Int32
    ) throws(Errno) -> Int32 {
        var pointers = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe pointers.forEach { unsafe free($0) } }
        // The strings outlive the call.
        let result = unsafe pointers.withUnsafeMutableBufferPointer {
            unsafe clinux_spawn_helper($0.baseAddress, nil, input, output, error, 1)
        }
        guard result > 0 else { throw Errno(rawValue: CInt(-result)) }
        return Int32(result)
    }

    private init(_ command: SSHCommand, _ number: Int32, _ error: consuming Descriptor, _ stop: StopPipe) {
        (self.command, self.number, stopPipe) = (command, number, stop)
        // A process keeps its number until it is reaped.
        handle = try? Descriptor(clinux_process(number))
        _ = clinux_set_nonblocking(error.number)
        let error = error.take()
        DispatchQueue(label: "vault.ssh").async(group: listening) { [self] in listen(to: Descriptor(owning: error)) }
    }

    /// Reads all of standard error, so that the process never blocks, and keeps the end of it.
    private func listen(to error: consuming Descriptor) {
        var part = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe read(error.number, &part, part.count)
            if count > 0 {
                state.withLock { $0.said = ($0.said + part[..<count]).suffix(Self.longestSaying) }
            } else if count == 0 || errno != EAGAIN && errno != EINTR {
                return
            } else if (try? stopPipe.wait(for: error.number, within: nil)) == nil {
                return
            }
        }
    }

    func reason(of failure: PipeFailure) -> RecordStoreError {
        if failure == .ended {
            _ = reap(within: Self.patience)
            // A child of the process may keep its standard error open.
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

    /// Sends nothing after the reaping: another process may have the number by then.
    private func signal(_ number: CInt) { state.withLock { if !$0.isReaped { kill(self.number, number) } } }

    /// - Parameter patience: the longest wait; `nil` waits until the end.
    /// - Returns: whether the process has been reaped.
    private func reap(within patience: Duration?) -> Bool {
        switch handle {
        case .some(let handle):
            if let patience {
                _ = clinux_has_ended(handle.number, Int32(clamping: Int64(patience / .milliseconds(1))))
            }
        case .none: break
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
