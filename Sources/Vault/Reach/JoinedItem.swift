// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// A state, and the parts of the item that its winning values make. No other state is read, so any thread can make one.
struct JoinedItem<S: StateSecret>: Sendable {
    let state: ItemState<S>
    /// Fields whose name equals another field's, as Swift compares names: a record has only one of them.
    private let hidden: [FieldID]
    /// Whether fields have values besides the winner, or no winner.
    let hasLosers: Bool
    /// Whether it has any value besides the names of its writes.
    let holdsValues: Bool
    let isAlive: Bool
    /// The one write that gave all fields their values, which is the usual case; `nil` if there are several.
    let onlyWrite: Dot?
    let lastLife: UInt64
    /// The protection class, and the access control if the item has one; empty if there is no such value.
    let protection: [UInt8]
    let created: Double?
    /// The parts of the item's value; `nil` names the main part.
    let secrets: [(part: String?, secret: S)]
    /// The attributes of the record, without those that are fields of the record itself.
    let attributes: EncodedAttributes

    init(_ state: ItemState<S>) {
        self.state = state
        let hidden = JoinedItem.hiddenFields(of: state)
        let lives = state.fields[.life] ?? [:]
        let first = lives.first?.key
        var (winning, winners, hasSeveral, isOfFirst) = (WinningValues<S>(), 0, false, true)
        state.fields.visit { field, values in
            if values.count > 1 { hasSeveral = true }
            var winner: FieldValue<S>?
            var isFirst = true
            values.visit { dot, value in
                if isFirst, first != copy dot || value.isNone { isOfFirst = false }
                isFirst = false
                if !value.isErased { winner = copy value }
            }
            if isFirst { isOfFirst = false }
            guard field.id != FieldID.life.id, let winner else { return }
            let field = copy field
            if !hidden.isEmpty, hidden.contains(field) { return }
            winners += 1
            winning.take(winner, of: field)
        }
        self.hidden = hidden
        hasLosers = hasSeveral || winners < state.fields.count - 1
        holdsValues = winners > 0
        // An item without its key cannot be represented.
        isAlive = winning.key != nil && lives.contains { $0.value.isLife }
        onlyWrite = isAlive && !hasLosers && isOfFirst ? first : nil
        lastLife = lives.last?.key.stamp ?? 0
        (protection, created, secrets) = (winning.protection, winning.created, winning.secrets)
        attributes = winning.attributes
    }

    /// The write whose value wins.
    func winner(of field: FieldID) -> Dot? {
        field == .life || hidden.contains(field) ? nil : state.fields[field]?.last { !$0.value.isErased }?.key
    }

    /// The mark of a value in the item's clock.
    func mark(of value: FieldValue<S>, _ dot: Dot, _ field: FieldID) -> ClockMark.Mark {
        if field == .life { return value.isLife ? .alive : .dead }
        if value.isErased { return .erased }
        if value.isNone { return .none }
        return !hasLosers || winner(of: field) == dot ? .here : .conflict
    }

    /// The write to which most values belong, which has to be stored only once.
    var mostCommonWrite: Dot? {
        var counts: SortedMap<Dot, Int> = [:]
        for (field, values) in state.fields where values.count == 1 {
            guard let (dot, value) = values.first, !value.isErased else { continue }
            if field != .life || value.isLife { counts[dot, default: 0] += 1 }
        }
        return counts.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key
    }

    /// Of several names that Swift considers equal, all but the last written.
    private static func hiddenFields(of state: ItemState<S>) -> [FieldID] {
        var count = 0
        state.fields.visit { field, _ in if !field.name.isEmpty { count += 1 } }
        guard count > 1 else { return [] }
        var named: [(field: FieldID, dot: Dot)] = []
        for (field, values) in state.fields where !field.name.isEmpty {
            if let dot = values.last(where: { !$0.value.isErased })?.key { named.append((field, dot)) }
        }
        let hidden = named.filter { one in
            named.contains { other in
                other.field.id == one.field.id && other.field.name == one.field.name && other.field != one.field
                    && one.dot < other.dot
            }
        }
        return hidden.map(\.field)
    }
}

/// The winning values of a state, which arrive in the order of the fields.
private struct WinningValues<S> {
    var protection: [UInt8] = []
    var created: Double?
    var secrets: [(part: String?, secret: S)] = []
    var key: [UInt8]?
    /// The attributes that are fields of their own.
    private var others = EncodedAttributes.Builder()

    mutating func take(_ value: FieldValue<S>, of field: FieldID) {
        switch value {
        case .secret(let secret): secrets.append((field.part, secret))
        case .plain(let bytes):
            switch field.id {
            case FieldID.primaryKey.id: key = bytes
            case FieldID.protection.id: protection = bytes
            case FieldID.created.id: created = Double(bitPattern: bytes.span.integer(at: 0))
            default: others.append(bytes, of: field)
            }
        case .none, .blob, .erased: break
        }
    }

    var attributes: EncodedAttributes {
        let attributes = EncodedAttributes(others)
        guard let key, let parsed = try? EncodedAttributes(parsing: key, key.indices) else { return attributes }
        return attributes.overridden(by: parsed)
    }
}
