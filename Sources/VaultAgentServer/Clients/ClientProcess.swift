// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import VaultAgent

/// The process at the other end of a connection, as described by the kernel.
///
/// Nothing here is proven: a process of the same user can choose any name, and can replace itself with any program.
struct ClientProcess: Sendable {
    var id: Int32
    var user: UInt32
    /// `nil` if the process may not be inspected, like `vault` itself.
    var executable: String?
    /// The name that the process has given itself.
    var name: String?
    /// The programs of its ancestors, the nearest first.
    var ancestors: [String] = []
    /// Its control group in the unified hierarchy.
    var cgroup: String?
    /// The application of its Flatpak sandbox; empty if it is unknown; `nil` if no sandbox is visible.
    var flatpak: String?
    /// Whether there may be an invisible sandbox.
    var hidesItsSandbox = false
    /// The sandbox according to the client that speaks for the process, with the values of ``flatpak``.
    var toldSandbox: String?
    /// Whether nothing is known: the process was not inspected, or has ended, and its number may be reused.
    var isUnknown = true

    init(id: Int32, user: UInt32) {
        self.id = id
        self.user = user
    }

    /// The agent itself.
    static var own: ClientProcess { ClientProcess(id: getpid(), user: geteuid()) }

    /// Inspects the process.
    ///
    /// - Parameters:
    ///   - handle: the handle of the process. If the process has ended, its number may be reused, so nothing is
    ///     known.
    ///   - hears: called once with the result, immediately or on another thread.
    func look(_ handle: ProcessHandle, hears: @escaping @Sendable (ClientProcess) -> Void) {
        var looked = self
        looked.executable = ProcessTable.executable(of: id)
        looked.name = ProcessTable.name(of: id)
        looked.cgroup = ProcessTable.cgroup(of: id)
        var parent = ProcessTable.parent(of: id)
        // A limit far above any real depth, so that a table that changes meanwhile cannot cause an endless loop.
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

    /// Whether its program is unknown. A process named `vault` is identified by its parent's program, unless that is
    /// unknown too: an agent in a user namespace sees neither.
    var hidesItsProgram: Bool {
        guard executable == nil else { return false }
        let isVault = name == "vault" || name?.hasPrefix("vault-") == true
        return !isVault || (ancestors.first ?? "").isEmpty
    }

    /// Its program, or else the nearest known one of its ancestors.
    var program: String? { executable ?? ancestors.first { !$0.isEmpty } }

    /// The systemd unit: the last service or scope in the name of the control group.
    var unit: String? { cgroup.flatMap { ProcessTable.unit(inCgroup: $0) } }
}

extension ClientProcess {
    /// The identities under which the process rests. Without rules and a log, it was not inspected before.
    var names: [Refusals.Name] {
        Refusals.Name.of(process: id, startTime: ProcessTable.startTime(of: id), cgroup: cgroup)
    }
}
