// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import VaultCrypto
package import VaultFormat
internal import VaultStorage

/// A field of an item to which two devices gave values without having seen each other's; or an item whose primary key
/// another item has.
package struct ItemConflict: Sendable {
    package struct Value: Sendable {
        /// The log of the device that wrote it.
        package let log: LogID
        /// When the value was written, in seconds since 2001-01-01T00:00:00Z.
        package let time: Double
        /// `nil` for a secret or no value.
        package let text: String?
        /// The opened secret.
        package let secret: Secret?
        package let isRemoval: Bool
        /// Either of two items with one primary key, including its secrets; `nil` if this is the value of a field.
        package let item: Item?
        /// Whether the item exists on this device only.
        package let isHereOnly: Bool

        package init(
            log: LogID, time: Double, text: String?, secret: Secret?, isRemoval: Bool, item: Item?, isHereOnly: Bool
        ) {
            (self.log, self.time, self.text, self.secret) = (log, time, text, secret)
            (self.isRemoval, self.item, self.isHereOnly) = (isRemoval, item, isHereOnly)
        }
    }

    /// The item in conflict; with the field `shadow`, the hidden one.
    package let item: Item
    /// `secret`, `field NAME`, `key`, `protection`, `created`, `user NAME`, or an attribute's name; `shadow` if another
    /// item has the primary key.
    package let field: String
    /// The conflicting values, the winner first. With the field `shadow`: the item that the verbs see, then the hidden
    /// one, which is alone if the other one is absent on this device.
    package let values: [Value]

    package init(item: Item, field: String, values: [Value]) {
        (self.item, self.field, self.values) = (item, field, values)
    }
}

extension Vault {
    /// The conflicts for a person to review, in the order of the items' creation, without locked items.
    ///
    /// - Throws: `.presenceRequired` if reading an item requires user presence.
    package func conflicts() throws(VaultError) -> [ItemConflict] {
        try core.read { engine throws(VaultError) in try engine.conflicts(self.viewer, for: self) }
    }

    /// The number of conflicts, without locked items but including those that require user presence.
    package func conflictCount() throws(VaultError) -> Int {
        try core.read { engine throws(VaultError) in try engine.conflictCount(self.viewer, for: self) }
    }

    /// Whether an item that the verbs see has a conflict; always `false` in a vault of no fleet.
    package func hasConflict(_ id: UUID) throws(VaultError) -> Bool {
        try core.read { engine throws(VaultError) in try engine.hasConflict(ItemID(id), self.viewer, for: self) }
    }

    package func hasConflict(_ key: StoredItem.Key) throws(VaultError) -> Bool {
        try core.read { engine throws(VaultError) in
            try engine.hasConflict(ItemID(key.id.span), self.viewer, for: self)
        }
    }

    /// Resolves a conflict: the kept value is written again, replacing all of them.
    ///
    /// - Parameters:
    ///   - field: as in ``ItemConflict/field``; with `shadow`, the verbs see the kept item on every device, and the
    ///     other one is deleted. Further items with the primary key stay as they are.
    ///   - index: of the kept value, from 1.
    package func resolveConflict(of id: UUID, field: String, keeping index: Int) throws(VaultError) {
        try core.change { (engine, session: inout WriteSession) throws(VaultError) in
            try engine.resolve(ItemID(id), field, index, self.viewer, in: &session)
        }
    }
}

