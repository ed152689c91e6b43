// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import Vault
internal import VaultSystem

/// The Flatpak sandbox of a process, as far as it is visible.
package enum Sandbox: Equatable, Sendable {
    case none
    /// A sandbox with this identifier, which need not be a valid one.
    case application(String)
    /// A sandbox without an identifier.
    case unnamed
    /// The process may not be inspected, and nothing else proves that there is no sandbox.
    case unseen

    /// The application's identifier; empty if it is unknown; `nil` without a sandbox.
    package var name: String? {
        switch self {
        case .none: nil
        case .application(let name): AccessGroups.isApplication(name) ? name : ""
        case .unnamed, .unseen: ""
        }
    }

    /// Inspects the root directory of a process.
    ///
    /// - Parameter hears: called once: immediately if no file of the process has to be read, otherwise on another
    ///   thread, with `.unnamed` if the read takes more than a second.
    package static func look(at process: Int32, hears: @escaping @Sendable (Sandbox) -> Void) {
        switch Beginning(process) {
        case .known(let sandbox): hears(sandbox.orOfUnit(process))
        case .toRead(let root): SandboxReader.shared.read(root) { hears($0.orOfUnit(process)) }
        }
    }

    /// Waits for the result of ``look(at:hears:)``.
    package static func of(_ process: Int32) -> Sandbox {
        let found = Mutex(Sandbox.unseen)
        let done = DispatchSemaphore(value: 0)
        look(at: process) { sandbox in
            found.withLock { $0 = sandbox }
            done.signal()
        }
        done.wait()
        return found.withLock { $0 }
    }

    /// Returns `nil` if a file of the process has to be read.
    package static func atOnce(_ process: Int32) -> Sandbox? {
        switch Beginning(process) {
        case .known(let sandbox): sandbox.orOfUnit(process)
        case .toRead: nil
        }
    }

    /// Falls back to the scope that Flatpak makes for an application, if there is no other sign.
    private func orOfUnit(_ process: Int32) -> Sandbox {
        guard self == .none || self == .unseen else { return self }
        let unit = ProcessTable.unit(of: process)
        return unit.flatMap { ProcessTable.flatpak(inUnit: $0) }.map { .application($0) } ?? self
    }

    /// The first part of an inspection, before a file of the process is read.
    private enum Beginning: ~Copyable {
        case known(Sandbox)
        /// Its root directory.
        case toRead(Descriptor)

        init(_ process: Int32) {
            guard let root = try? Descriptor(clinux_root(process)) else {
                // A process in a sandbox of Flatpak's bubblewrap never gains privileges by starting programs.
                self = .known(ProcessTable.canGainPrivileges(process) == true ? .none : .unseen)
                return
            }
            let isOwn = unsafe clinux_is_own_root_without(root.number, SandboxReader.file) == 1
            self = isOwn ? .known(.none) : .toRead(root)
        }
    }
}
