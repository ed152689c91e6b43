// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
package import SystemPackage

/// Reports changes of the files in a directory, by inotify(7), without polling. A report is only a hint.
///
/// Unchecked: the source is activated and cancelled, which any thread may do.
package final class DirectoryWatch: @unchecked Sendable {
    private let source: any DispatchSourceRead

    /// - Returns: `nil` if the system does not let the process watch another directory.
    package init?(_ directory: FilePath, onChange: @escaping @Sendable () -> Void) {
        guard let descriptor = LinuxFileSystem.watch(directory) else { return nil }
        source = DispatchSource.makeReadSource(
            fileDescriptor: descriptor, queue: DispatchQueue(label: "vault.watch", qos: .utility))
        source.setEventHandler {
            // The events themselves do not matter, and many events cause a single call.
            clinux_discard_input(descriptor)
            onChange()
        }
        source.setCancelHandler { close(descriptor) }
        source.activate()
    }

    deinit { source.cancel() }
}
