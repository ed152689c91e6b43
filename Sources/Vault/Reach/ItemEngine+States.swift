// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

// Conversion of the vault's records of an item to its state in the fleet.

extension ItemEngine {
    /// The state of an item; `nil` if other devices do not know it.
    func state(of record: Record, _ logs: LogNumbers) throws(VaultError) -> ItemState<ReplicaSecret>? {
        guard let clock = record.clock, let itemClass = record.itemClass else { return nil }
        var state = ItemState<ReplicaSecret>(id: record.id, itemClass: itemClass)
        for seen in clock.context.entries { state.context[try log(seen.number, logs, record)] = seen.stamp }
        let kept = records.keptVersions(of: record.id)
        // The contents of a deleted item are in a kept version.
        let holder = record.isTombstone ? kept.last { $0.attributes.isOne(.held) } : record
        var fields = holder?.replicatedFields ?? [:]
        fields[.life] = []
        for (field, bytes) in fields {
            state.fields[field] = try values(of: field, bytes, clock, logs, record, holder, kept)
        }
        for field in clock.fields.keys where fields[field] == nil {
            state.fields[field] = try values(of: field, nil, clock, logs, record, holder, kept)
        }
        return state
    }

    private func values(
        of field: FieldID, _ bytes: [UInt8]?, _ clock: ItemClock, _ logs: LogNumbers, _ record: Record,
        _ holder: Record?, _ kept: [Record]
    ) throws(VaultError) -> SortedMap<Dot, FieldValue<ReplicaSecret>> {
        var values: SortedMap<Dot, FieldValue<ReplicaSecret>> = [:]
        for mark in clock.marks(of: field) {
            let dot = Dot(log: try log(mark.dot.number, logs, record), stamp: mark.dot.stamp)
            values[dot] = value(mark, of: field, bytes, holder, kept)
        }
        return values
    }

    private func value(
        _ mark: ClockMark, of field: FieldID, _ bytes: [UInt8]?, _ holder: Record?, _ kept: [Record]
    ) -> FieldValue<ReplicaSecret> {
        switch mark.mark {
        case .none: return .none
        case .alive: return .plain([1])
        case .dead: return .plain([0])
        case .erased: return .erased
        case .here:
            guard let holder, let bytes else { return .erased }
            return field.isSecret ? .secret(.stored(holder, part: field.part)) : .plain(bytes)
        case .conflict:
            let wanted = ConflictMark(field: field, dot: mark.dot)
            guard let loser = kept.last(where: { $0.conflict == wanted }) else { return .erased }
            // A losing secret is stored alone, as the main part.
            if field.isSecret { return loser.hasValue ? .secret(.stored(loser, part: nil)) : .none }
            return loser.replicatedFields[field].map { .plain($0) } ?? .none
        }
    }

    private func log(_ number: UInt16, _ logs: LogNumbers, _ record: Record) throws(VaultError) -> LogID {
        guard let log = logs[number] else { throw .storage(.damaged(.value(record.id))) }
        return log
    }

    /// The state as sent to other devices, with every secret opened.
    func openState(of record: Record, _ logs: LogNumbers) throws(VaultError) -> ItemState<Secret>? {
        try state(of: record, logs)?.map { secret throws(VaultError) in try open(secret) }
    }
}

extension FieldID {
    /// The name of a part of an item's value; `nil` for the main part.
    var part: String? { self == .secret ? nil : name }
}

extension Record {
    /// The field and the write whose losing value this version keeps.
    var conflict: ConflictMark? {
        guard let (_, range) = attributes.payload(of: .conflict) else { return nil }
        return try? ConflictMark(parsing: attributes.bytes.span.extracting(range))
    }
}
