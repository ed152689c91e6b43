// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import VaultAgent
internal import VaultSystem

/// A process that a client speaks for.
struct RepresentedProcess: Sendable {
    let process: ClientProcess
    private let handle: ProcessHandle

    var hasEnded: Bool { handle.hasEnded }

    /// Inspects the process like a client.
    ///
    /// - Parameters:
    ///   - allows: whether the agent serves processes of a user.
    ///   - hears: called once, immediately or on another thread; with `nil` if the process has ended, its number
    ///     belongs to another process, its user is not served, or the kernel has no descriptors of processes.
    static func find(
        _ behalf: Behalf, allows: (UInt32) -> Bool, hears: @escaping @Sendable (RepresentedProcess?) -> Void
    ) {
        // Opened first: what is read under the number belongs to this process as long as it has not ended.
        guard let descriptor = try? Descriptor(clinux_process(behalf.process)) else { return hears(nil) }
        let handle = ProcessHandle(descriptor)
        guard ProcessTable.startTime(of: behalf.process) == behalf.startTime,
            let user = ProcessTable.user(of: behalf.process), allows(user)
        else { return hears(nil) }
        var process = ClientProcess(id: behalf.process, user: user)
        process.toldSandbox = behalf.sandbox
        process.look(handle) { looked in
            hears(looked.isUnknown ? nil : RepresentedProcess(process: looked, handle: handle))
        }
    }
}
