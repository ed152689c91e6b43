// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import Glibc
internal import Synchronization

/// The Flatpak sandbox that a process runs in, as far as that can be told.
package enum Sandbox: Equatable, Sendable {
    case none
    /// By the identifier that it gives, which may be no application's.
    case application(String)
    /// There is one, and it does not say whose.
    case unnamed
    /// The process may not be looked at, and nothing else of it says that there is none.
    case unseen

    /// The application's identifier; empty: one of which that cannot be told; nil: there is no sandbox.
    package var name: String? {
        switch self {
        case .none: nil
        case .application(let name): ProcessTable.isApplication(name) ? name : ""
        case .unnamed, .unseen: ""
        }
    }

    /// Looks into the root directory of a process.
    ///
    /// - Parameter hears: called once, at once where no file of the process's has to be read; else on another thread,
    ///   with `.unnamed` for a file that takes longer than a second to read.
    package static func look(at process: Int32, hears: @escaping @Sendable (Sandbox) -> Void) {
        switch Beginning(process) {
        case .known(let sandbox): hears(sandbox.orOfUnit(process))
        case .toRead(let root): SandboxReader.shared.read(root) { hears($0.orOfUnit(process)) }
        }
    }

    /// Waits for what ``look(at:hears:)`` says.
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

    /// Nil: a file of the process's has to be read.
    package static func atOnce(_ process: Int32) -> Sandbox? {
        switch Beginning(process) {
        case .known(let sandbox): return sandbox.orOfUnit(process)
        case .toRead(let root):
            close(root)
            return nil
        }
    }

    /// The scope that Flatpak makes for an application says whose it is where nothing else does.
    private func orOfUnit(_ process: Int32) -> Sandbox {
        guard self == .none || self == .unseen else { return self }
        let unit = ProcessTable.cgroup(of: process).flatMap { ProcessTable.unit(inCgroup: $0) }
        return unit.flatMap { ProcessTable.flatpak(inUnit: $0) }.map { .application($0) } ?? self
    }

    /// A look at a process, up to where a file of its own has to be read.
    private enum Beginning {
        case known(Sandbox)
        /// A descriptor of its root directory, to be closed.
        case toRead(Int32)

        init(_ process: Int32) {
            let opened = clinux_root(process)
            guard opened >= 0 else {
                // A process in a sandbox of Flatpak's, bubblewrap's, never gets a privilege by what it starts.
                self = .known(ProcessTable.canGainPrivileges(process) == true ? .none : .unseen)
                return
            }
            let root = Int32(opened)
            guard unsafe clinux_is_own_root_without(root, SandboxReader.file) == 1 else {
                self = .toRead(root)
                return
            }
            close(root)
            self = .known(.none)
        }
    }
}
