// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

/// What a format needs of the machine beside the bytes of a file. The command gives the real one, tests one of their
/// own.
package struct ImportWorld: Sendable {
    /// How a program ended that was run.
    package struct Ended: Sendable {
        /// 0: it did what it was to do; nil: there is no such program.
        package let status: Int32?
        /// What it said on standard error, at most 4 KiB.
        package let message: String

        package init(status: Int32?, message: String) { (self.status, self.message) = (status, message) }
    }

    /// Runs a program with an input and hands on its standard output, part by part, in locked memory.
    package typealias Run =
        @Sendable (
            _ arguments: [String], _ input: Secret?, _ output: (Span<UInt8>) throws -> Void
        ) throws -> Ended

    package var run: Run
    /// Reads a file.
    package var read: @Sendable (_ path: String) throws -> Secret
    /// The paths of the regular files below a directory, sorted.
    package var files: @Sendable (_ directory: String) throws -> [String]
    /// Makes a directory in memory that only the user reads, and wipes what is in it in the end.
    package var withScratch: @Sendable (_ body: (_ directory: String) throws -> Void) throws -> Void
    /// Writes a new file with mode 0600.
    package var write: @Sendable (_ bytes: Secret, _ path: String) throws -> Void
    /// Says how far it is, from 0 to 1.
    package var progress: @Sendable (Double) -> Void

    package init(
        run: @escaping Run, read: @escaping @Sendable (String) throws -> Secret,
        files: @escaping @Sendable (String) throws -> [String],
        withScratch: @escaping @Sendable ((String) throws -> Void) throws -> Void,
        write: @escaping @Sendable (Secret, String) throws -> Void,
        progress: @escaping @Sendable (Double) -> Void = { _ in }
    ) {
        (self.run, self.read, self.files, self.withScratch, self.write, self.progress) =
            (run, read, files, withScratch, write, progress)
    }

    /// The whole output of a program, up to a limit.
    ///
    /// - Parameters:
    ///   - package: of Debian's, that has the program.
    ///   - place: of what it reads, for messages.
    func output(
        of arguments: [String], _ input: Secret? = nil, limit: Int, package: String, place: String? = nil
    ) throws(ImportError) -> (bytes: Secret, ended: Ended) {
        var buffer = try secured { () throws(CryptoError) in try SecretBuffer(capacity: 65_536) }
        let ended = try outside {
            try run(arguments, input) { part in
                guard buffer.count + part.count <= limit else { throw ImportError.tooLarge(place) }
                try buffer.append(part)
            }
        }
        guard ended.status != nil else { throw .missing("the program '\(arguments[0])'", package: package) }
        return (try secured { () throws(CryptoError) in Secret(try buffer.take()) }, ended)
    }
}
