// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization

/// A running etcd, which ends with the value or with the process of the tests.
final class EtcdProcess: Sendable {
    private let arguments: [String]
    private let running = Mutex<Process?>(nil)

    init(_ arguments: [String]) { self.arguments = ["etcd", "--logger", "zap", "--log-outputs", "stderr"] + arguments }

    deinit { kill() }

    func start() throws { try launch()() }

    /// Starts it.
    ///
    /// - Returns: what waits until it serves; a member of a cluster does once the others are there.
    func launch() throws -> () throws -> Void {
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        // A thread of the tests' pool keeps SIGCHLD to itself, and so do its children: another shell waits for that.
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

    /// As a power cut would.
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
