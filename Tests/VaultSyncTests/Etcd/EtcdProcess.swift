// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization

/// A running etcd, which ends with the value or with the test process.
final class EtcdProcess: Sendable {
    private let arguments: [String]
    private let running = Mutex<Process?>(nil)

    init(_ arguments: [String]) { self.arguments = ["etcd", "--logger", "zap", "--log-outputs", "stderr"] + arguments }

    deinit { kill() }

    func start() throws { try launch()() }

    /// Starts etcd.
    ///
    /// - Returns: a closure that waits until etcd serves; a member of a cluster serves once the others are there.
    func launch() throws -> () throws -> Void {
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        // Threads of the tests' pool block SIGCHLD, and child processes inherit that, so a shell waits for the server.
        process.executableURL = URL(filePath: "/bin/bash")
        // The server ends with its standard input: it must not outlive the tests.
        process.arguments = ["-c", #""$@" & server=$!; read -r _; kill -9 $server; wait"#, "bash"] + arguments
        (process.standardInput, process.standardError, process.standardOutput) = (input, output, output)
        try process.run()
        running.withLock { $0 = process }
        let handle = output.fileHandleForReading
        return {
            var log = ""
            while !log.contains("serving client traffic"), !log.contains("ready to serve client requests") {
                let part = handle.availableData
                log += String(decoding: part, as: UTF8.self)
                guard !part.isEmpty, !log.contains("\"level\":\"fatal\"") else { throw ServerFailure(log: log) }
            }
            handle.readabilityHandler = { if $0.availableData.isEmpty { $0.readabilityHandler = nil } }
        }
    }

    /// Kills the server, like a power cut.
    func kill() {
        running.withLock { process in
            guard let running = process else { return }
            process = nil
            try? (running.standardInput as? Pipe)?.fileHandleForWriting.close()
            running.waitUntilExit()
        }
    }

    /// Runs another program to its end.
    @discardableResult
    static func run(_ arguments: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        (process.standardInput, process.standardOutput, process.standardError) = (
            FileHandle.nullDevice, output, output
        )
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw ServerFailure(log: text) }
        return text
    }
}

struct ServerFailure: Error {
    let log: String
}
