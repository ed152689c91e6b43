// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization

/// How a command ended.
enum Ending: Hashable, Sendable {
    case exit(Int32)
    /// The trial killed it with SIGKILL.
    case killed
    /// Another signal: a trap, for example.
    case signal(Int32)
    /// Not within ``Child/patience``.
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

/// A process of the command.
final class Child: Sendable {
    /// No command needs that long, however busy the machine is.
    static let patience = 180

    private let process = Process()
    private let errors: String
    private let began = now()
    private let ended = Mutex<UInt64>(0)
    private let end = DispatchSemaphore(value: 0)

    /// - Parameter errors: the file that receives standard error.
    init(
        _ command: String, _ arguments: [String], environment: [String: String], output: FileHandle? = nil,
        errors: String
    ) throws {
        self.errors = errors
        _ = FileManager.default.createFile(atPath: errors, contents: nil)
        process.executableURL = URL(filePath: command)
        process.arguments = arguments
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output ?? FileHandle.nullDevice
        process.standardError = try FileHandle(forWritingTo: URL(filePath: errors))
        process.terminationHandler = { [weak self] _ in
            self?.ended.withLock { $0 = now() }
            self?.end.signal()
        }
        try process.run()
    }

    /// - Returns: whether the process was still running.
    func kill() -> Bool {
        process.isRunning && Foundation.kill(process.processIdentifier, SIGKILL) == 0
    }

    /// Waits for the end. Once.
    func wait() -> Ending {
        if end.wait(timeout: .now() + .seconds(Self.patience)) == .timedOut {
            _ = kill()
            end.wait()
            return .hung
        }
        let status = process.terminationStatus
        guard process.terminationReason == .uncaughtSignal else { return .exit(status) }
        return status == SIGKILL ? .killed : .signal(status)
    }

    /// Seconds from the start to the end.
    var duration: Double { Double(ended.withLock { $0 } - began) / 1e9 }

    /// The last line of standard error that is no hint.
    var message: String {
        let text = (try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").last { !$0.hasPrefix("vault: hint") }.map(String.init) ?? "no message"
    }
}
