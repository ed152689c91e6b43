// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

extension SyncRun {
    /// Tells what is pending, and what is to be told again.
    ///
    /// - Parameters:
    ///   - also: items that are told again.
    ///   - isForced: whether an entry goes out that tells nothing.
    func publish(also: Set<ItemID> = [], isForced: Bool = false) throws(SyncError) {
        try flush()
        guard member.writes else { return }
        // A verb that commits meanwhile makes a stated sum wrong: the second try states none, and then no later write
        // can be in the way.
        for attempt in 0..<4 {
            do throws(SyncError) {
                return try publishOnce(also, isForced, statesSum: attempt == 0)
            } catch {
                guard error == .overtaken else { throw error }
                rollBack()
            }
        }
        throw .busy
    }

    private func publishOnce(_ also: Set<ItemID>, _ isForced: Bool, statesSum: Bool) throws(SyncError) {
        let sum = statesSum && member.isComparable ? try self.sum() : nil
        let look = try items.look(for: selection(also))
        if let sum, sum.version != look.version { throw .overtaken }
        // A device that has a log is heard of at once: until then nothing that is deleted can be forgotten.
        guard !look.selected.isEmpty || isForced || state.sequence == 0 || isHeartbeatDue else { return }
        var publication = try Publication(member, look, sealer, policy, wall: wall())
        publication.othersAt = currentOthersAt
        try items.forEachState(of: publication.order) { whole throws(SyncError) in try publication.add(whole) }
        try publication.end(stating: sum?.sum)
        try keep(publication)
    }

    /// Tells items again that have been told, and nothing that is pending.
    func retell(_ ids: Set<ItemID>) throws(SyncError) {
        try flush()
        guard member.writes else { return }
        var selection = ItemSelection(changedAfter: .max)
        selection.also = ids
        let look = try items.look(for: selection)
        var publication = try Publication(member, look, sealer, policy, wall: wall())
        try items.forEachState(of: publication.order) { whole throws(SyncError) in
            // A write that is pending, also one that came just now, waits for a publication of its own.
            if whole.context[state.log] ?? 0 <= state.through { try publication.add(whole) }
        }
        guard publication.hasItems else { return }
        try publication.endOfTold()
        try keep(publication)
    }

    private func keep(_ publication: Publication) throws(SyncError) {
        // The file first: what the mirror has and the file does not would be another device's.
        try items.commit(publication.change, publication.member.state)
        member = publication.member
        noteCommitted()
        try mirror.add(publication.parts + publication.records)
        checks.blobs.merge(publication.blobs) { $1 }
        findings.report.published += publication.records.count
    }

    private func selection(_ also: Set<ItemID>) -> ItemSelection {
        var selection = ItemSelection(changedAfter: state.through)
        (selection.all, selection.also) = (state.retellsAll, also)
        if state.retellsEnded { selection.touching = member.endedLogs }
        return selection
    }

    /// When others wrote something since, once a day.
    private var isHeartbeatDue: Bool {
        guard now >= state.publishedAt + policy.heartbeatInterval else { return false }
        return state.logs.contains { $0.key != state.log && $0.value.head?.sequence ?? 0 != $0.value.published }
    }

    /// The words of the heads of all open logs but the own.
    var currentOthersAt: UInt64 {
        let others = othersAt ?? member.othersAt
        othersAt = others
        return others
    }

    /// The sum of the items, made again only when they have changed.
    func sum() throws(SyncError) -> (sum: UInt64, version: UInt64) {
        if let summed, try items.moment().version == summed.version { return summed }
        let found = try items.sum()
        summed = found
        return found
    }
}
