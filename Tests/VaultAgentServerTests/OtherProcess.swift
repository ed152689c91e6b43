// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Synchronization
import Testing
import VaultAgent

@testable import VaultAgentServer

/// A process that a door can speak for. The process runs until `end()` or the end of the test.
final class OtherProcess {
    static let program = "/usr/bin/perl"

    private let process = Process()
    private let input = Pipe()
    /// The line that the process printed when ready.
    let said: String

    /// - Parameter first: Perl code that runs before the process is ready and may print one line.
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

    /// Kills the process and waits until it is reaped.
    func end() {
        // A thread that starts a process may block every other signal, and the child inherits the mask.
        if process.isRunning { kill(id, SIGKILL) }
        process.waitUntilExit()
    }
}

extension ClientProcess {
    /// The process with everything that the agent can see of it.
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
