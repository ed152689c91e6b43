// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import VaultCrypto
internal import VaultStorage
internal import VaultFormat

/// Both ends of a pipe, of which a child gets none that it is not given.
struct Pipe {
    let readEnd: Int32
    let writeEnd: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        let result = unsafe ends.withUnsafeMutableBufferPointer { unsafe clinux_pipe($0.baseAddress) }
        guard result == 0 else {
            throw CommandError(
                .resources, "cannot make a pipe: \(Errno(rawValue: CInt(-result)).description.lowercased())")
        }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    func closeReadEnd() { close(readEnd) }

    func closeWriteEnd() { close(writeEnd) }
}

/// Another program that is given bytes, or asked for some. Bytes go through pipes, never through its
/// arguments.
struct Helper {
    private let arguments: [String]

    init(_ arguments: [String]) { self.arguments = arguments }

    /// This very program, by the name that people know it by.
    static var ownExecutable: String {
        let path = try? LinuxFileSystem().resolve("/proc/self/exe")
        // One that was upgraded meanwhile is still there under its descriptor.
        return path.flatMap { unsafe access($0.string, X_OK) == 0 ? $0.string : nil } ?? "/proc/self/exe"
    }

    /// Whether there is such a program on the search path.
    var exists: Bool {
        let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/bin:/bin"
        return path.split(separator: ":").contains { unsafe access("\($0)/\(arguments[0])", X_OK) == 0 }
    }

    /// Gives the program its standard input and waits for its end.
    func give(_ bytes: Span<UInt8>) throws {
        let input = try Pipe()
        let process = try start(input: input.readEnd, output: -1)
        input.closeReadEnd()
        // Who does not read all of it has failed, and says so by its code.
        _ = Helper.write(bytes, to: input.writeEnd)
        input.closeWriteEnd()
        try wait(for: process)
    }

    /// The program's standard output.
    func answer() throws -> SecretBytes {
        let output = try Pipe()
        let process = try start(input: -1, output: output.writeEnd)
        output.closeWriteEnd()
        defer { output.closeReadEnd() }
        let tooLong = CommandError(.failure, "'\(arguments[0])' says too much")
        let answer = try SecretReader.read(output.readEnd, limit: Layout.valueLimit, tooLong: tooLong)
        try wait(for: process)
        return answer
    }

    /// Starts the program in a session of its own, with `bytes` as its standard input, and leaves it there. The bytes
    /// must fit into a pipe.
    func leave(_ bytes: Span<UInt8>) throws {
        let input = try Pipe()
        _ = try start(input: input.readEnd, output: -1, detached: true)
        input.closeReadEnd()
        let isWritten = Helper.write(bytes, to: input.writeEnd)
        input.closeWriteEnd()
        guard isWritten else { throw failure }
    }

    /// Starts the program in a session of its own, and leaves it there with the end of a pipe as its standard input.
    func leave(reading descriptor: Int32) throws { _ = try start(input: descriptor, output: -1, detached: true) }

    /// Starts the program in a session of its own and leaves it there, once it has closed its standard output.
    ///
    /// - Returns: what it said until then.
    func announcement(limit: Int) throws -> SecretBytes {
        let output = try Pipe()
        _ = try start(input: -1, output: output.writeEnd, detached: true)
        output.closeWriteEnd()
        defer { output.closeReadEnd() }
        return try SecretReader.read(
            output.readEnd, limit: limit, tooLong: CommandError(.failure, "'\(arguments[0])' says too much"))
    }

    private static func write(_ bytes: Span<UInt8>, to pipe: Int32) -> Bool {
        unsafe bytes.withUnsafeBytes { unsafe clinux_write_pipe(pipe, $0.baseAddress, $0.count) == 0 }
    }

    private func start(input: Int32, output: Int32, detached: Bool = false) throws -> Int32 {
        var pointers = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe pointers.forEach { unsafe free($0) } }
        let result = unsafe pointers.withUnsafeMutableBufferPointer {
            unsafe clinux_spawn_helper($0.baseAddress, input, output, detached ? 1 : 0)
        }
        guard result > 0 else { throw failure }
        return Int32(result)
    }

    private func wait(for process: Int32) throws {
        var status: Int32 = 0
        var ended = unsafe waitpid(process, &status, 0)
        while ended < 0, errno == EINTR { ended = unsafe waitpid(process, &status, 0) }
        guard ended == process, status == 0 else { throw failure }
    }

    private var failure: CommandError { CommandError(.failure, "'\(arguments[0])' failed") }
}
