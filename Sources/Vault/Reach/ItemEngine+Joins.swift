// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

// What the vault makes of an item's state once it is joined with that of another device.

/// A state, put in the order of who won.
private struct JoinedItem {
    let state: ItemState<ReplicaSecret>
    /// The value of each field that counts; those of erased fields are missing.
    private(set) var winners: SortedMap<FieldID, (dot: Dot, value: FieldValue<ReplicaSecret>)> = [:]
    let isAlive: Bool

    init(_ state: ItemState<ReplicaSecret>) {
        self.state = state
        for (field, values) in state.fields where field != .life {
            guard let winner = values.last(where: { !$0.value.isErased }) else { continue }
            winners[field] = (winner.key, winner.value)
        }
        for (field, winner) in winners where !field.name.isEmpty {
            let isSecond = winners.contains { JoinedItem.isSameName($0.key, field) && winner.dot < $0.value.dot }
            if isSecond { winners[field] = nil }
        }
        let lives = state.fields[.life] ?? [:]
        // Of an item whose key is gone nothing can be made.
        isAlive = winners[.primaryKey] != nil && lives.contains { $0.value.bytes == [1] }
    }

    func plain(_ field: FieldID) -> [UInt8]? { winners[field]?.value.bytes }

    var lastLife: UInt64 { state.fields[.life]?.last?.key.stamp ?? 0 }

    /// Whether it has more than the names of its writes.
    var holdsValues: Bool { !winners.isEmpty }

    /// Names of fields that Swift takes for one: a file can have one of them in its record.
    private static func isSameName(_ a: FieldID, _ b: FieldID) -> Bool { a.id == b.id && a.name == b.name && a != b }
}

extension FieldValue {
    var isErased: Bool { if case .erased = self { true } else { false } }

    var bytes: [UInt8]? { if case .plain(let bytes) = self { bytes } else { nil } }
}

extension ItemEngine {
    /// Puts a joined state in the place of what there is of the item.
    ///
    /// - Parameters:
    ///   - told: the greatest stamp of an entry that told of the item.
    ///   - erased: when the values of a deleted item went; 0: that is not known, or they did not.
    ///   - logs: learns the names that are new.
    func put(
        _ state: ItemState<ReplicaSecret>, told: UInt64, erased: UInt64, _ own: OwnLog, _ logs: inout LogNumbers,
        in session: inout some RecordSession & ~Copyable
    ) throws(VaultError) {
        let joined = JoinedItem(state)
        let old = records.place(of: state.id).flatMap { records.record(at: $0) }
        if let old, old.kind == .put, !old.isTombstone, !old.isHidden { try remember(old, in: &session) }
        var version = records.lastVersion(of: state.id)
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
        _ = try session.stage(content.record, content.value)
    }

    /// The record with the values that won, and what becomes of its secret.
    private func content(
        of joined: JoinedItem, after old: Record?, in session: inout some RecordSession & ~Copyable
    ) throws(VaultError) -> (record: Record, value: ValueChange) {
        let state = joined.state
        var list = AttributeList()
        var user: [String: String] = [:]
        for (field, winner) in joined.winners {
            guard let bytes = winner.value.bytes else { continue }
            if field.id == AttributeTag.user.rawValue {
                user[field.name] = String(decoding: bytes, as: UTF8.self)
            } else if let tag = field.attribute, let value = EncodedValue(kindAndPayload: bytes) {
                list[tag] = value
            }
        }
        if let key = joined.plain(.primaryKey), let parsed = try? EncodedAttributes(parsing: key, key.indices) {
            parsed.forEach { tag, _, _ in list[tag] = parsed[tag] }
        }
        let protection = joined.plain(.protection) ?? []
        if protection.count > 1 { list[Attribute.accessControl.tag] = .data(Array(protection[1...])) }
        let created = joined.plain(.created).map { Double(bitPattern: $0.span.integer(at: 0)) }
        let seconds = Double(joined.lastLife >> 16) / 1000 - 978_307_200
        var record = Record(
            kind: .put, itemClass: state.itemClass,
            protection: protection.first.flatMap { Accessibility(number: $0) } ?? .whenUnlocked, id: state.id,
            version: 0, valueVersion: 0, ordinal: old?.ordinal ?? session.nextOrdinal, created: created ?? seconds,
            modified: seconds, value: nil, deviceID: .init(repeating: 0), attributes: EncodedAttributes())
        let value = try value(of: joined, for: &record, &list)
        record.attributes = EncodedAttributes(list, user: user)
        return (record, value)
    }

