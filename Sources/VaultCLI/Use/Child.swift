// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import SystemPackage
internal import VaultCrypto
internal import VaultSystem

/// A command to be run with its environment variables in locked memory: only the kernel copies them, into the new
/// process.
struct Child {
    private let arguments: [String]
    /// The variables as `NAME=value`, each followed by a zero byte.
    private let block: Secret
    private let names: Set<[UInt8]>
    private let starts: [Int]

    /// - Throws: code 1 for a value with a zero byte, which no environment can contain.
    init(_ arguments: [String], variables: [(name: String, value: Secret)]) throws {
        self.arguments = arguments
        names = Set(variables.map { Array($0.name.utf8) })
        var length = 0
        var starts: [Int] = []
        for (name, value) in variables {
            let hasZero = value.withBytes { bytes in bytes.indices.contains { bytes[$0] == 0 } }
            guard !hasZero else {
                throw CommandError(.failure, "\(name): the secret has a zero byte", hint: "pass it as a file: --path")
            }
            starts.append(length)
            length += name.utf8.count + value.count + 2
        }
        self.starts = starts
        var block = try SecretBytes(zeroed: length)
        for ((name, value), start) in zip(variables, starts) {
            block.replace(at: start, with: Array("\(name)=".utf8).span)
            value.withBytes { block.replace(at: start + name.utf8.count + 1, with: $0) }
        }
        self.block = Secret(block)
    }

    /// Replaces this process by the command. Returns only by throwing.
    func replaceThisProcess() throws -> Never {
        let failure = unsafe withPointers { arguments, environment in unsafe clinux_execute(arguments, environment) }
        throw Child.failure(failure)
    }

    /// Starts the command with its output redirected to two pipes.
    ///
    /// - Returns: its process number, and a descriptor for signals, which the caller closes.
    func start(output: Int32, error: Int32) throws -> (process: Int32, signals: Int32) {
        var signals: Int32 = -1
        let result = unsafe withPointers { arguments, environment in
            unsafe clinux_spawn(arguments, environment, output, error, &signals)
        }
        guard result > 0 else { throw Child.failure(result) }
        return (Int32(result), signals)
    }

    private static func failure(_ result: Int) -> CommandError {
        let errno = Errno(rawValue: CInt(-result))
        guard errno != .noSuchFileOrDirectory else { return CommandError(.commandNotFound, "there is no such command") }
        return CommandError(.cannotRun, "cannot run the command: \(errno.text)")
    }

    /// Lends the arguments and the environment in C's form: arrays of strings that end with a null pointer.
    private func withPointers(
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>)
            -> Int
    ) -> Int {
        var pointers = unsafe arguments.map { unsafe strdup($0) } + [nil]
        defer { unsafe pointers.forEach { unsafe free($0) } }
        return block.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { block in
                var environment: [UnsafeMutablePointer<CChar>?] = unsafe []
                var inherited = unsafe clinux_environment()
                while let variable = unsafe inherited?.pointee {
                    if unsafe !names.contains(Child.name(of: variable)) { unsafe environment.append(variable) }
                    unsafe inherited = unsafe inherited?.advanced(by: 1)
                }
                for start in starts {
                    // The kernel only reads the strings.
                    let variable = unsafe block.baseAddress.map { unsafe UnsafeMutableRawPointer(mutating: $0 + start) }
                    unsafe environment.append(variable?.assumingMemoryBound(to: CChar.self))
                }
                unsafe environment.append(nil)
                return unsafe pointers.withUnsafeMutableBufferPointer { arguments in
                    unsafe environment.withUnsafeMutableBufferPointer { environment in
                        guard let first = arguments.baseAddress, let variables = environment.baseAddress else {
                            return -1
                        }
                        return unsafe body(first, variables)
                    }
                }
            }
        }
    }

    private static func name(of variable: UnsafeMutablePointer<CChar>) -> [UInt8] {
        var name: [UInt8] = []
        var next = unsafe variable
        while unsafe next.pointee != 0, unsafe next.pointee != CChar(UInt8(ascii: "=")) {
            unsafe name.append(UInt8(bitPattern: next.pointee))
            unsafe next = unsafe next.advanced(by: 1)
        }
        return name
    }
}

/// An in-memory file that only inheriting commands can read, for programs that expect a secret at a path.
enum SealedFile {
    /// - Returns: the path, valid in this process and in those that it becomes or starts.
    static func make(_ secret: Secret) throws -> String {
        let descriptor = secret.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { unsafe clinux_sealed_file("vault", $0.baseAddress, $0.count) }
        }
        guard descriptor >= 0 else {
            throw CommandError(
                .resources,
                "cannot make a file in memory: \(Errno(rawValue: CInt(-descriptor)).text)")
        }
        return "/dev/fd/\(descriptor)"
    }
}
