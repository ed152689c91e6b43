// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
package import SystemPackage

/// Says that something happened to the files of a directory, by inotify(7): a hint, no more. Nothing is asked for in
/// the meantime.
///
/// Unchecked: the source is activated and cancelled, which any thread may do.
package final class DirectoryWatch: @unchecked Sendable {
    private let source: any DispatchSourceRead

    /// - Returns: nil when the system does not let a process watch one more directory.
    package init?(_ directory: FilePath, onChange: @escaping @Sendable () -> Void) {
        guard let descriptor = LinuxFileSystem.watch(directory) else { return nil }
        source = DispatchSource.makeReadSource(
            fileDescriptor: descriptor, queue: DispatchQueue(label: "vault.watch", qos: .utility))
        source.setEventHandler {
            // What happened does not matter, and many events are one look.
            clinux_discard_input(descriptor)
            onChange()
        }
        source.setCancelHandler { close(descriptor) }
        source.activate()
    }

    deinit { source.cancel() }
}