    /// - Parameters:
    ///   - record: learns where the value lies that stays.
    ///   - list: learns how the value is divided.
    private func value(
        of joined: JoinedItem, for record: inout Record, _ list: inout AttributeList
    ) throws(VaultError) -> ValueChange {
        var parts: [String?: ReplicaSecret] = [:]
        for (field, winner) in joined.winners {
            if case .secret(let secret) = winner.value { parts[field.part] = secret }
        }
        guard let (first, secret) = parts.first else { return .none }
        // All of it lies in one value that is here already.
        if let holder = secret.record(part: first), holder.protection == record.protection,
            parts.count == 1 + (holder.attributes.fields?.fields.count ?? 0),
            parts.allSatisfy({ $1.record(part: $0)?.version == holder.version })
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
        of joined: JoinedItem, told: UInt64, _ own: OwnLog, _ logs: inout LogNumbers
    ) throws(VaultError) -> ItemClock {
        let state = joined.state
        func local(_ dot: Dot) throws(VaultError) -> LocalDot {
            guard let number = logs.makeNumber(of: dot.log) else { throw .storage(.resourceUnavailable) }
            return LocalDot(number: number, stamp: dot.stamp)
        }
        // The write that most of the values are of has to be named once.
        var counts: [Dot: Int] = [:]
        for (field, values) in state.fields where values.count == 1 {
            guard let (dot, value) = values.first, !value.isErased else { continue }
            if field != .life || value.bytes == [1] { counts[dot, default: 0] += 1 }
        }
        let common = counts.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key
        var clock = ItemClock(
            base: try common.map(local) ?? LocalDot(number: own.number, stamp: 0), context: LocalContext())
        clock.told = told
        for (log, stamp) in state.context { clock.see(try local(Dot(log: log, stamp: stamp))) }
        clock.own = clock.context[own.number]
        for (field, values) in state.fields {
            var marks: [ClockMark] = []
            for (dot, value) in values {
                marks.append(ClockMark(dot: try local(dot), mark: joined.mark(of: value, dot, field)))
            }
            guard marks.count != 1 || marks[0].dot != clock.base || ![.here, .alive].contains(marks[0].mark) else {
                continue
            }
            clock.fields[field] = marks.sorted { ($0.dot.stamp, $0.dot.number) < ($1.dot.stamp, $1.dot.number) }
        }
        return clock
    }

    /// Keeps the values that lost, for a person to look at.
    private func keepLosers(
        of joined: JoinedItem, _ clock: ItemClock, _ version: inout UInt64, _ logs: LogNumbers,
        in session: inout some RecordSession & ~Copyable
    ) throws(VaultError) {
        let state = joined.state
        let there = Set(records.keptVersions(of: state.id).compactMap(\.conflict))
        for (field, values) in state.fields
        where field != .life && (values.count > 1 || joined.winners[field] == nil) {
            for (dot, value) in values where joined.mark(of: value, dot, field) == .conflict {
                guard let number = logs.number(of: dot.log) else { continue }
                let mark = ConflictMark(field: field, dot: LocalDot(number: number, stamp: dot.stamp))
                guard !there.contains(mark) else { continue }
                version += 1
                var alone = ItemState<ReplicaSecret>(id: state.id, itemClass: state.itemClass)
                alone.fields[field.isSecret ? .secret : field] = [dot: value]
                alone.fields[.life] = state.fields[.life]
                // What a secret is sealed by follows from the item's class of protection, whichever field it was.
                if field.isSecret { alone.fields[.protection] = state.fields[.protection] }
                // It is sealed anew, alone.
                let opened = try alone.map { secret throws(VaultError) in ReplicaSecret.given(try open(secret)) }
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

extension JoinedItem {
    /// What a value is to the item's clock.
    fileprivate func mark(of value: FieldValue<ReplicaSecret>, _ dot: Dot, _ field: FieldID) -> ClockMark.Mark {
        if field == .life { return value.bytes == [1] ? .alive : .dead }
        if value.isErased { return .erased }
        if case .none = value { return .none }
        return winners[field]?.dot == dot ? .here : .conflict
    }
}

extension EncodedValue {
    /// A value as other devices read it: its kind, then its bytes in the file.
    init?(kindAndPayload bytes: [UInt8]) {
        guard let kind = bytes.first else { return nil }
        let payload = bytes.span.extracting(1..<bytes.count)
        switch kind {
        case 1: self = .string(String(decoding: bytes[1...], as: UTF8.self))
        case 2: self = .data(Array(bytes[1...]))
        case 3: self = .integer(Int64(bitPattern: payload.integer(at: 0)))
        case 4: self = .date(Double(bitPattern: payload.integer(at: 0)))
        case 5: self = .real(Double(bitPattern: payload.integer(at: 0)))
        default: return nil
        }
    }
}
