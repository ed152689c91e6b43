// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import VaultAgent

/// The process at the other end of a connection, as the kernel tells of it.
///
/// It is information and no proof: a process of the same user can have any name, and start any program in its place.
struct ClientProcess: Sendable {
    var id: Int32
    var user: UInt32
    /// Nil: it may not be looked at, as `vault` itself may not.
    var executable: String?
    /// The programs of the processes that it descends from, the nearest first.
    var ancestors: [String] = []
    /// Its control group, in the unified hierarchy.
    var cgroup: String?
    /// The application that a Flatpak sandbox was made for.
    var flatpak: String?
    /// Whether nothing can be said of it: it has ended, and its number may be another's.
    var isUnknown = false

    /// In the place of a descriptor: the kernel says that the process has ended.
    static let ended: Int32 = -2

    init(id: Int32, user: UInt32) {
        self.id = id
        self.user = user
    }

    /// The agent itself.
    static var own: ClientProcess { ClientProcess(id: getpid(), user: geteuid()) }

    /// Looks at the process.
    ///
    /// - Parameter handle: a descriptor of the process; -1 where the kernel has none. When the process has ended, its
    ///   number may be another's already, and nothing is known of it.
    mutating func look(_ handle: Int32) {
        var looked = self
        looked.executable = ProcessTable.executable(of: id)
        looked.cgroup = ProcessTable.cgroup(of: id)
        looked.flatpak = ProcessTable.flatpak(of: id)
        var parent = ProcessTable.parent(of: id)
        // Far more than a process has, so that a table that changes meanwhile leads nowhere for ever.
        while let next = parent, next > 0, looked.ancestors.count < 64 {
            looked.ancestors.append(ProcessTable.executable(of: next) ?? "")
            parent = ProcessTable.parent(of: next)
        }
        if handle == -1 || handle >= 0 && clinux_has_ended(handle, 0) == 0 { self = looked } else { isUnknown = true }
    }

    /// Whether its program cannot be told, nor that of the process that started it: an agent in a user namespace sees
    /// neither.
    var hidesItsProgram: Bool { executable == nil && (ancestors.first ?? "").isEmpty }

    /// Its program, else the nearest known one that it descends from.
    var program: String? { executable ?? ancestors.first { !$0.isEmpty } }

    /// The systemd unit, from the name of the control group: the last part of it that is a service or a scope.
    var unit: String? { cgroup.flatMap { ProcessTable.unit(inCgroup: $0) } }
}
