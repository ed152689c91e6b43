// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import VaultAgent

/// A process that a client speaks for.
struct RepresentedProcess: Sendable {
    let process: ClientProcess
    private let handle: ProcessHandle

    var hasEnded: Bool { handle.hasEnded }

    /// Looks at the process as at a client.
    ///
    /// - Parameters:
    ///   - allows: whether the agent serves processes of a user.
    ///   - hears: called once, at once or on another thread; with nil when the process has ended, when its number is
    ///     another's now, when its user is not served, and where the kernel has no descriptors of processes.
    static func find(
        _ behalf: Behalf, allows: (UInt32) -> Bool, hears: @escaping @Sendable (RepresentedProcess?) -> Void
    ) {
        // First: what is read of a number is this process's as long as the process has not ended.
        let descriptor = Int32(clamping: clinux_process(behalf.process))
        guard descriptor >= 0 else { return hears(nil) }
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
