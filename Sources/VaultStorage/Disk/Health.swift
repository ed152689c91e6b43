// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import SystemPackage

/// Whether a sync of a vault's file or directory has failed. After that, data that the kernel counts as written may be
/// lost, so a failed sync is never retried as if nothing had happened.
final class Health: Sendable {
    private let flag = Atomic(false)

    var isPoisoned: Bool { flag.load(ordering: .relaxed) }

    func poison() { flag.store(true, ordering: .relaxed) }

    func synchronizing(_ call: () throws(Errno) -> Void) throws(StorageError) {
        do throws(Errno) { try call() } catch {
            poison()
            throw .inputOutput(error, .synchronize)
        }
    }
}
