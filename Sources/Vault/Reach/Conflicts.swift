// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import VaultCrypto
package import VaultFormat
internal import VaultStorage

/// A field of an item to which two devices gave values without having seen each other's; or an item whose primary key
/// another one has.
package struct ItemConflict: Sendable {
    package struct Value: Sendable {
        /// The log of the device that wrote it.
        package let log: LogID
        /// When, in seconds since 2001-01-01T00:00:00Z.
        package let time: Double
        /// Nil: a secret, or nothing.
        package let text: String?
        /// Opened.
        package let secret: Secret?
        package let isRemoval: Bool
    }

    package let item: Item
    /// `secret`, `field NAME`, `key`, `protection`, `created`, `user NAME`, an attribute's name; `shadow`: another item
    /// has the primary key.
    package let field: String
    /// The first is the one that counts.
    package let values: [Value]
}

extension Vault {
    /// What a person has to look at, in the order of the items' creation.
    package func conflicts() throws(VaultError) -> [ItemConflict] {
        try core.read { engine throws(VaultError) in try engine.conflicts(self.viewer, for: self) }
    }

    /// Ends a conflict: the value that is kept is written again, over all of them.
    ///
    /// - Parameters:
    ///   - field: as ``ItemConflict/field`` says it; `shadow`: 1 deletes the shadowed item, 2 the one that has its key.
    ///   - index: from 1, among the conflict's values.
    package func resolveConflict(of id: UUID, field: String, keeping index: Int) throws(VaultError) {
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.resolve(ItemID(id), field, index, self.viewer, in: &session)
        }
    }
}

extension FieldID {
    /// As people call it.
    var label: String {
        switch self {
        case .secret: "secret"
        case .primaryKey: "key"
        case .protection: "protection"
        case .created: "created"
        case .life: "life"
        default:
            if isSecret {
                "field \(name)"
            } else if let attribute {
                Attribute(attribute)?.name ?? "attribute \(attribute.rawValue)"
            } else {
                "user \(name)"
            }
        }
    }
}

extension ItemEngine {
    func conflicts(_ viewer: Viewer, for source: any SecretSource) throws(VaultError) -> [ItemConflict] {
        guard records.ownLog != nil else { return [] }
        let logs = try records.logs()
        var found: [(ordinal: UInt64, conflict: ItemConflict)] = []
        for place in 0..<records.recordEnd {
            guard let record = records.record(at: place), record.itemClass != nil, !record.isTombstone,
                record.hasClock, isVisible(record, to: viewer.groups)
            else { continue }
            if record.isHidden {
                let conflict = ItemConflict(item: Item(record, source), field: "shadow", values: [])
                found.append((record.ordinal, conflict))
            }
            guard record.clock?.fields.contains(where: { $0.value.count > 1 }) == true else { continue }
            try record.checkPresence(viewer)
            for conflict in try conflicts(of: record, logs, source) { found.append((record.ordinal, conflict)) }
        }
        return found.sorted { ($0.ordinal, $0.conflict.field) < ($1.ordinal, $1.conflict.field) }.map(\.conflict)
    }

    private func conflicts(
        of record: Record, _ logs: LogNumbers, _ source: any SecretSource
    ) throws(VaultError) -> [ItemConflict] {
        guard records.canUse(record.protection), let state = try state(of: record, logs) else { return [] }
        var found: [ItemConflict] = []
        for (field, values) in state.fields where field != .life && values.count > 1 {
            var listed: [ItemConflict.Value] = []
            for (dot, value) in values.sorted(by: { $0.key > $1.key }) where !value.isErased {
                let shown = try shown(value, field, record.itemClass, dot)
                if !listed.contains(where: { $0.isSame(as: shown) }) { listed.append(shown) }
            }
            guard listed.count > 1 else { continue }
            found.append(ItemConflict(item: Item(record, source), field: field.label, values: listed))
        }
        return found
    }

    private func shown(
        _ value: FieldValue<ReplicaSecret>, _ field: FieldID, _ itemClass: ItemClass?, _ dot: Dot
    ) throws(VaultError) -> ItemConflict.Value {
        var (text, secret, isRemoval): (String?, Secret?, Bool) = (nil, nil, false)
        switch value {
        case .none, .erased, .blob: isRemoval = true
        case .secret(let sealed): secret = try open(sealed)
        case .plain(let bytes): text = field.text(of: bytes)
        }
        return ItemConflict.Value(
            log: dot.log, time: Double(dot.stamp >> 16) / 1000 - 978_307_200, text: text, secret: secret,
            isRemoval: isRemoval)
    }

    // MARK: Resolving

