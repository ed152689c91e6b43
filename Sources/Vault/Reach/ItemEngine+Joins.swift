// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

// Converts the state of an item, joined with that of another device, to a record.

extension ItemEngine {
    /// Replaces the item's record by a joined state.
    ///
    /// - Parameters:
    ///   - told: the greatest stamp of an entry that mentioned the item.
    ///   - erased: when the values of a deleted item were removed; 0 if unknown or not removed.
    ///   - logs: receives new names.
    /// - Returns: the old and the new record of the item.
    func put<S: StateSecret>(
        _ joined: JoinedItem<S>, told: UInt64, erased: UInt64, _ own: OwnLog, _ logs: inout LogNumbers,
        in session: inout WriteSession
    ) throws(VaultError) -> (old: Record?, new: Record) {
        let old = records.place(of: joined.state.id).flatMap { records.record(at: $0) }
        if let old, old.kind == .put, !old.isTombstone, !old.isHidden {
            try remember(old, isDeleted: !joined.isAlive, in: &session)
        }
        var version = records.lastVersion(of: joined.state.id)
        var clock = try clock(of: joined, told: max(told, old?.clock?.told ?? 0), own, &logs)
        if !joined.holdsValues { clock.erased = max(old?.clock?.erased ?? 0, erased, 1) }
        try keepLosers(of: joined, clock, &version, logs, in: &session)
        var content = try content(of: joined, after: old, in: &session)
        if !joined.isAlive, joined.holdsValues {
            var held = content.record
            held.kind = .past
            version += 1
            held.version = version
            held.attributes = held.attributes.setting(.held, .integer(1))
            _ = try session.stage(held, content.value)
        }
        if !joined.isAlive { content = (tombstone(of: content.record), .none) }
        version += 1
        content.record.version = version
        try content.record.setClock(clock)
        if !joined.isAlive { content.record.setShadow(content.record.isSynchronizable ? nil : .hereOnly) }
        return (old, try session.stage(content.record, content.value))
    }

    /// The record with the winning values, and the change of its secret.
    private func content(
        of joined: JoinedItem<some StateSecret>, after old: Record?, in session: inout WriteSession
    ) throws(VaultError) -> (record: Record, value: ValueChange) {
        let state = joined.state
        var list = AttributeList()
        let protection = joined.protection
        if protection.count > 1 { list[Attribute.accessControl.tag] = .data(Array(protection[1...])) }
        let seconds = Double(joined.lastLife >> 16) / 1000 - 978_307_200
        var record = Record(
            kind: .put, itemClass: state.itemClass,
            protection: protection.first.flatMap { Accessibility(number: $0) } ?? .whenUnlocked, id: state.id,
            version: 0, valueVersion: 0, ordinal: old?.ordinal ?? session.nextOrdinal,
            created: joined.created ?? seconds, modified: seconds, value: nil,
            deviceID: .init(repeating: 0), attributes: EncodedAttributes())
        let value = try value(of: joined, for: &record, &list)
        record.attributes = joined.attributes
        if !list.fields.isEmpty {
            record.attributes = record.attributes.overridden(by: EncodedAttributes(list, user: [:]))
        }
        return (record, value)
    }

    /// - Parameters:
    ///   - record: receives the location of a value that stays.
    ///   - list: receives the division of the value.
    private func value(
        of joined: JoinedItem<some StateSecret>, for record: inout Record, _ list: inout AttributeList
    ) throws(VaultError) -> ValueChange {
        let parts = joined.secrets.map { (name: $0.part, secret: $0.secret.replicaSecret) }
        guard let (first, secret) = parts.first else { return .none }
        // All parts are in one existing value.
        if let holder = secret.record(part: first), holder.protection == record.protection,
            parts.count == 1 + (holder.attributes.fields?.fields.count ?? 0),
            parts.allSatisfy({ $0.secret.record(part: $0.name)?.version == holder.version })
        {
            record.take(valueOf: holder)
            list[.fields] = holder.attributes.fields.map { .data($0.encoded) }
            return .keep
        }
        var (main, fields): (Secret?, [String: Secret]) = (nil, [:])
        for (part, secret) in parts {
            if let part { fields[part] = try open(secret) } else { main = try open(secret) }
        }
        let value = try ItemValue(main: main, fields: fields)
        list[.fields] = value.division.map { .data($0.encoded) }
        return .set(try value.joined())
    }

    private func clock(
        of joined: JoinedItem<some StateSecret>, told: UInt64, _ own: OwnLog, _ logs: inout LogNumbers
    ) throws(VaultError) -> ItemClock {
        let state = joined.state
        func local(_ dot: Dot) throws(VaultError) -> LocalDot {
            guard let number = logs.makeNumber(of: dot.log) else { throw .storage(.resourceUnavailable) }
            return LocalDot(number: number, stamp: dot.stamp)
        }
        let common = joined.onlyWrite ?? joined.mostCommonWrite
        var clock = ItemClock(
            base: try common.map(local) ?? LocalDot(number: own.number, stamp: 0), context: LocalContext())
        clock.told = told
        for (log, stamp) in state.context { clock.see(try local(Dot(log: log, stamp: stamp))) }
        clock.own = clock.context[own.number]
        guard joined.onlyWrite == nil else { return clock }
        for (field, values) in state.fields {
            if values.count == 1, let (dot, value) = values.first, dot == common {
                switch joined.mark(of: value, dot, field) {
                case .here, .alive: continue
                default: break
                }
            }
            var marks: [ClockMark] = []
            for (dot, value) in values {
                marks.append(ClockMark(dot: try local(dot), mark: joined.mark(of: value, dot, field)))
            }
            clock.fields[field] = marks.sorted { ($0.dot.stamp, $0.dot.number) < ($1.dot.stamp, $1.dot.number) }
        }
        return clock
    }

    /// Keeps the losing values for a person to review.
    private func keepLosers<S: StateSecret>(
        of joined: JoinedItem<S>, _ clock: ItemClock, _ version: inout UInt64, _ logs: LogNumbers,
        in session: inout WriteSession
    ) throws(VaultError) {
        guard joined.hasLosers else { return }
        let state = joined.state
        let there = Set(records.keptVersions(of: state.id).compactMap(\.conflict))
        for (field, values) in state.fields
        where field != .life && (values.count > 1 || joined.winner(of: field) == nil) {
            for (dot, value) in values where joined.mark(of: value, dot, field) == .conflict {
                guard let number = logs.number(of: dot.log) else { continue }
                let mark = ConflictMark(field: field, dot: LocalDot(number: number, stamp: dot.stamp))
                guard !there.contains(mark) else { continue }
                version += 1
                var alone = ItemState<S>(id: state.id, itemClass: state.itemClass)
                alone.fields[field.isSecret ? .secret : field] = [dot: value]
                alone.fields[.life] = state.fields[.life]
                // The key that seals a secret follows from the item's protection class, whichever field the secret was.
                if field.isSecret { alone.fields[.protection] = state.fields[.protection] }
                // The losing secret is sealed again, on its own.
                let opened = try alone.map { secret throws(VaultError) in try open(secret.replicaSecret) }
                let (made, change) = try content(of: JoinedItem(opened), after: nil, in: &session)
                var record = made
                record.kind = .past
                record.version = version
                record.attributes = record.attributes.setting(.conflict, .data(mark.encoded))
                _ = try session.stage(record, change)
            }
        }
    }
}
