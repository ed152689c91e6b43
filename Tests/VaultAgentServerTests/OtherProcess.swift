// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization
import Testing
import VaultAgent

@testable import VaultAgentServer

/// A process for which a door may speak. It runs until it is told to end, or the test does.
final class OtherProcess {
    static let program = "/usr/bin/perl"

    private let process = Process()
    private let input = Pipe()
    /// What it has said when it was ready.
    let said: String

    /// - Parameter first: what it does before it is ready, in Perl; it may print one line.
    init(_ first: String = "print 'ready'") throws {
        process.executableURL = URL(filePath: Self.program)
        process.arguments = ["-e", "$| = 1; \(first); print \"\\n\"; readline"]
        let output = Pipe()
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        var said = Data()
        while said.last != UInt8(ascii: "\n"), let byte = try output.fileHandleForReading.read(upToCount: 1),
            !byte.isEmpty
        {
            said += byte
        }
        self.said = String(decoding: said.dropLast(), as: UTF8.self)
    }

    deinit { end() }

    var id: Int32 { process.processIdentifier }

    var behalf: Behalf { get throws { try Self.behalf(of: id) } }

    static func behalf(of id: Int32) throws -> Behalf {
        let startTime = try #require(ProcessTable.startTime(of: id))
        return try #require(Behalf(process: id, startTime: startTime, sandbox: nil))
    }

    /// Returns when it has ended, and nothing of it is left.
    func end() {
        // A thread that starts a process may block all other signals, and the process then does too.
        if process.isRunning { kill(id, SIGKILL) }
        process.waitUntilExit()
    }
}

extension ClientProcess {
    /// The process with all that is to be seen of it.
    func looked(_ handle: ProcessHandle = .unheld) -> ClientProcess {
        let found = Mutex(self)
        let done = DispatchSemaphore(value: 0)
        look(handle) { process in
            found.withLock { $0 = process }
            done.signal()
        }
        done.wait()
        return found.withLock { $0 }
    }
}
