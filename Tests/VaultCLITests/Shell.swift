// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport

/// An empty home and a shell that finds `vault`. The shell has no terminal unless requested.
final class Shell {
    struct Result {
        var output: String
        var error: String
        var status: Int32
    }

    let home: TemporaryDirectory
    private let runtime: TemporaryDirectory

    init() throws {
        home = try TemporaryDirectory()
        runtime = try TemporaryDirectory()
        try home.write(Array("correct horse battery staple\n".utf8), to: "pass")
        try home.write(Array("tr0ub4dor&3\n".utf8), to: "other")
    }

    deinit {
        // Stops an agent that the test left running; without its socket the agent would end by itself, but later.
        if FileManager.default.fileExists(atPath: runtime.path.appending("vault/agent.sock").string) {
            _ = try? run("vault agent --stop")
        }
    }

    /// Whether a user namespace may mount a disk of its own, which some systems forbid.
    static let mayMount = (try? Shell().run("unshare -Urm mount -t tmpfs none . && echo yes").output) == "yes\n"

    static let (binaries, commands) = (Programs.built, Programs.commands)

    /// The program that runs another with security keys in software.
    static let securityKey = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../VaultFIDOTests/securitykey.py"
    ).standardized.path()

    var environment: [String: String] {
        [
            "PATH": Self.commands + ":" + Self.binaries
                + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": home.path.string,
            "LANG": "C.UTF-8", "TMPDIR": home.path.string, "VECTORS": Vectors.directory,
            "CHIP": URL(filePath: #filePath).deletingLastPathComponent().appending(path: "chip.py").path(),
            "KEY": "/usr/bin/python3 \(Self.securityKey)",
            "XDG_RUNTIME_DIR": runtime.path.string,
        ]
    }

    /// Runs a command in the background that waits for a later one.
    ///
    /// - Returns: The first line of the output. ``endOfAside()`` returns the exit code.
    func firstLine(ofAside command: String) throws -> String {
        // The command counts as running while any process it started holds the lock, independent of process ids.
        return try run(
            """
            mkfifo .line
            (
                for fd in /proc/self/fd/*; do fd=${fd##*/}; [ "$fd" -le 2 ] || eval "exec $fd>&-"; done
                exec 9>.busy; flock 9
                \(command) >.line 2>.aside; echo $? >.end
            ) </dev/null >/dev/null 2>&1 &
            head -1 .line
            """
        ).output
    }

    func endOfAside() throws -> Int32? { Int32(try run("flock .busy cat .end").output.filter { $0 != "\n" }) }

    func run(_ command: String) throws -> Result {
        let process = Process()
        // The threads of tests block signals, and an event loop ignores SIGPIPE: a child would inherit that.
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["--default-signal", "setsid", "--wait", "/bin/bash", "-c", command]
        process.environment = environment
        process.currentDirectoryURL = URL(filePath: home.path.string)
        // Files take any amount of output without a concurrent reader.
        let (out, err) = (home.path.appending(".stdout"), home.path.appending(".stderr"))
        for path in [out, err] { _ = FileManager.default.createFile(atPath: path.string, contents: nil) }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: out.string))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: err.string))
        try process.run()
        process.waitUntilExit()
        return Result(
            output: String(decoding: try Data(contentsOf: URL(filePath: out.string)), as: UTF8.self),
            error: String(decoding: try Data(contentsOf: URL(filePath: err.string)), as: UTF8.self),
            status: process.terminationStatus)
    }
}
