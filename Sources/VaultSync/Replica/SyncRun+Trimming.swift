// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

// Trimming: the content of old entries is published again, then they are removed.

extension SyncRun {
    /// Trims if that is worthwhile, and otherwise publishes pending items.
    ///
    /// - Parameter acknowledged: the last own entry that every remote has.
    func tidyOrPublish(acknowledged: UInt64) throws(SyncError) {
        guard member.writes else { return try flush() }
        let left = leftLogs()
        if try isWorthTrimming(), try trim(through: acknowledged) { return }
        if !left.isEmpty { return try trim(left) }
        try publish()
    }

    /// Whether more than half of the own log, and more than the least trim, is superseded.
    private func isWorthTrimming() throws(SyncError) -> Bool {
        let numbers = mirror.numbers(of: state.log)
        let all = UInt64(numbers.count) * 768
        // An entry has up to 192 KiB (768 * 256 bytes) of items: too few entries cannot have enough that is superseded.
        guard state.sequence > 0, all > policy.leastTrim / 256 || numbers.count > 64 else { return false }
        guard UInt64(numbers.count) > state.weighed + state.weighed / 4 + 16 || policy.leastTrim == 0 else {
            return false
        }
        state.weighed = UInt64(numbers.count)
        var (size, latest): (UInt64, [ItemID: UInt64]) = (0, [:])
        for number in numbers.sorted() {
            let address = RecordAddress(member.ownStream, number)
            guard let bytes = try mirror.bytes(at: address) else { return false }
            size += UInt64(bytes.count)
            do throws(Obstacle) {
                for item in try items(of: state.log, number) { latest[item.id] = UInt64(item.encodedLength(\.count)) }
            } catch { return false }
        }
        let live = latest.values.reduce(0, +)
        return size > live && size - live > policy.leastTrim && (size - live) * 2 > size
    }

    /// Moves the beginning of the own log forward.
    ///
    /// - Returns: `false` if a part of the log is not available.
    func trim(through acknowledged: UInt64) throws(SyncError) -> Bool {
        let first = max(state.logs[state.log]?.base ?? 0, 1)
        let keep = min(state.sequence, acknowledged)
        let stream = member.ownStream
        guard keep >= first, (first...state.sequence).allSatisfy({ mirror.has(RecordAddress(stream, $0)) }) else {
            return false
        }
        var told: Set<ItemID> = []
        for number in first...keep {
            do throws(Obstacle) { for item in try items(of: state.log, number) { told.insert(item.id) } } catch {
                if case .fails(let error) = error { throw error }
                return false
            }
        }
        try publish(also: told, isForced: true)
        let last = RecordAddress(stream, keep)
        let hash = try mirror.bytes(at: last).map { sealer.hash(last, $0) } ?? .zero
        state.logs[state.log]?.base = keep + 1
        state.logs[state.log]?.baseHash = hash
        let next = RecordAddress(stream, keep + 1)
        if let hlc = try ownStamp(at: next) { state.logs[state.log]?.first = (keep + 1, hlc) }
        // States the new base, after everything is published again.
        try publish(isForced: true)
        state.weighed = 0
        return true
    }

    /// Returns the stamp of an own entry.
    private func ownStamp(at address: RecordAddress) throws(SyncError) -> UInt64? {
        guard let bytes = try mirror.bytes(at: address) else { return nil }
        do throws(Obstacle) {
            let content = try open(try parse(bytes, at: address), at: address)
            let length = content.count - SigningKey.signatureLength
            guard length > 0 else { return nil }
            return content.withBytes { body in
                (try? LogEntry<Range<Int>>(parsing: body.extracting(0..<length)))?.hlc
            }
        } catch { return nil }
    }

    /// Returns the logs that this file has abandoned and read to their end. A remote with a later entry has all of
    /// them.
    func leftLogs() -> [LogID] {
        guard state.ackedSequence > 0 else { return [] }
        return state.ownEnds.filter { log, sequence in
            member.head(log) == sequence && sequence > max(state.logs[log]?.base ?? 0, 1)
                && mirror.has(RecordAddress(RecordStream(.log, log), sequence))
        }.map(\.key)
    }

    /// Publishes the items of abandoned logs again. The last record stays, so that the same file, restored once more,
    /// sees that its log has continued.
    func trim(_ left: [LogID]) throws(SyncError) {
        state.retellsEnded = true
        try publish(isForced: true)
        for log in left {
            guard let sequence = state.ownEnds[log] else { continue }
            let address = RecordAddress(RecordStream(.log, log), sequence)
            state.logs[log]?.base = sequence
            let before = RecordAddress(RecordStream(.log, log), sequence - 1)
            state.logs[log]?.baseHash = try mirror.bytes(at: before).map { sealer.hash(before, $0) } ?? .zero
            if let hlc = try ownStamp(at: address) { state.logs[log]?.first = (sequence, hlc) }
        }
        try publish(isForced: true)
    }

    /// Removes trimmed records here and at the remote, once the remote has an own entry that states the trim.
    func removeTrimmed(isAcknowledged: Bool) throws(SyncError) {
        // Trims that another device states are for that device to carry out, since it knows that its entry is there.
        var said: [LogID: UInt64] = [:]
        if isAcknowledged {
            do throws(Obstacle) {
                for trim in try check(state.log, state.sequence)?.trims ?? [] { said[trim.log] = trim.base }
            } catch { if case .fails(let error) = error { throw error } }
        }
        for (log, known) in state.logs where known.base > 1 {
            let stream = RecordStream(.log, log)
            let below = mirror.numbers(of: log).filter { $0 < known.base }
            if isAcknowledged, let store, said[log] ?? 0 >= known.base, log == state.log || known.end != nil {
                let parts = try namedBlobs(of: log, below)
                do throws(RecordStoreError) {
                    for reference in parts { try store.remove(RecordStream(.blob, reference), below: .max) }
                    try store.remove(stream, below: known.base)
                } catch {
                    guard error.isRefusal else { throw .store(error) }
                    // Where this device may not remove, trimmed records stay until another device removes them. The
                    // mirror keeps them too: it knows the large values to remove.
                    continue
                }
            }
            guard log != state.log || isAcknowledged, !below.isEmpty else { continue }
            for reference in try namedBlobs(of: log, below) {
                try mirror.remove(RecordStream(.blob, reference), below: .max)
            }
            try mirror.remove(stream, below: known.base)
        }
    }

    /// Returns the large values that entries below a base name.
    private func namedBlobs(of log: LogID, _ numbers: Set<UInt64>) throws(SyncError) -> [Bytes16] {
        var found: [Bytes16] = []
        for number in numbers {
            do throws(Obstacle) { found += try blobs(of: log, number).map(\.id) } catch {
                if case .fails(let error) = error { throw error }
            }
        }
        return found
    }
}
