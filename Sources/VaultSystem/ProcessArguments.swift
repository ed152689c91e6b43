// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc

/// The arguments of this process, as the loader passed them before any code of Swift ran. `CommandLine` has none where
/// `/proc` is missing and `environ` has moved: a command that trusts it does nothing, and says that it succeeded.
package enum ProcessArguments {
    /// The reason why there are no arguments.
    package enum Flaw: Error, Equatable {
        /// Not even the program's name was passed.
        case unknown
        /// An argument is not UTF-8. Replaced bytes would make two different names equal.
        case notText
    }

    /// Returns the program's name and its arguments.
    package static func read() throws(Flaw) -> [String] {
        let count = Int(clinux_argument_count())
        guard count > 0, let values = unsafe clinux_arguments() else { throw .unknown }
        var arguments: [String] = []
        arguments.reserveCapacity(count)
        for index in 0..<count {
            // The loader passes `count` strings, each of which ends with a zero byte.
            guard let value = unsafe values[index], let text = unsafe String(validatingCString: value) else {
                throw .notText
            }
            arguments.append(text)
        }
        return arguments
    }

    /// The path of the file that this process executes, without symbolic links, for systems without `/proc`; `nil` if
    /// the file is no longer there.
    package static var executable: String? {
        guard let name = unsafe clinux_executed_name(), let path = unsafe realpath(name, nil) else { return nil }
        // realpath allocates the path.
        defer { unsafe free(path) }
        return unsafe String(validatingCString: path)
    }
}
