// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// A process that connects to a socket any number of times, and neither sends nor reads.
final class SilentProcess {
    private let process = Process()
    private let input = Pipe()

    /// Returns once all connections were made.
    init(at path: String, connections: Int) throws {
        process.executableURL = URL(filePath: "/usr/bin/perl")
        process.arguments = [
            "-MIO::Socket::UNIX", "-e",
            """
            $| = 1; my @all = map { IO::Socket::UNIX->new(Peer => $ARGV[0]) } 1..$ARGV[1]; print "ready\\n"; <STDIN>
            """,
            path, String(connections),
        ]
        let output = Pipe()
        (process.standardInput, process.standardOutput) = (input, output)
        try process.run()
        #expect(try output.fileHandleForReading.read(upToCount: 6) == Data("ready\n".utf8))
    }

    func end() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
