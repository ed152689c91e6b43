// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import SystemPackage
internal import VaultCrypto
internal import VaultStorage
internal import VaultFormat
internal import VaultSystem

/// Another program, to which bytes are passed, or from which they are read: through pipes, never as arguments.
struct Helper {
    private let arguments: [String]

    init(_ arguments: [String]) { self.arguments = arguments }

    /// The path of this program, by its usual name.
    static var ownExecutable: String {
        let path = try? LinuxFileSystem().resolve("/proc/self/exe")
        // After an upgrade, the running version is still accessible through its descriptor.
        return path.flatMap { unsafe access($0.string, X_OK) == 0 ? $0.string : nil } ?? "/proc/self/exe"
    }

    /// Whether the program exists on the search path.
    var exists: Bool {
        let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/usr/bin:/bin"
        return path.split(separator: ":").contains { unsafe access("\($0)/\(arguments[0])", X_OK) == 0 }
    }

    static func pipe() throws -> DescriptorPair {
        do throws(Errno) { return try DescriptorPair() } catch {
            throw CommandError(.resources, "cannot make a pipe: \(error.text)")
        }
    }

    /// Passes the bytes to the program's standard input, and waits for its exit.
    func give(_ bytes: Span<UInt8>) throws {
        // A program that does not read all of it has failed, and reports that by its exit code.
        guard try status(reading: bytes, output: -1) == 0 else { throw failure }
    }

    /// Returns the program's standard output.
    func answer() throws -> SecretBytes {
        let output = try Helper.pipe()
        let process = try start(input: -1, output: output.writing.number)
        output.writing.close()
        let answer = try SecretReader.read(output.reading.number, limit: Layout.valueLimit, tooLong: tooLong)
        guard Helper.status(of: process) == 0 else { throw failure }
        return answer
    }

    /// Starts the program in a session of its own, with `bytes` as its standard input, and leaves it running. The bytes
    /// must fit into a pipe.
    ///
    /// - Parameter output: the descriptor for its standard output; -1 for none.
    func leave(_ bytes: Span<UInt8>, writingTo output: Int32 = -1) throws {
        let input = try Helper.pipe()
        _ = try start(input: input.reading.number, output: output, detached: true)
        input.reading.close()
        guard Helper.write(bytes, to: input.writing) else { throw failure }
    }

    /// Starts the program in a session of its own, with a pipe as its standard input, and leaves it running.
    func leave(reading descriptor: Int32) throws { _ = try start(input: descriptor, output: -1, detached: true) }

    /// Starts the program in a session of its own, and leaves it running once it has closed its standard output.
    ///
    /// - Returns: its output until then.
    func announcement(limit: Int) throws -> SecretBytes {
        let output = try Helper.pipe()
        _ = try start(input: -1, output: output.writing.number, detached: true)
        output.writing.close()
        return try SecretReader.read(output.reading.number, limit: limit, tooLong: tooLong)
    }

    /// Starts the program beside this process, with its standard error; ``end(_:)`` ends the program.
    ///
    /// - Returns: its process number.
    func beside(input: Int32, output: Int32) throws -> Int32 {
        try start(input: input, output: output, error: STDERR_FILENO)
    }

    /// Terminates a program that runs beside this process, and waits for its exit.
    static func end(_ process: Int32) {
        kill(process, SIGTERM)
        _ = status(of: process)
    }

    /// Runs the program with this process's own standard streams, such as an editor, and waits for its exit.
    ///
    /// - Returns: the exit code.
    ///
    /// An interrupt is for the program, whose exit is waited for; both stop and continue together.
    func run() throws -> Int32 {
        try Helper.uninterrupted {
            Helper.status(of: try start(input: STDIN_FILENO, output: STDOUT_FILENO, error: STDERR_FILENO))
        }
    }

    private static func uninterrupted<R>(_ body: () throws -> R) rethrows -> R {
        let (interrupted, quit) = (signal(SIGINT, SIG_IGN), signal(SIGQUIT, SIG_IGN))
        defer {
            signal(SIGINT, interrupted)
            signal(SIGQUIT, quit)
        }
        return try body()
    }

    /// Like ``run()``, for a program that displays its input, such as a pager. The user may quit it before it has read
    /// all input.
    func show(_ bytes: Span<UInt8>) throws -> Int32 {
        try Helper.uninterrupted { try status(reading: bytes, output: STDOUT_FILENO, error: STDERR_FILENO) }
    }

    /// Runs the program with the bytes as its standard input, of which it may leave a part, and waits for its exit.
    private func status(reading bytes: Span<UInt8>, output: Int32, error: Int32 = -1) throws -> Int32 {
        let input = try Helper.pipe()
        let process = try start(input: input.reading.number, output: output, error: error)
        input.reading.close()
        _ = Helper.write(bytes, to: input.writing)
        input.writing.close()
        return Helper.status(of: process)
    }

    /// Passes input to the program, and processes its output in parts while it runs.
    ///
    /// - Parameter output: receives the output; an error thrown by it terminates the program.
    /// - Returns: `nil` if there is no such program.
    func converse(_ bytes: Secret?, _ output: (Span<UInt8>) throws -> Void) throws -> (status: Int32, message: String)?
    {
        guard exists else { return nil }
        let input = try Helper.pipe()
        let answer = try Helper.pipe()
        let complaint = try Helper.pipe()
        let process = try start(
            input: bytes == nil ? -1 : input.reading.number, output: answer.writing.number,
            error: complaint.writing.number)
        input.reading.close()
        answer.writing.close()
        complaint.writing.close()
        let group = DispatchGroup()
        let (asked, said) = (input.writing.take(), complaint.reading.take())
        DispatchQueue.global().async(group: group) {
            let writing = Descriptor(owning: asked)
            // A program that does not read all input may not need the rest.
            if let bytes { _ = bytes.withBytes { Helper.write($0, to: writing) } }
        }
        let message = Mutex("")
        DispatchQueue.global().async(group: group) {
            let text = Helper.complaint(Descriptor(owning: said))
            message.withLock { $0 = text }
        }
        do { try SecretReader.parts(of: answer.reading.number, output) } catch {
            kill(process, SIGKILL)
            _ = Helper.status(of: process)
            throw error
        }
        let status = Helper.status(of: process)
        // A process left behind by the program may keep its standard error open indefinitely.
        _ = group.wait(timeout: .now() + .seconds(1))
        return (status, message.withLock { $0 })
    }

    /// Returns the start of a program's standard error; the rest is read and dropped, so that the program does not
    /// block.
    private static func complaint(_ pipe: consuming Descriptor) -> String {
        var text: [UInt8] = []
        try? SecretReader.parts(of: pipe.number) { part in
            for index in part.indices where text.count < 4096 { text.append(part[index]) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the exit code as shells do, or 128 plus the signal.
    private static func status(of process: Int32) -> Int32 {
        var status: Int32 = 0
        var ended = unsafe waitpid(process, &status, 0)
        while ended < 0, errno == EINTR { ended = unsafe waitpid(process, &status, 0) }
        guard ended == process else { return 1 }
        return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    }

    private static func write(_ bytes: Span<UInt8>, to pipe: borrowing Descriptor) -> Bool {
        let number = pipe.number
        return unsafe bytes.withUnsafeBytes { unsafe clinux_write_pipe(number, $0.baseAddress, $0.count) == 0 }
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

    private var failure: CommandError { CommandError(.failure, "'\(arguments[0])' failed") }

    private var tooLong: CommandError { CommandError(.failure, "'\(arguments[0])' says too much") }
}
