// SPDX-License-Identifier: Apache-2.0
internal import CLinux
import Foundation
import Synchronization

/// The way a command ended.
enum Ending: Hashable, Sendable {
    case exit(Int32)
    /// Killed by the trial with SIGKILL.
    case killed
    /// Ended by another signal, such as a trap.
    case signal(Int32)
    /// Still running after ``Child/patience``.
    case hung

    var text: String {
        switch self {
        case .exit(let status): "\(status)"
        case .killed: "killed"
        case .signal(let number): "signal \(number)"
        case .hung: "hung"
        }
    }
}

/// A process of the command or of a server. Foundation's `Process` misses the end of one in some thousands of
/// processes.
final class Child: Sendable {
    /// The timeout in milliseconds. No command needs that long, even on a busy machine.
    static let patience: Int32 = 180_000

    let identifier: Int32
    private let errors: String
    private let began = now()
    /// The time of the end, and the status from `waitpid`.
    private let end = Mutex<(time: UInt64, status: Int32)?>(nil)

    /// - Parameters:
    ///   - output: the process's standard output; `nil` to discard it.
    ///   - errors: the file that receives standard error.
    init(
        _ command: String, _ arguments: [String], environment: [String: String], output: FileHandle? = nil,
        errors: String
    ) throws {
        self.errors = errors
        let file = open(errors, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(file) }
        var line = ([command] + arguments).map { strdup($0) } + [nil]
        var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in line + variables { free(text) } }
        let started = clinux_spawn_helper(&line, &variables, -1, output?.fileDescriptor ?? -1, file, 0)
        guard started > 0 else { throw POSIXError(POSIXErrorCode(rawValue: Int32(-started)) ?? .EIO) }
        identifier = Int32(started)
    }

    /// Whether the process is running. The kernel cannot reuse the process id before this property has been read, which
    /// reaps the process.
    var isRunning: Bool {
        end.withLock { end in
            guard end == nil else { return false }
            var status: Int32 = 0
            guard waitpid(identifier, &status, WNOHANG) == identifier else { return true }
            end = (now(), status)
            return false
        }
    }

    /// - Returns: whether the process was still running.
    func kill() -> Bool {
        end.withLock { end in end == nil && Foundation.kill(identifier, SIGKILL) == 0 }
    }

    /// Waits for the process to end.
    func wait() -> Ending {
        let process = Int32(clinux_process(identifier))
        defer { close(process) }
        var isHung = false
        if isRunning, clinux_has_ended(process, Self.patience) != 1 {
            isHung = kill()
            _ = clinux_has_ended(process, Self.patience)
        }
        while isRunning { usleep(1_000) }
        let status = end.withLock { $0?.status ?? 0 }
        if isHung { return .hung }
        guard status & 0x7f != 0 else { return .exit(status >> 8 & 0xff) }
        return status & 0x7f == SIGKILL ? .killed : .signal(status & 0x7f)
    }

    /// The seconds from the start to the end.
    var duration: Double { Double((end.withLock { $0?.time } ?? now()) - began) / 1e9 }

    /// The process's output on standard error.
    var said: String { (try? String(contentsOfFile: errors, encoding: .utf8)) ?? "" }

    /// The last line of standard error that is not a hint.
    var message: String {
        said.split(separator: "\n").last { !$0.hasPrefix("vault: hint") }.map(String.init) ?? "no message"
    }
}
