// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Programs for administrators.
enum Tool {
    struct Failure: Error {
        let text: String
    }

    /// Runs a program, and waits for its end. The program has a higher priority than the hundreds of processes of a
    /// large fleet: an administrator's machine has processors of its own.
    ///
    /// - Parameter line: the program, looked up on the search path, and its arguments.
    /// - Returns: the program's output.
    @discardableResult
    static func run(_ line: [String]) throws -> String {
        let place = FileManager.default.temporaryDirectory.path() + "/tool-\(UInt64.random(in: 0 ... .max))"
        defer { for end in ["out", "err"] { unlink("\(place).\(end)") } }
        _ = FileManager.default.createFile(atPath: place + ".out", contents: nil)
        let output = try FileHandle(forWritingTo: URL(filePath: place + ".out"))
        let child = try Child(
            "/usr/bin/env", ["nice", "-n", "-15"] + line, environment: environment, output: output,
            errors: place + ".err")
        let ending = child.wait()
        guard ending == .exit(0) else {
            throw Failure(text: "\(line.joined(separator: " ")): \(ending.text): \(child.said)")
        }
        return try String(contentsOfFile: place + ".out", encoding: .utf8)
    }

    static func has(_ name: String) -> Bool { path(of: name) != nil }

    static let environment = [
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "ETCDCTL_API": "3",
    ]

    private static func path(of name: String) -> String? {
        environment["PATH"]?.split(separator: ":").map { "\($0)/\(name)" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }
}
