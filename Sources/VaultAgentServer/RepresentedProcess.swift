// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
internal import VaultAgent

/// A process that a client speaks for, held by a descriptor: another process that gets its number is not taken for it.
final class RepresentedProcess: Sendable {
    let process: ClientProcess
    private let handle: Int32

    /// Looks at the process as at a client.
    ///
    /// - Parameter allows: whether the agent serves processes of a user.
    /// - Returns: nil when it has ended, when its number is another's now, when its user is not served, and where the
    ///   kernel has no descriptors of processes.
    init?(_ behalf: Behalf, allows: (UInt32) -> Bool) {
        // First: what is read of a number is this process's as long as the process has not ended.
        handle = Int32(clamping: clinux_process(behalf.process))
        let user = ProcessTable.user(of: behalf.process)
        var process = ClientProcess(id: behalf.process, user: user ?? .max)
        let isServed =
            handle >= 0 && ProcessTable.startTime(of: behalf.process) == behalf.startTime && user.map(allows) == true
        if isServed { process.look(handle) }
        self.process = process
        guard isServed, !process.isUnknown else { return nil }
    }

    deinit { if handle >= 0 { close(handle) } }

    var hasEnded: Bool { clinux_has_ended(handle, 0) != 0 }
}
