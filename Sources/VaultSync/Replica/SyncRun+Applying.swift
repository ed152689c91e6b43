// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

extension SyncRun {
    /// Collects the beginnings and ends of logs that signed entries state. The mirror has these entries without a gap,
    /// although they cannot be applied yet.
    ///
    /// - Returns: whether anything has changed.
    private func lookInHand() throws(SyncError) -> Bool {
        let before = hearsay.bases
        var bases = state.logs.compactMapValues { $0.base > 0 ? $0.base : nil }
        var jumps: [LogID: UInt64] = [:]
        var ended = state.logs.compactMapValues(\.end)
        for log in mirror.logs where log != state.log {
            let (have, head) = (mirror.numbers(of: log), member.head(log))
            for start in have.sorted() where start > head && (start == head + 1 || !have.contains(start - 1)) {
                var (next, previous): (UInt64, Bytes32?) = (start, nil)
                var said: [LogID: UInt64] = [:]
                while have.contains(next) {
                    let entry: CheckedEntry?
                    do throws(Obstacle) { entry = try check(log, next) } catch {
                        if case .fails(let error) = error { throw error }
                        break
                    }
                    guard let entry, previous == nil || entry.previous == previous else { break }
                    previous = entry.hash
                    for close in entry.closes where (state.logs[close.log]?.device ?? entry.device) == entry.device {
                        ended[close.log] = min(close.sequence, ended[close.log] ?? .max)
                    }
                    for trim in entry.trims where member.counts(trim, by: entry, in: log, next) {
                        said[trim.log] = max(said[trim.log] ?? 0, trim.base)
                    }
                    next += 1
                }
                let own = said[log] ?? 0
                let saysSo = start <= own && own < next
                guard start == head + 1 || saysSo else { continue }
                if start != head + 1 { jumps[log] = max(jumps[log] ?? 0, own) }
                for (log, base) in said { bases[log] = max(bases[log] ?? 0, base) }
            }
        }
        for (log, base) in bases where base > member.head(log) + 1 && mirror.numbers(of: log).contains(base) {
            jumps[log] = base
        }
        hearsay = Hearsay(bases: bases, jumps: jumps, ends: ended)
        return before != nil && before != bases
    }

    /// Applies the entries of a log that follow its head. Those that cannot be applied now are tried again after the
    /// fetch.
    func applyInOrder(_ log: LogID) throws(SyncError) {
        do throws(Obstacle) { while try applyNext(log, false) {} } catch {
            guard case .fails(let failure) = error else { return }
            guard failure.isOfItems else { throw failure }
            rollBack()
        }
    }

    /// Applies all possible entries, and compares the result.
    ///
    /// - Parameter shown: the heads of the remote, if everything in them was read.
    func applyAll(shown: [RecordStream: StreamHead]? = nil) throws(SyncError) {
        try applyEverything()
        if let shown { noteWaiting(shown) }
        // Compared once at the end: equality at this point is enough, and every comparison reads all items.
        for log in state.logs.keys.sorted() { try compare(log) }
        try eraseAndPurge()
    }

    /// Applies all possible entries.
    func applyEverything() throws(SyncError) {
        let report = findings.report
        do throws(SyncError) { return try applyEach(carefully: false) } catch {
            guard error.isOfItems else { throw error }
        }
        // An entry has content that this vault cannot hold. Applied one by one, the entry is found, and no other log
        // waits for it.
        rollBack()
        findings.report = report
        try applyEach(carefully: true)
    }

