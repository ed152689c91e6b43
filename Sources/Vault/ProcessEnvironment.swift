// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// The environment variables of this process.
package enum ProcessEnvironment {
    /// A variable that is set and not empty. Foundation would build a dictionary of all variables each time.
    package static func variable(_ name: String) -> String? {
        // The text is copied at once; the environment of a process that uses threads is never changed.
        guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
        return unsafe String(validatingCString: value)
    }

    /// `NAME=VALUE` of each variable whose value begins with a given text.
    package static func variables(beginningWith start: String) -> [String] {
        var found: [String] = []
        var index = 0
        // The list ends with a null pointer; the environment of a process that uses threads is never changed.
        while let entry = unsafe environ[index] {
            index += 1
            guard let split = unsafe strchr(entry, Int32(UInt8(ascii: "="))),
                unsafe strncmp(split + 1, start, start.utf8.count) == 0,
                let text = unsafe String(validatingCString: entry)
            else { continue }
            found.append(text)
        }
        return found
    }
}
