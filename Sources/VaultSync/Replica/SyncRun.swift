// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

/// The state of one sync with one remote, from the first look at the remote's heads to the last upload. Nothing of it
/// remains afterwards.
///
/// Decisions are values without input and output: ``Publication``, ``NewLog``, ``RecordChecks``.
///
/// Size: an applied entry may change the member, the findings, the statements about logs and the queue at once, so the
/// steps share one object.
final class SyncRun<Items: ReplicaItems> {
    let items: Items
    let mirror: Mirror
    let policy: ReplicaPolicy
    let random: any RandomSource
    let wall: WallClock
    /// `nil` works on the mirror only.
    let store: (any RecordStore)?
    let sealer: RecordSealer
    /// Decodes entries ahead of their turn, and frees their items: freeing another thread's memory is slow.
    let helper = DispatchQueue(label: "entries", qos: .userInitiated)
    private let goesOn: () -> Bool
    /// The member in this run. ``committed`` is the member as stored with the items.
    var member: Member
    private(set) var committed: Member
    var findings = SyncFindings()
    /// The statements of signed entries about logs, including entries that cannot be applied yet.
    var hearsay = Hearsay()
    var checks = RecordChecks()
    /// The ends of logs that were read by this run or lately.
    var looked: [RecordStream: UInt64]
    /// Applied entries that are not committed yet.
    var queue = ReplicaChange()
    var waiting: [Missing: Set<RecordAddress>] = [:]
    /// The sum of the words of the heads of all open logs except the own; `nil` until computed.
    var othersAt: UInt64?
    var summed: (sum: UInt64, version: UInt64)?
    /// The sum of the items if every write is published; `nil` inside if some are not.
    var comparable: (version: UInt64, through: UInt64, sum: UInt64?)?

    init(_ replica: Replica<Items>, _ store: (any RecordStore)?) {
        (items, mirror, policy, random) = (replica.items, replica.mirror, replica.policy, replica.random)
        (wall, goesOn, member, committed) = (replica.wall, replica.goesOn, replica.member, replica.member)
        looked = replica.looked
        self.store = store
        sealer = RecordSealer(realmID: replica.member.realmID, random: replica.random)
    }

    var state: ReplicaState {
        get { member.state }
        _modify { yield &member.state }
    }

    /// The time in milliseconds since 1970.
    var now: UInt64 { wall() >> 16 }

    func raise(_ alarm: Alarm) { findings.raise(alarm) }

    func note(_ alarm: Alarm) { findings.note(alarm) }

    /// - Throws: `.vault(.cancelled)`
    func checkGoesOn() throws(SyncError) { if !goesOn() { throw .vault(.cancelled) } }

    /// Commits the applied entries.
    func flush() throws(SyncError) {
        let change = queue
        queue = ReplicaChange()
        try commit(change)
        guard !change.told.isEmpty else { return }
        let told = LastOwner(change.told)
        _ = consume change
        helper.async { told.free() }
    }

    func commit(_ change: ReplicaChange) throws(SyncError) {
        try items.commit(change, state)
        committed = member
    }

    func noteCommitted() { committed = member }

    /// Drops everything that was not committed.
    func rollBack() {
        member = committed
        (queue, othersAt, hearsay) = (ReplicaChange(), nil, Hearsay())
    }

    // MARK: The sync

    func sync(_ remote: inout RemoteState, acknowledgedElsewhere: UInt64?, tells: Bool) throws(SyncError) {
        // Waits for the helper, so that no secret outlives the sync.
        defer { helper.sync {} }
        let heads = try readHeads()
        try followRoster(heads)
        if let reason = try reasonForNewLog(heads) { try begin(reason, heads) }
        try fetch(heads, applies: true)
        noteRollback(heads, remote)
        try applyAll(shown: heads)
        if state.logs[state.log]?.end != nil {
            try begin(.copied, heads)
            try applyAll(shown: heads)
        }
        try takeLate(heads)
        if tells {
            let acknowledged = remote.log == state.log ? remote.acknowledged : 0
            try tidyOrPublish(acknowledged: min(acknowledged, acknowledgedElsewhere ?? .max))
        } else {
            try flush()
        }
        try upload(heads, &remote)
        remote.lastSync = now
    }

    /// Does the part of a sync that is possible while the vault is locked.
    func fetchLocked(_ remote: inout RemoteState) throws(SyncError) {
        findings.report.isLocked = true
        let heads = try readHeads()
        try followRoster(heads)
        try fetch(heads)
        // Nothing is uploaded, so nothing is healed.
        noteRollback(heads, remote, heals: false)
        try checkFetched()
        for (stream, head) in heads where stream.kind != .blob {
            // The mirror has only checked records: a number that an operator invented is not remembered.
            let there = mirror.numbers(of: stream).filter { $0 <= head.last }.max() ?? 0
            remote.seen[stream] = max(remote.seen[stream] ?? 0, there)
        }
        try flush()
    }

    private func checkFetched() throws(SyncError) {
        for log in mirror.logs where log != state.log {
            do throws(Obstacle) {
                for sequence in mirror.numbers(of: log).sorted() where sequence > member.head(log) {
                    if try check(log, sequence) != nil { findings.report.waiting += 1 }
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

    func joinFetched() throws(SyncError) {
        // Only a complete look at a remote determines the fate of a file that was copied or restored.
        guard member.hasOwnLog, state.logs[state.log]?.end == nil, try !isCopy([:]) else { return }
        try applyAll()
    }

    /// Returns the remote's heads of rosters, logs and large values.
    func readHeads() throws(SyncError) -> [RecordStream: StreamHead] {
        guard let store else { return [:] }
        let heads = try stored { () throws(RecordStoreError) in try store.heads() }
        return Dictionary(heads.map { ($0.stream, $0) }) { first, _ in first }
    }

    /// Reports a remote that has less than before. The upload heals this if the mirror has the records.
    private func noteRollback(_ heads: [RecordStream: StreamHead], _ remote: RemoteState, heals: Bool = true) {
        for (stream, seen) in remote.seen where stream.kind == .log {
            let there = heads[stream]?.last ?? 0
            let base = state.logs[stream.name]?.base ?? 0
            guard there < seen, base <= seen, !member.isBeyondEnd(stream.name, there + 1) else { continue }
            let alarm = Alarm(.rolledBack, stream.name, there, "a log had \(seen) records, and has \(there)")
            if heals, mirror.has(RecordAddress(stream, seen)) { note(alarm) } else { raise(alarm) }
        }
    }
}

/// The statements of signed entries about logs, as far as the entries are available without a gap.
struct Hearsay {
    /// The stated beginnings of logs; `nil` before the first look.
    var bases: [LogID: UInt64]?
    /// The entries at which logs continue whose beginning was trimmed.
    var jumps: [LogID: UInt64] = [:]
    /// The stated ends of logs.
    var ends: [LogID: UInt64] = [:]
}