    /// - Parameter carefully: whether each entry is committed separately.
    private func applyEach(carefully: Bool) throws(SyncError) {
        var stopped: Set<LogID> = []
        _ = try lookInHand()
        var goesOn = true
        while goesOn {
            goesOn = false
            var waits: [Missing: Set<RecordAddress>] = [:]
            var sleeping: [LogID: [(log: LogID, what: Missing, next: RecordAddress)]] = [:]
            var logs = mirror.logs
            var turn = 0
            while turn < logs.count {
                let log = logs[turn]
                turn += 1
                if log == state.log || stopped.contains(log) { continue }
                do throws(Obstacle) {
                    while try applyNext(log, carefully) {
                        goesOn = true
                        for (woken, what, next) in sleeping.removeValue(forKey: log) ?? [] {
                            logs.append(woken)
                            waits[what]?.remove(next)
                        }
                    }
                } catch {
                    switch error {
                    case .waits(let what):
                        let next = RecordAddress(
                            RecordStream(.log, log), max(member.head(log) + 1, hearsay.jumps[log] ?? 0))
                        waits[what, default: []].insert(next)
                        if case .entry(let other, _) = what { sleeping[other, default: []].append((log, what, next)) }
                    case .stops(let alarm):
                        try raise(alarm, stopping: log)
                        stopped.insert(log)
                    case .fails(let error): throw error
                    }
                }
            }
            // Includes the entries that the mirror did not accept.
            waiting = waiting.filter { if case .epoch = $0.key { true } else { false } }
            waiting.merge(waits.filter { !$0.value.isEmpty }) { $0.union($1) }
            if !goesOn, try lookInHand() { goesOn = true }
        }
        try flush()
    }

    func raise(_ alarm: Alarm, stopping log: LogID) throws(SyncError) {
        raise(alarm)
        // An altered record would hide the genuine one, and would be uploaded to other remotes.
        if alarm.log == log, alarm.kind == .damaged || alarm.kind == .forged {
            try mirror.drop(RecordAddress(RecordStream(.log, log), alarm.sequence))
        }
    }

    private func noteWaiting(_ shown: [RecordStream: StreamHead]) {
        // A remote without records of an entry's log need not have its prerequisites: another remote may.
        let owed = waiting.filter { _, entries in
            entries.contains { (shown[$0.stream]?.last ?? 0) >= $0.sequence }
        }
        let (texts, owedTexts) = (Set(waiting.keys.map(\.text)), Set(owed.keys.map(\.text)))
        state.suspects = state.suspects.filter { texts.contains($0.key) }
        for what in owedTexts where state.suspects[what] == nil { state.suspects[what] = now }
        let late = state.suspects.filter {
            owedTexts.contains($0.key) && now >= $0.value + policy.withheldAfter
        }.keys.sorted()
        if let first = late.first { raise(Alarm(.withheld, nil, 0, first)) }
        // The parts of a large value are uploaded before the entry that names it.
        for (what, entries) in owed {
            if case .part = what, let entry = entries.min() {
                raise(Alarm(.withheld, entry.stream.name, entry.sequence, what.text))
            }
        }
    }

    /// - Returns: `false` if nothing can be applied now.
    private func applyNext(_ log: LogID, _ carefully: Bool) throws(Obstacle) -> Bool {
        try checking { () throws(SyncError) in try checkGoesOn() }
        let head = state.logs[log]?.head
        var sequence = member.head(log) + 1
        if member.isBeyondEnd(log, sequence) { return false }
        if let end = state.logs[log]?.end, hearsay.bases?[log] ?? 0 > end { return false }
        var previous = head?.hash ?? .zero
        var jumps = false
        if !mirror.numbers(of: log).contains(sequence) || (hearsay.jumps[log] ?? 0) > sequence {
            // The beginning was trimmed according to the log's device.
            let jump = hearsay.jumps[log] ?? 0
            guard jump > member.head(log) else {
                let last = mirror.numbers(of: log).max() ?? 0
                if state.logs[log]?.end == nil, last > member.head(log) { throw .waits(.entries(log, from: sequence)) }
                return false
            }
            (sequence, jumps, previous) = (jump, true, .zero)
        }
        guard let entry = try check(log, sequence) else { return false }
        let address = RecordAddress(RecordStream(.log, log), sequence)
        guard jumps || entry.previous == previous else {
            throw .stops(address.alarm(.forked, "an entry that follows another one"))
        }
        try checkTips(of: entry, at: address)
        let states = try withoutLies(items(of: log, sequence), at: address)
        let before = findings.report
        try apply(entry, log, sequence, jumps)
        for state in states { queue.told.append((state, entry.hlc)) }
        findings.report.applied += 1
        findings.report.items += states.count
        if carefully { try keep(address, else: before) }
        if queue.told.count >= 1000 { try checking { () throws(SyncError) in try flush() } }
        return true
    }