    func resolve(
        _ id: ItemID, _ label: String, _ index: Int, _ viewer: Viewer,
        in session: inout some RecordSession & ~Copyable
    ) throws(VaultError) {
        guard isVisible(id, to: viewer.groups), let place = records.place(of: id),
            let record = records.record(at: place),
            !record.isTombstone, record.hasClock
        else { throw .itemNotFound }
        guard records.canUse(record.protection) else { throw .locked }
        try record.checkPresence(viewer)
        if label == "shadow" { return try resolveShadow(record, index, in: &session) }
        let logs = try records.logs()
        guard var state = try state(of: record, logs),
            let field = state.fields.keys.first(where: { $0.label == label && (state.fields[$0]?.count ?? 0) > 1 }),
            let own = records.ownLog, let log = logs[own.number]
        else { throw .itemNotFound }
        var listed: [(shown: ItemConflict.Value, value: FieldValue<ReplicaSecret>)] = []
        for (dot, value) in (state.fields[field] ?? [:]).sorted(by: { $0.key > $1.key }) where !value.isErased {
            let shown = try shown(value, field, record.itemClass, dot)
            if !listed.contains(where: { $0.shown.isSame(as: shown) }) { listed.append((shown, value)) }
        }
        guard listed.indices.contains(index - 1) else { throw .parameter(.limit) }
        var kept = listed[index - 1].value
        if case .secret(let sealed) = kept { kept = .secret(.given(try open(sealed))) }
        let dot = Dot(log: log, stamp: records.nextStamp())
        state.fields[field] = [dot: kept]
        state.fields[.life] = [dot: .plain([1])]
        state.context[log] = dot.stamp
        if field == .primaryKey { try checkKeyIsFree(state, record) }
        var numbers = logs
        let fresh = try put(state, told: 0, erased: 0, own, &numbers, in: &session).new
        try settleShadows(like: record, numbers, in: &session)
        try settleShadows(like: fresh, numbers, in: &session)
    }

    private func checkKeyIsFree(_ state: ItemState<ReplicaSecret>, _ record: Record) throws(VaultError) {
        guard let bytes = state.fields[.primaryKey]?.values.first?.plainBytes,
            let key = try? EncodedAttributes(parsing: bytes, bytes.indices)
        else { return }
        let parsed = ParsedItem(
            itemClass: state.itemClass, protection: record.protection, values: key.values, user: [:])
        if let twin = try twins(of: parsed, except: state.id).own, !twin.isTombstone { throw .duplicateItem }
    }

    /// One of two items with one primary key goes.
    private func resolveShadow(
        _ record: Record, _ index: Int, in session: inout some RecordSession & ~Copyable
    ) throws(VaultError) {
        switch index {
        case 1: try bury(record, .hereOnly, in: &session)
        case 2:
            let others = try live(like: record).filter { $0.id != record.id && !$0.isHidden }
            for other in others {
                if other.hasClock { try bury(other, .hereOnly, in: &session) } else { try remove(other, in: &session) }
            }
            try letOut(shadowed(like: record) + [record], in: &session)
        default: throw .parameter(.limit)
        }
    }
}

extension ItemConflict.Value {
    fileprivate func isSame(as other: ItemConflict.Value) -> Bool {
        guard text == other.text, isRemoval == other.isRemoval else { return false }
        switch (secret, other.secret) {
        case (nil, nil): return true
        case (let a?, let b?): return a.withBytes { a in b.withBytes { b in isEqualInConstantTime(a, b) } }
        default: return false
        }
    }
}

extension FieldID {
    /// What a person reads of a value that is no secret.
    fileprivate func text(of bytes: [UInt8]) -> String {
        switch self {
        case .created: return String(Double(bitPattern: bytes.span.integer(at: 0)))
        case .protection: return bytes.first.flatMap { Accessibility(number: $0) }?.rawValue ?? ""
        case .primaryKey:
            guard let key = try? EncodedAttributes(parsing: bytes, bytes.indices) else { return "" }
            return key.values.fields.map { "\(Attribute($0.tag)?.name ?? "")=\($0.value.text)" }.joined(separator: " ")
        default:
            guard let attribute else { return String(decoding: bytes, as: UTF8.self) }
            // Of an attribute that this version does not know only the size was checked.
            guard attribute.isKnown else { return hexadecimal(Array(bytes.dropFirst())) }
            return EncodedAttributes([(id: self, bytes: bytes)])[attribute]?.text ?? ""
        }
    }
}

extension EncodedValue {
    fileprivate var text: String {
        switch self {
        case .string(let text): text
        case .data(let bytes): hexadecimal(bytes)
        case .integer(let number): String(number)
        case .date(let number), .real(let number): String(number)
        }
    }
}
