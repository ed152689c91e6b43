// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

/// The system services that a format needs beyond the bytes of a file.
package struct ImportWorld: Sendable {
    package struct Ended: Sendable {
        /// The exit status; `nil` if there is no such program.
        package let status: Int32?
        /// The output on standard error, at most 4 KiB.
        package let message: String

        package init(status: Int32?, message: String) { (self.status, self.message) = (status, message) }
    }

    /// Runs a program with an input and passes its standard output on, in parts, in locked memory.
    package typealias Run =
        @Sendable (_ arguments: [String], _ input: Secret?, _ output: (Span<UInt8>) throws -> Void) throws -> Ended

    package var run: Run
    package var read: @Sendable (_ path: String) throws -> Secret
    /// Returns the paths of the regular files below a directory, sorted, and of what cannot be read there.
    package var files: @Sendable (_ directory: String) throws -> (names: [String], unreadable: [String])
    /// Makes a directory in memory that only the user can read, and wipes its files at the end.
    package var withScratch: @Sendable (_ body: (_ directory: String) throws -> Void) throws -> Void
    package var write: @Sendable (_ bytes: Secret, _ path: String) throws -> Void
    package var progress: @Sendable (Double) -> Void

    package init(
        run: @escaping Run, read: @escaping @Sendable (String) throws -> Secret,
        files: @escaping @Sendable (String) throws -> (names: [String], unreadable: [String]),
        withScratch: @escaping @Sendable ((String) throws -> Void) throws -> Void,
        write: @escaping @Sendable (Secret, String) throws -> Void,
        progress: @escaping @Sendable (Double) -> Void = { _ in }
    ) {
        (self.run, self.read, self.files, self.withScratch, self.write, self.progress) =
            (run, read, files, withScratch, write, progress)
    }

    /// Returns the whole output of a program, of a Debian package, up to a limit.
    func output(
        of arguments: [String], _ input: Secret? = nil, limit: Int, package: String, place: String? = nil
    ) throws(ImportError) -> (bytes: Secret, ended: Ended) {
        var buffer = try secured(try SecretBuffer(capacity: 65_536))
        let ended = try outside {
            try run(arguments, input) { part in
                guard buffer.count + part.count <= limit else { throw ImportError.tooLarge(place) }
                try buffer.append(part)
            }
        }
        guard ended.status != nil else { throw .missing("the program '\(arguments[0])'", package: package) }
        return (try secured(Secret(try buffer.take())), ended)
    }
}