    /// Removes lies about this device's writes from states. No device can have seen a write that this device has yet to
    /// make: that future write would then have no effect, and this device's clock would have to follow.
    private func withoutLies(
        _ states: [ItemState<Secret>], at address: RecordAddress
    ) throws(Obstacle) -> [ItemState<Secret>] {
        let own = state.log
        guard states.compactMap({ $0.context[own] }).max() ?? 0 > state.clock else { return states }
        // A restored file has written more than it knows, but not later than now.
        let newest = try checking { () throws(SyncError) in try items.moment().newest }
        let written = max(state.clock, newest)
        let latest = max(written, wall() + Member.hour << 16)
        return states.compactMap { told in
            guard told.context[own] ?? 0 > latest else { return told }
            raise(address.alarm(.forged, "an entry that refers to entries that this device has not written"))
            var kept = told
            kept.context[own] = written > 0 ? written : nil
            kept.fields = told.fields.mapValues { values in values.filter { kept.hasSeen($0.key) } }
                .filter { !$0.value.isEmpty }
            return kept.hasRequiredFields ? kept : nil
        }
    }

    /// Commits one entry. If that fails because of its items, the log stops.
    private func keep(_ address: RecordAddress, else before: SyncReport) throws(Obstacle) {
        do throws(SyncError) { try flush() } catch {
            guard error.isOfItems else { throw .fails(error) }
            (member, queue, othersAt, findings.report) = (committed, ReplicaChange(), nil, before)
            throw .stops(address.alarm(.damaged, "items that a vault cannot hold"))
        }
    }

    private func checkTips(of entry: CheckedEntry, at address: RecordAddress) throws(Obstacle) {
        for tip in entry.tips {
            if member.roster.gone.contains(tip.device), state.logs[tip.log]?.end == nil { continue }
            let end = min(hearsay.ends[tip.log] ?? .max, state.logs[tip.log]?.end ?? .max)
            if tip.sequence > end || tip.log == state.log && tip.sequence <= state.sequence { continue }
            if member.head(tip.log) < tip.sequence, hearsay.bases?[tip.log] ?? 0 <= tip.sequence {
                throw .waits(.entry(tip.log, tip.sequence))
            }
            let cited = RecordAddress(RecordStream(.log, tip.log), tip.sequence)
            let hash = try checking { () throws(SyncError) -> Bytes32? in
                if let known = checks.entries[cited] { return known.hash }
                if state.logs[tip.log]?.head?.sequence == tip.sequence { return state.logs[tip.log]?.head?.hash }
                return try mirror.bytes(at: cited).map { sealer.hash(cited, $0) }
            }
            if let hash, hash != tip.hash {
                throw .stops(cited.alarm(.forked, "another record than the one that is cited"))
            }
        }
    }

    private func apply(_ entry: CheckedEntry, _ log: LogID, _ sequence: UInt64, _ jumped: Bool) throws(Obstacle) {
        let before = member.isOpen(log) ? Sums.word(log, member.head(log)) : 0
        member.apply(entry, log, sequence, jumped: jumped)
        if let others = othersAt {
            othersAt = others &- before &+ (member.isOpen(log) ? Sums.word(log, sequence) : 0)
        }
        for trim in entry.trims where member.counts(trim, by: entry, in: log, sequence) {
            if state.logs[trim.log]?.device == entry.device { state.logs[trim.log]?.said = trim.base }
            guard trim.base > state.logs[trim.log]?.base ?? 0 else { continue }
            try setBase(trim.log, trim.base, trim.hash)
        }
        for close in entry.closes where close.log != log {
            guard (state.logs[close.log]?.device ?? entry.device) == entry.device else { continue }
            state.logs[close.log, default: LogState()].device = entry.device
            othersAt = nil
            member.end(close.log, at: close.sequence, close.hash)
        }
        member.follow(entry.hlc, wall())
    }