extension FieldID {
    /// The name shown to people.
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
        var found: [(ordinal: UInt64, conflict: ItemConflict)] = []
        try forEachDisputed(viewer) { record, logs throws(VaultError) in
            if record.isHidden, let conflict = try shadow(record, viewer, logs, source) {
                found.append((record.ordinal, conflict))
            }
            guard record.hasRivalValues else { return }
            try record.checkPresence(viewer)
            for conflict in try conflicts(of: record, logs, source) { found.append((record.ordinal, conflict)) }
        }
        return found.sorted { ($0.ordinal, $0.conflict.field) < ($1.ordinal, $1.conflict.field) }.map(\.conflict)
    }

    func conflictCount(_ viewer: Viewer, for source: any SecretSource) throws(VaultError) -> Int {
        var count = 0
        try forEachDisputed(viewer) { record, logs throws(VaultError) in
            if record.isHidden, try rivals(of: record).allSatisfy({ records.canUse($0.protection) }) { count += 1 }
            // Secrets are compared but not shown, which requires no presence.
            if record.hasRivalValues { count += try conflicts(of: record, logs, source).count }
        }
        return count
    }

    func hasConflict(_ id: ItemID, _ viewer: Viewer, for source: any SecretSource) throws(VaultError) -> Bool {
        guard records.ownLog != nil, isVisible(id, to: viewer.groups),
            let record = records.place(of: id).flatMap({ records.record(at: $0) })
        else { return false }
        if !shadowed(like: record).isEmpty { return true }
        guard record.hasRivalValues else { return false }
        return try !conflicts(of: record, records.logs(), source).isEmpty
    }

    /// Visits the live items that are hidden by another or have a field with several values.
    private func forEachDisputed(
        _ viewer: Viewer, _ body: (Record, LogNumbers) throws(VaultError) -> Void
    ) throws(VaultError) {
        guard records.ownLog != nil else { return }
        let logs = try records.logs()
        for place in 0..<records.recordEnd {
            guard let record = records.record(at: place), record.itemClass != nil, !record.isTombstone,
                record.hasClock, isVisible(record, to: viewer.groups), record.isHidden || record.hasRivalValues
            else { continue }
            try body(record, logs)
        }
    }

    // MARK: Two items with one primary key

    /// The item that the verbs see and the hidden one; the hidden one alone if the other one is absent.
    func rivals(of record: Record) throws(VaultError) -> [Record] {
        try live(like: record).filter { !$0.isHidden }.prefix(1) + [record]
    }

    /// - Returns: `nil` while either of the two is locked.
    private func shadow(
        _ record: Record, _ viewer: Viewer, _ logs: LogNumbers, _ source: any SecretSource
    ) throws(VaultError) -> ItemConflict? {
        let rivals = try rivals(of: record)
        guard rivals.allSatisfy({ records.canUse($0.protection) }) else { return nil }
        var values: [ItemConflict.Value] = []
        for rival in rivals {
            try rival.checkPresence(viewer)
            values.append(try shown(rival, logs, source))
        }
        return ItemConflict(item: Item(record, source), field: "shadow", values: values)
    }

    private func shown(
        _ record: Record, _ logs: LogNumbers, _ source: any SecretSource
    ) throws(VaultError) -> ItemConflict.Value {
        var item = Item(record, source)
        try open(&item, of: record)
        let written = record.clock?.greatestLife(logs)
        // An item that exists on this device only has no dot.
        let own = records.ownLog.flatMap { logs[$0.number] }
        guard let log = written?.log ?? own else { throw .storage(.damaged(.value(record.id))) }
        return ItemConflict.Value(
            log: log, time: written?.seconds ?? record.modified, text: nil, secret: item.secret, isRemoval: false,
            item: item, isHereOnly: !record.hasClock)
    }

    // MARK: Several values of a field

    private func conflicts(
        of record: Record, _ logs: LogNumbers, _ source: any SecretSource
    ) throws(VaultError) -> [ItemConflict] {
        guard records.canUse(record.protection), let state = try state(of: record, logs) else { return [] }
        var found: [ItemConflict] = []
        for (field, values) in state.fields where field != .life && values.count > 1 {
            let listed = try distinct(values, of: field, record.itemClass)
            guard listed.count > 1 else { continue }
            found.append(ItemConflict(item: Item(record, source), field: field.label, values: listed.map(\.shown)))
        }
        return found
    }

    /// The distinct values to choose from, newest first.
    func distinct(
        _ values: SortedMap<Dot, FieldValue<ReplicaSecret>>, of field: FieldID, _ itemClass: ItemClass?
    ) throws(VaultError) -> [(shown: ItemConflict.Value, value: FieldValue<ReplicaSecret>)] {
        var listed: [(shown: ItemConflict.Value, value: FieldValue<ReplicaSecret>)] = []
        for (dot, value) in values.sorted(by: { $0.key > $1.key }) where !value.isErased {
            let shown = try shown(value, field, itemClass, dot)
            if !listed.contains(where: { $0.shown.isSame(as: shown) }) { listed.append((shown, value)) }
        }
        return listed
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
            log: dot.log, time: dot.seconds, text: text, secret: secret, isRemoval: isRemoval, item: nil,
            isHereOnly: false)
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

extension Dot {
    /// Seconds since 2001-01-01T00:00:00Z.
    fileprivate var seconds: Double { Double(stamp >> 16) / 1000 - 978_307_200 }
}

extension Record {
    /// Whether a field has several live values, which may be equal.
    var hasRivalValues: Bool { clock?.fields.contains { $0.value.count > 1 } == true }
}

extension FieldID {
    /// The readable form of a value that is not a secret.
    fileprivate func text(of bytes: [UInt8]) -> String {
        switch self {
        case .created: return String(Double(bitPattern: bytes.span.integer(at: 0)))
        case .protection: return bytes.first.flatMap { Accessibility(number: $0) }?.rawValue ?? ""
        case .primaryKey:
            guard let key = try? EncodedAttributes(parsing: bytes, bytes.indices) else { return "" }
            return key.values.fields.map { "\(Attribute($0.tag)?.name ?? "")=\($0.value.text)" }.joined(separator: " ")
        default:
            guard let attribute else { return String(decoding: bytes, as: UTF8.self) }
            // For an attribute unknown to this version, only the size was checked.
            guard attribute.isKnown else { return hexadecimal(Array(bytes.dropFirst())) }
            var builder = EncodedAttributes.Builder()
            builder.append(bytes, of: self)
            return EncodedAttributes(builder)[attribute]?.text ?? ""
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
