// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// The variables of this process.
package enum ProcessEnvironment {
    /// A variable that is set and not empty. Foundation would make a dictionary of all of them each time.
    package static func variable(_ name: String) -> String? {
        // The text is copied at once; nobody changes the environment of a process that uses threads.
        guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
        return unsafe String(validatingCString: value)
    }
}
