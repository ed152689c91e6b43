// SPDX-License-Identifier: Apache-2.0
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
    /// The name that it has given itself.
    var name: String?
    /// The programs of the processes that it descends from, the nearest first.
    var ancestors: [String] = []
    /// Its control group, in the unified hierarchy.
    var cgroup: String?
    /// The application that a Flatpak sandbox was made for; empty: one of which that cannot be told; nil: none is seen.
    var flatpak: String?
    /// Whether there may be a sandbox that is not seen.
    var hidesItsSandbox = false
    /// The sandbox that the client names which speaks for the process, as ``flatpak``.
    var toldSandbox: String?
    /// Whether nothing is known of it: nobody has looked yet, or it has ended, and its number may be another's.
    var isUnknown = true

    init(id: Int32, user: UInt32) {
        self.id = id
        self.user = user
    }

    /// The agent itself.
    static var own: ClientProcess { ClientProcess(id: getpid(), user: geteuid()) }

    /// Looks at the process.
    ///
    /// - Parameters:
    ///   - handle: holds the process. Where it has ended, its number may be another's already, and nothing is known.
    ///   - hears: called once with what is known then, at once or on another thread.
    func look(_ handle: ProcessHandle, hears: @escaping @Sendable (ClientProcess) -> Void) {
        var looked = self
        looked.executable = ProcessTable.executable(of: id)
        looked.name = ProcessTable.name(of: id)
        looked.cgroup = ProcessTable.cgroup(of: id)
        var parent = ProcessTable.parent(of: id)
        // Far more than a process has, so that a table that changes meanwhile leads nowhere for ever.
        while let next = parent, next > 0, looked.ancestors.count < 64 {
            looked.ancestors.append(ProcessTable.executable(of: next) ?? "")
            parent = ProcessTable.parent(of: next)
        }
        Sandbox.look(at: id) { [looked] sandbox in
            guard !handle.hasEnded else { return hears(self) }
            var looked = looked
            looked.flatpak = sandbox == .unseen ? nil : sandbox.name
            looked.hidesItsSandbox = sandbox == .unseen
            looked.isUnknown = false
            hears(looked)
        }
    }

    /// Whether its program cannot be told, and either it does not call itself `vault`, which is known by the process
    /// that started it, or that is not seen either: an agent in a user namespace sees neither.
    var hidesItsProgram: Bool {
        guard executable == nil else { return false }
        let isVault = name == "vault" || name?.hasPrefix("vault-") == true
        return !isVault || (ancestors.first ?? "").isEmpty
    }

    /// Its program, else the nearest known one that it descends from.
    var program: String? { executable ?? ancestors.first { !$0.isEmpty } }

    /// The systemd unit, from the name of the control group: the last part of it that is a service or a scope.
    var unit: String? { cgroup.flatMap { ProcessTable.unit(inCgroup: $0) } }
}

extension ClientProcess {
    /// The names that it rests by. Without rules and without a log nobody has looked at it before.
    var names: [Refusals.Name] {
        Refusals.Name.of(process: id, startTime: ProcessTable.startTime(of: id), cgroup: cgroup)
    }
}
