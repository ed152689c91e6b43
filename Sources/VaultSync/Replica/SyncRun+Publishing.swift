// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

extension SyncRun {
    /// Publishes pending items, and those to be published again.
    ///
    /// - Parameters:
    ///   - also: items that are published again.
    ///   - isForced: whether an entry without items is published too.
    func publish(also: Set<ItemID> = [], isForced: Bool = false) throws(SyncError) {
        try flush()
        guard member.writes else { return }
        // A verb that commits meanwhile invalidates a stated sum. The second try states none, so later writes cannot
        // interfere.
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
        // A device with a log publishes at once: until then no deleted item can be forgotten.
        guard !look.selected.isEmpty || isForced || state.sequence == 0 || isHeartbeatDue else { return }
        var publication = try Publication(member, look, sealer, policy, wall: wall())
        publication.othersAt = currentOthersAt
        try items.forEachState(of: publication.order) { whole throws(SyncError) in try publication.add(whole) }
        try publication.end(stating: sum?.sum)
        try keep(publication)
    }

    /// Publishes published items again, and no pending ones.
    func retell(_ ids: Set<ItemID>) throws(SyncError) {
        try flush()
        guard member.writes else { return }
        var selection = ItemSelection(changedAfter: .max)
        selection.also = ids
        let look = try items.look(for: selection)
        var publication = try Publication(member, look, sealer, policy, wall: wall())
        try items.forEachState(of: publication.order) { whole throws(SyncError) in
            // A pending write, even one made just now, waits for a publication of its own.
            if whole.context[state.log] ?? 0 <= state.through { try publication.add(whole) }
        }
        guard publication.hasItems else { return }
        try publication.endOfTold()
        try keep(publication)
    }

    private func keep(_ publication: Publication) throws(SyncError) {
        // The file comes first: records that the mirror has and the file does not would look like another device's.
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

    /// Whether a day has passed since the last publication and others have written meanwhile.
    private var isHeartbeatDue: Bool {
        guard now >= state.publishedAt + policy.heartbeatInterval else { return false }
        return state.logs.contains { $0.key != state.log && $0.value.head?.sequence ?? 0 != $0.value.published }
    }

    /// The sum of the words of the heads of all open logs except the own.
    var currentOthersAt: UInt64 {
        let others = othersAt ?? member.othersAt
        othersAt = others
        return others
    }

    /// Returns the sum of the items, which is recomputed only after a change of the items.
    func sum() throws(SyncError) -> (sum: UInt64, version: UInt64) {
        if let summed, try items.moment().version == summed.version { return summed }
        let found = try items.sum()
        summed = found
        return found
    }
}
