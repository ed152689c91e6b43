// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

extension Replica {
    /// Finds out which beginnings of logs are said to be gone, and which logs to have ended, by signed entries that lie
    /// here without a gap although they cannot be applied yet.
    ///
    /// - Returns: whether that is news.
    func lookInHand() throws(SyncError) -> Bool {
        let before = known
        var known = state.logs.compactMapValues { $0.base > 0 ? $0.base : nil }
        jumps = [:]
        ended = state.logs.compactMapValues(\.end)
        for log in mirror.logs where log != state.log {
            let (have, head) = (mirror.numbers(of: log), head(log))
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
                    for trim in entry.trims where counts(trim, by: entry, in: log, next) {
                        said[trim.log] = max(said[trim.log] ?? 0, trim.base)
                    }
                    next += 1
                }
                let own = said[log] ?? 0
                let saysSo = start <= own && own < next
                guard start == head + 1 || saysSo else { continue }
                if start != head + 1 { jumps[log] = max(jumps[log] ?? 0, own) }
                for (log, base) in said { known[log] = max(known[log] ?? 0, base) }
            }
        }
        for (log, base) in known where base > head(log) + 1 && mirror.numbers(of: log).contains(base) {
            jumps[log] = base
        }
        self.known = known
        return before != nil && before != known
    }

    /// Whether an entry can say where a log begins: it is of that log's device, or the log has ended and it is of an
    /// owner. All others pass on what they heard, and could hide what a device writes.
    private func counts(_ trim: LogTrim, by entry: CheckedEntry, in log: LogID, _ sequence: UInt64) -> Bool {
        if trim.log == log { return trim.base <= sequence }
        if trim.log == state.log { return false }
        if state.logs[trim.log]?.device == entry.device { return true }
        if state.logs[trim.log]?.device == nil { return entry.closes.contains { $0.log == trim.log } }
        return state.logs[trim.log]?.end != nil && roster.known[entry.device]?.role == .owner
    }

    /// Applies all that can be applied.
    ///
    /// - Parameter shown: what the remote has, if everything of that was read.
    func applyAll(shown: [RecordStream: StreamHead]? = nil) throws(SyncError) {
        let before = (state, report)
        do throws(SyncError) { return try applyEach(shown) } catch {
            guard error.isOfItems else { throw error }
        }
        // Some entry tells what this vault cannot hold. One at a time, it is found, and no other log waits for it.
        (state, report) = before
        (queue, othersAt, known) = (ReplicaChange(), nil, nil)
        isCareful = true
        defer { isCareful = false }
        try applyEach(shown)
    }

    private func applyEach(_ shown: [RecordStream: StreamHead]?) throws(SyncError) {
        var stopped: Set<LogID> = []
        _ = try lookInHand()
        var goesOn = true
        while goesOn {
            goesOn = false
            waiting = [:]
            var sleeping: [LogID: [(log: LogID, what: Missing, next: RecordAddress)]] = [:]
            var logs = mirror.logs
            var turn = 0
            while turn < logs.count {
                let log = logs[turn]
                turn += 1
                if log == state.log || stopped.contains(log) { continue }
                do throws(Obstacle) {
                    while try applyNext(log) {
                        goesOn = true
                        for (woken, what, next) in sleeping.removeValue(forKey: log) ?? [] {
                            logs.append(woken)
                            waiting[what]?.remove(next)
                        }
                    }
                } catch {
                    switch error {
                    case .waits(let what):
                        let next = RecordAddress(RecordStream(.log, log), max(head(log) + 1, jumps[log] ?? 0))
                        waiting[what, default: []].insert(next)
                        if case .entry(let other, _) = what { sleeping[other, default: []].append((log, what, next)) }
                    case .stops(let alarm):
                        try raise(alarm, stopping: log)
                        stopped.insert(log)
                    case .fails(let error): throw error
                    }
                }
            }
            waiting = waiting.filter { !$0.value.isEmpty }
            if !goesOn, try lookInHand() { goesOn = true }
        }
        try flush()
        if let shown { noteWaiting(shown) }
        // Not after each entry: what is equal now was, or has become so, and every look goes over all items.
        for log in state.logs.keys.sorted() { try compare(log) }
        try eraseAndPurge()
    }

    func raise(_ alarm: Alarm, stopping log: LogID) throws(SyncError) {
        raise(alarm)
        // What is no record of this log would hide the true one, and go up to other remotes.
        if alarm.log == log, alarm.kind == .damaged || alarm.kind == .forged {
            try mirror.drop(RecordAddress(RecordStream(.log, log), alarm.sequence))
        }
    }

    private func noteWaiting(_ shown: [RecordStream: StreamHead]) {
        // A remote that has nothing of an entry's log does not owe what the entry waits for: another one may.
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
    }

    /// - Returns: false when there is nothing that could be applied now.
    private func applyNext(_ log: LogID) throws(Obstacle) -> Bool {
        try checking { () throws(SyncError) in try checkGoesOn() }
        let head = state.logs[log]?.head
        var sequence = self.head(log) + 1
        if isBeyondEnd(log, sequence) { return false }
        if let end = state.logs[log]?.end, known?[log] ?? 0 > end { return false }
        var previous = head?.hash ?? .zero
        var jumps = false
        if !mirror.numbers(of: log).contains(sequence) || (self.jumps[log] ?? 0) > sequence {
            // The beginning is gone, and the log's device says so.
            let jump = self.jumps[log] ?? 0
            guard jump > self.head(log) else {
                let last = mirror.numbers(of: log).max() ?? 0
                if state.logs[log]?.end == nil, last > self.head(log) { throw .waits(.entries(log, from: sequence)) }
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
        let states = withoutLies(try items(of: log, sequence), at: address)
        let before = isCareful ? (state, report) : nil
        apply(entry, log, sequence, jumps)
        for state in states { queue.told.append((state, entry.hlc)) }
        report.applied += 1
        report.items += states.count
        if let before { try keep(address, else: before) }
        if queue.told.count >= 1000 { try checking { () throws(SyncError) in try flush() } }
        return true
    }

    /// Nobody can have seen what this device has yet to write: what it then writes of such an item would count for
    /// nothing, and its clock would have to follow.
    private func withoutLies(_ states: [ItemState<Secret>], at address: RecordAddress) -> [ItemState<Secret>] {
        let own = state.log
        guard states.compactMap({ $0.context[own] }).max() ?? 0 > state.clock else { return states }
        // A file that was put back has written more than it knows, but not later than now.
        let written = max(state.clock, items.newestStamp)
        let latest = max(written, items.wallStamp + 3_600_000 << 16)
        return states.compactMap { told in
            guard told.context[own] ?? 0 > latest else { return told }
            raise(address.alarm(.forged, "an entry that has seen what this device has not written"))
            var kept = told
            kept.context[own] = written > 0 ? written : nil
            kept.fields = told.fields.mapValues { values in values.filter { kept.hasSeen($0.key) } }
                .filter { !$0.value.isEmpty }
            return kept.hasRequiredFields ? kept : nil
        }
    }

    /// Commits one entry; if that cannot be, its log stops.
    private func keep(
        _ address: RecordAddress, else before: (state: ReplicaState, report: SyncReport)
    ) throws(Obstacle) {
        do throws(SyncError) { try flush() } catch {
            guard error.isOfItems else { throw .fails(error) }
            (state, report, othersAt) = (before.state, before.report, nil)
            throw .stops(address.alarm(.damaged, "items that a vault cannot hold"))
        }
    }

    private func checkTips(of entry: CheckedEntry, at address: RecordAddress) throws(Obstacle) {
        for tip in entry.tips {
            if roster.gone.contains(tip.device), state.logs[tip.log]?.end == nil { continue }
            let end = min(ended[tip.log] ?? .max, state.logs[tip.log]?.end ?? .max)
            if tip.sequence > end || tip.log == state.log && tip.sequence <= state.sequence { continue }
            if head(tip.log) < tip.sequence, known?[tip.log] ?? 0 <= tip.sequence {
                throw .waits(.entry(tip.log, tip.sequence))
            }
            let cited = RecordAddress(RecordStream(.log, tip.log), tip.sequence)
            let hash = try checking { () throws(SyncError) -> Bytes32? in
                if let known = checked[cited] { return known.hash }
                if state.logs[tip.log]?.head?.sequence == tip.sequence { return state.logs[tip.log]?.head?.hash }
                return try mirror.bytes(at: cited).map { sealer.hash(cited, $0) }
            }
            if let hash, hash != tip.hash {
                throw .stops(cited.alarm(.forked, "another record than the one that is cited"))
            }
        }
    }

    private func apply(_ entry: CheckedEntry, _ log: LogID, _ sequence: UInt64, _ jumped: Bool) {
        let before = isOpen(log) ? Sums.word(log, head(log)) : 0
        var known = state.logs[log] ?? LogState()
        known.device = entry.device
        known.head = LogState.Head(
            sequence: sequence, hash: entry.hash, hlc: entry.hlc, ack: entry.ack, logset: entry.logset)
        (known.at, known.sum) = (entry.at, entry.sum)
        if jumped { known.entered = sequence }
        if jumped || known.first == nil { known.first = (sequence, entry.hlc) }
        known.tips = Dictionary(entry.tips.map { ($0.log, $0.sequence) }) { max($0, $1) }
        state.logs[log] = known
        if let others = othersAt { othersAt = others &- before &+ (isOpen(log) ? Sums.word(log, sequence) : 0) }
        for trim in entry.trims where counts(trim, by: entry, in: log, sequence) {
            if state.logs[trim.log]?.device == entry.device { state.logs[trim.log]?.said = trim.base }
            guard trim.base > state.logs[trim.log]?.base ?? 0 else { continue }
            setBase(trim.log, trim.base, trim.hash)
        }
        for close in entry.closes where close.log != log {
            guard (state.logs[close.log]?.device ?? entry.device) == entry.device else { continue }
            state.logs[close.log, default: LogState()].device = entry.device
            end(close.log, at: close.sequence, close.hash)
        }
        follow(entry.hlc)
    }

    func setBase(_ log: LogID, _ base: UInt64, _ hash: Bytes32) {
        state.logs[log, default: LogState()].base = base
        state.logs[log]?.baseHash = hash
        if let first = try? check(log, base) {
            state.logs[log]?.first = (base, first.hlc)
        } else if let end = state.logs[log]?.end, base > end {
            state.logs[log]?.first = nil
        }
    }

    // MARK: The check from end to end

    /// Notices when the author of a log's head had the same heads as this device has, and other items.
    func compare(_ log: LogID) throws(SyncError) {
        guard let known = state.logs[log], known.at != 0, log != state.log, known.at == at(own: state.sequence) else {
            return
        }
        guard isComparable, try !hasPending() else { return }
        report.comparedEqual += 1
        guard try sum() != known.sum else {
            state.logs[log]?.differsSince = 0
            state.equalAt = now
            return
        }
        let since = known.differsSince == 0 ? now : known.differsSince
        state.logs[log]?.differsSince = since
        guard now >= since + policy.divergedAfter else { return }
        raise(Alarm(.diverged, log, known.head?.sequence ?? 0, "the same records, and other items"))
        heal(log)
    }

    /// After a random wait everything is told again, tombstones too: both ends have the union then.
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

    /// The values go when every device knows of the deletion, the tombstone when no record is left that knows the item
    /// alive.
    func eraseAndPurge() throws(SyncError) {
        let open = openLogs
        let others = open.filter { $0 != state.log }.compactMap { state.logs[$0]?.head }
        let own = logset
        if silentDevices.isEmpty, others.count == open.count - (open.contains(state.log) ? 1 : 0),
            others.allSatisfy({ $0.logset == own })
        {
            state.stable = max(state.stable, min(others.map(\.ack).min() ?? .max, ack))
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
                if item.told <= state.stable { change.erased.append((item.id, max(top, 1))) }
            } else if firsts.min() ?? 0 > item.erased {
                change.purged.append(item.id)
            }
        }
        guard !change.erased.isEmpty || !change.purged.isEmpty else { return }
        try items.commit(change, state)
    }
}

extension RandomSource {
    func number(below limit: UInt64) -> UInt64 {
        let bytes = bytes(8)
        return bytes.span.integer(at: 0, as: UInt64.self) % max(limit, 1)
    }
}
