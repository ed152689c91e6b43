// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
package import SystemPackage
internal import VaultSystem

/// Reports changes of the files in a directory, by inotify(7), without polling. A report is only a hint.
///
/// Unchecked: the source is activated and cancelled, which any thread may do.
package final class DirectoryWatch: @unchecked Sendable {
    private let source: any DispatchSourceRead

    /// - Returns: `nil` if the system does not let the process watch another directory.
    package init?(_ directory: FilePath, onChange: @escaping @Sendable () -> Void) {
        guard let descriptor = LinuxFileSystem.watch(directory) else { return nil }
        let events = Events(descriptor)
        source = DispatchSource.makeReadSource(
            fileDescriptor: events.descriptor.number, queue: DispatchQueue(label: "vault.watch", qos: .utility))
        source.setEventHandler {
            // The events themselves do not matter, and many events cause a single call.
            clinux_discard_input(events.descriptor.number)
            onChange()
        }
        // The descriptor stays open until the last event is handled.
        source.setCancelHandler { withExtendedLifetime(events) {} }
        source.activate()
    }

    deinit { source.cancel() }

    private final class Events: Sendable {
        let descriptor: Descriptor

        init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
    }
}