    func setBase(_ log: LogID, _ base: UInt64, _ hash: Bytes32) throws(Obstacle) {
        state.logs[log, default: LogState()].base = base
        state.logs[log]?.baseHash = hash
        var first: CheckedEntry?
        do throws(Obstacle) { first = try check(log, base) } catch { if case .fails = error { throw error } }
        if let first {
            state.logs[log]?.first = (base, first.hlc)
        } else if let end = state.logs[log]?.end, base > end {
            state.logs[log]?.first = nil
        }
    }

    // MARK: The check from end to end

    /// Detects that the author of a log's head had the same heads as this device, but other items.
    private func compare(_ log: LogID) throws(SyncError) {
        guard let known = state.logs[log], known.at != 0, log != state.log, member.isComparable,
            known.at == currentOthersAt &+ member.ownAt(state.sequence), let sum = try sumOfTold()
        else { return }
        findings.report.comparedEqual += 1
        guard sum != known.sum else {
            state.logs[log]?.differsSince = 0
            if now < state.equalAt || now - state.equalAt >= policy.equalInterval { state.equalAt = now }
            return
        }
        let since = known.differsSince == 0 ? now : known.differsSince
        state.logs[log]?.differsSince = since
        guard now >= since + policy.divergedAfter else { return }
        raise(Alarm(.diverged, log, known.head?.sequence ?? 0, "the same records, and other items"))
        heal(log)
    }

    /// Returns the sum of the items; `nil` while a write is pending, which others cannot have.
    private func sumOfTold() throws(SyncError) -> UInt64? {
        if state.retellsAll || state.retellsEnded { return nil }
        let sum = try self.sum()
        if comparable?.version == sum.version, comparable?.through == state.through { return comparable?.sum }
        let look = try items.look(for: ItemSelection(changedAfter: state.through))
        let isTold = look.selected.isEmpty && look.version == sum.version
        comparable = (sum.version, state.through, isTold ? sum.sum : nil)
        return isTold ? sum.sum : nil
    }

    /// Publishes everything again after a random wait, including tombstones: then both sides have the union.
    private func heal(_ log: LogID) {
        if state.healsAt == 0 {
            let most = max(policy.longestHealDelay, 1)
            state.healsAt = now + random.number(below: most)
        }
        guard now >= state.healsAt, now >= state.healedAt + policy.healInterval || state.healedAt == 0 else { return }
        state.retellsAll = true
        state.healsAt = 0
        state.healedAt = now
        state.logs[log]?.differsSince = 0
    }

    // MARK: Deleted items

    /// Erases the values of deleted items once every device knows of the deletion, and removes the tombstones once no
    /// remaining record has the item alive.
    func eraseAndPurge() throws(SyncError) {
        let open = member.openLogs
        let others = open.filter { $0 != state.log }.compactMap { state.logs[$0]?.head }
        let own = member.logset
        if member.silentDevices.isEmpty, others.count == open.count - (open.contains(state.log) ? 1 : 0),
            others.allSatisfy({ $0.logset == own })
        {
            state.stable = max(state.stable, min(others.map(\.ack).min() ?? .max, member.ack))
        }
        let top = state.logs.values.compactMap { $0.head?.hlc }.max() ?? 0
        let firsts = state.logs.compactMap { _, log -> UInt64? in
            guard log.head != nil, let first = log.first else { return nil }
            if let end = log.end, log.base > end { return nil }
            return first.hlc
        }
        var change = ReplicaChange()
        for item in try items.deleted() where item.own <= state.through && !state.retellsAll && !state.retellsEnded {
            if item.erased == 0 {
                if item.told <= state.stable { change.erased.append((item.id, item.own, max(top, 1))) }
            } else if firsts.min() ?? 0 > item.erased {
                change.purged.append((item.id, item.own))
            }
        }
        guard !change.erased.isEmpty || !change.purged.isEmpty else { return }
        try commit(change)
    }
}

extension RandomSource {
    func number(below limit: UInt64) -> UInt64 {
        let bytes = bytes(8)
        return bytes.span.integer(at: 0, as: UInt64.self) % max(limit, 1)
    }
}
