// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport

@testable import VaultSync

/// `vault remote serve` as run by ssh, but without ssh.
final class ServedCommand: ServedPeer {
    private let directory: TemporaryDirectory
    private let process = Process()
    private let (input, output) = (Pipe(), Pipe())

    private init(_ directory: TemporaryDirectory) throws {
        self.directory = directory
        process.executableURL = URL(filePath: Programs.commands).appending(path: "vault")
        process.arguments = ["remote", "serve", "--", directory.path.string]
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
    }

    /// - Parameter directory: kept as long as the link.
    static func link(to directory: TemporaryDirectory) throws -> ServedLink {
        ServedLink { () throws(RecordStoreError) in
            let command: ServedCommand
            let pipes: FramePipes
            do {
                command = try ServedCommand(directory)
                // The pipes belong to the command, which outlives them.
                pipes = try FramePipes(
                    input: command.output.fileHandleForReading.fileDescriptor,
                    output: command.input.fileHandleForWriting.fileDescriptor,
                    patience: .seconds(30))
            } catch { throw .unreachable("\(error)") }
            return try ServedConnection(pipes, with: command)
        }
    }

    func reason(of failure: PipeFailure) -> RecordStoreError { .unreachable("\(failure)") }

    func end() {
        // Threads of the tests' pool block other signals, and child processes inherit that.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
