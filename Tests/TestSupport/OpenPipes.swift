// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// Returns the kernel's names of the pipes that this process has open, one for each open end. The runtime opens
/// descriptors of other kinds at any time.
package func openPipes() throws -> [String] {
    let directory = "/proc/self/fd"
    return try FileManager.default.contentsOfDirectory(atPath: directory)
        // The directory's own descriptor is closed by now.
        .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\($0)") }
        .filter { $0.contains("pipe:") }.sorted()
}
