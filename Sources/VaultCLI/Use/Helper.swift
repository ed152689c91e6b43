// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
internal import Synchronization
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
    ///
    /// - Parameter output: what it has as its standard output; -1: nothing.
    func leave(_ bytes: Span<UInt8>, writingTo output: Int32 = -1) throws {
        let input = try Pipe()
        _ = try start(input: input.readEnd, output: output, detached: true)
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

    /// Starts the program beside this process, once it has closed its standard output.
    ///
    /// - Returns: its number, and what it said until then.
    func beside(limit: Int) throws -> (process: Int32, announcement: Secret) {
        let output = try Pipe()
        let process = try start(input: -1, output: output.writeEnd, error: STDERR_FILENO)
        output.closeWriteEnd()
        defer { output.closeReadEnd() }
        let said = try SecretReader.read(
            output.readEnd, limit: limit, tooLong: CommandError(.failure, "'\(arguments[0])' says too much"))
        return (process, Secret(said))
    }

    /// Ends a program that runs beside this process, and waits for its end.
    static func end(_ process: Int32) {
        kill(process, SIGTERM)
        _ = status(of: process)
    }

    /// Runs the program with this process's own standard streams, such as an editor, to its end.
    ///
    /// - Returns: its exit code.
    ///
    /// An interruption is meant for the program, and its end is waited for; both of them stop and go on together.
    func run() throws -> Int32 {
        let (interrupted, quit) = (signal(SIGINT, SIG_IGN), signal(SIGQUIT, SIG_IGN))
        defer {
            signal(SIGINT, interrupted)
            signal(SIGQUIT, quit)
        }
        return Helper.status(of: try start(input: STDIN_FILENO, output: STDOUT_FILENO, error: STDERR_FILENO))
    }

    /// As ``run()``, for a program that shows what it is given, such as a pager. A person may end it before it has read
    /// all of that.
    func show(_ bytes: Span<UInt8>) throws -> Int32 {
        let (interrupted, quit) = (signal(SIGINT, SIG_IGN), signal(SIGQUIT, SIG_IGN))
        defer {
            signal(SIGINT, interrupted)
            signal(SIGQUIT, quit)
        }
        let input = try Pipe()
        let process = try start(input: input.readEnd, output: STDOUT_FILENO, error: STDERR_FILENO)
        input.closeReadEnd()
        _ = Helper.write(bytes, to: input.writeEnd)
        input.closeWriteEnd()
        return Helper.status(of: process)
    }

    /// Gives the program its input and hands on its output part by part, while it runs.
    ///
    /// - Parameter output: what it throws ends the program.
    /// - Returns: nil when there is no such program.
    func converse(_ bytes: Secret?, _ output: (Span<UInt8>) throws -> Void) throws -> (status: Int32, message: String)?
    {
        guard exists else { return nil }
        let (input, answer, complaint) = (try Pipe(), try Pipe(), try Pipe())
        let process = try start(
            input: bytes == nil ? -1 : input.readEnd, output: answer.writeEnd, error: complaint.writeEnd)
        input.closeReadEnd()
        answer.closeWriteEnd()
        complaint.closeWriteEnd()
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            // A program that does not read all of it may have been told enough.
            if let bytes { _ = bytes.withBytes { Helper.write($0, to: input.writeEnd) } }
            input.closeWriteEnd()
        }
        let message = Mutex("")
        DispatchQueue.global().async(group: group) {
            let text = Helper.complaint(complaint.readEnd)
            message.withLock { $0 = text }
            complaint.closeReadEnd()
        }
        defer { answer.closeReadEnd() }
        do { try SecretReader.parts(of: answer.readEnd, output) } catch {
            kill(process, SIGKILL)
            _ = Helper.status(of: process)
            throw error
        }
        let status = Helper.status(of: process)
        // A process that it has left behind may keep its standard error open for ever.
        _ = group.wait(timeout: .now() + .seconds(1))
        return (status, message.withLock { $0 })
    }

    /// The first of what a program says on standard error; the rest is read, so that it does not wait.
    private static func complaint(_ descriptor: Int32) -> String {
        var text: [UInt8] = []
        try? SecretReader.parts(of: descriptor) { part in
            for index in part.indices where text.count < 4096 { text.append(part[index]) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// As shells have it: the exit code, or 128 and the signal.
    private static func status(of process: Int32) -> Int32 {
        var status: Int32 = 0
        var ended = unsafe waitpid(process, &status, 0)
        while ended < 0, errno == EINTR { ended = unsafe waitpid(process, &status, 0) }
        guard ended == process else { return 1 }
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    }

    private static func write(_ bytes: Span<UInt8>, to pipe: Int32) -> Bool {
        unsafe bytes.withUnsafeBytes { unsafe clinux_write_pipe(pipe, $0.baseAddress, $0.count) == 0 }
    }

    private func start(input: Int32, output: Int32, error: Int32 = -1, detached: Bool = false) throws -> Int32 {
        var pointers = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe pointers.forEach { unsafe free($0) } }
        let result = unsafe pointers.withUnsafeMutableBufferPointer {
            unsafe clinux_spawn_helper($0.baseAddress, nil, input, output, error, detached ? 1 : 0)
        }
        guard result > 0 else { throw failure }
        return Int32(result)
    }

    private func wait(for process: Int32) throws {
        guard Helper.status(of: process) == 0 else { throw failure }
    }

    private var failure: CommandError { CommandError(.failure, "'\(arguments[0])' failed") }
}
