// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Where the executables of this package are.
package enum Programs {
    /// The directory that this test was built into, with every executable beside it.
    package static let built: String = {
        let path =
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        // Swift Testing may run the tests of a library; its own path is then the first that names the bundle.
        let bundle = CommandLine.arguments.first { $0.contains("PackageTests.xctest") } ?? path
        return URL(filePath: bundle).deletingLastPathComponent().path()
    }()

    /// The directory of the command: the release, if one was built for these tests.
    package static let commands = ProcessInfo.processInfo.environment["VAULT_RELEASE"] ?? built
}
