// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

// What a sync can do while the vault is locked, and what is left of it for the unlocked one.

extension Replica {
    /// Follows the roster and brings what the remote has into the mirror, checked. It takes no key of an item.
    package func fetch(from store: any RecordStore, _ remote: inout RemoteState) throws(SyncError) {
        report.isLocked = true
        let heads = try readHeads(store)
        try followRoster(store, heads)
        try fetch(from: store, heads)
        noteRollback(heads, remote)
        // Nothing goes up, so nothing is healed.
        for note in notes { raise(note) }
        notes = []
        try checkFetched()
        for (stream, head) in heads { remote.seen[stream] = max(remote.seen[stream] ?? 0, head.last) }
        try flush()
    }

    private func checkFetched() throws(SyncError) {
        for log in mirror.logs where log != state.log {
            do throws(Obstacle) {
                for sequence in mirror.numbers(of: log).sorted() where sequence > head(log) {
                    if try check(log, sequence) != nil { report.waiting += 1 }
                }
            } catch {
                switch error {
                case .waits: continue
                case .stops(let alarm): try raise(alarm, stopping: log)
                case .fails(let error): throw error
                }
            }
        }
    }

    /// Joins what is in the mirror, without a look at a remote.
    package func joinFetched() throws(SyncError) {
        // What became of a file that was copied or put back, a complete look at a remote tells.
        guard hasOwnLog, state.logs[state.log]?.end == nil, !isCopy([:]) else { return }
        try applyAll()
    }
}
