// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultFormat

/// A change to a valid subject, and the expected refusal.
struct Rule<Subject>: Sendable, CustomTestStringConvertible {
    let name: String
    let error: FormatError
    let change: @Sendable (inout Subject) -> Void

    var testDescription: String { name }

    init(_ name: String, _ error: FormatError, _ change: @escaping @Sendable (inout Subject) -> Void) {
        (self.name, self.error, self.change) = (name, error, change)
    }
}

typealias StateRule = Rule<RawState>
typealias EntryRule = Rule<RawEntry>

private let stringKind: [UInt8] = [1]
private let minusZero: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0x80]
private let infinity: [UInt8] = [0, 0, 0, 0, 0, 0, 0xF0, 0x7F]

/// Returns a change that adds a field to a state.
private func with(
    _ id: UInt16, _ bytes: [UInt8], name: [UInt8] = [], form: UInt8 = 1
) -> @Sendable (inout RawState) -> Void {
    { $0.add(RawState.Field(id, bytes, name: name, form: form)) }
}

/// Returns a change that gives an existing field of a state another value.
private func giving(_ id: UInt16, _ bytes: [UInt8], form: UInt8 = 1) -> @Sendable (inout RawState) -> Void {
    { state in
        for index in state.fields.indices where state.fields[index].id == id {
            state.fields[index].values = [RawState.Value(form: form, bytes: bytes)]
        }
    }
}

private func blob(length: UInt64) -> [UInt8] {
    var bytes = [UInt8](repeating: 1, count: 16)
    bytes.append(integer: length)
    return bytes + [UInt8](repeating: 2, count: 32)
}

extension Rule<RawState> {
    static let good = [
        StateRule("a blob", .invalid(.blob), giving(0xF011, blob(length: 16 << 20), form: 2)),
        StateRule("an attribute's blob", .invalid(.blob), with(0x0006, blob(length: 70000), form: 2)),
        StateRule("an unknown attribute", .invalid(.blob), with(0x0100, [99, 1, 2])),
        StateRule("an attribute that was taken away", .invalid(.blob), with(0x0006, [], form: 0)),
        StateRule("access control", .invalid(.blob), giving(0xF000, [2, 9, 9])),
        StateRule("the longest value", .invalid(.blob), giving(0xF011, [UInt8](repeating: 1, count: 64 << 10))),
        StateRule("an empty secret", .invalid(.blob), giving(0xF011, [])),
        StateRule("two values of one stamp", .invalid(.blob)) { $0.fields[2].values.append(.init(log: 1, bytes: [])) },
        StateRule("255 values", .invalid(.blob)) { state in
            state.context[1].stamp = 1000
            state.fields[2].values = (1...255).map { RawState.Value(log: 1, stamp: $0, bytes: []) }
        },
    ]

    static let broken = form + order + fieldNames + values

    private static let form = [
        StateRule("a length that is too small", .truncated(.fieldValue)) { $0.excess = .max },
        StateRule("a length below its own", .truncated(.items)) { $0.excess = 3 &- UInt32($0.bytes.count) },
        StateRule("a length beyond the end", .truncated(.items)) { $0.excess = 1 },
        StateRule("bytes behind the fields", .invalid(.items)) { $0.rest = [0] },
        StateRule("an id of another version", .invalid(.itemID)) { $0.id[6] = 0x10 },
        StateRule("an unknown class", .invalid(.itemClass)) { $0.itemClass = 5 },
        StateRule("the class of the vault's records", .invalid(.itemClass)) { $0.itemClass = 0 },
        StateRule("a byte that is reserved", .invalid(.reserved)) { $0.zero = 1 },
        StateRule("too many contexts", .truncated(.context)) { $0.contextCount = .max },
        StateRule("too many fields", .truncated(.fieldID)) { $0.fieldCount = .max },
        StateRule("too many values", .truncated(.fieldValue)) { $0.fields[3].count = .max },
        StateRule("no values", .invalid(.fieldValue)) { $0.fields[2].values = [] },
        StateRule("a value beyond the end", .truncated(.fieldValue)) { $0.fields[3].values[0].length = .max },
    ]

    private static let order = [
        StateRule("contexts in another order", .invalid(.context)) { $0.context.reverse() },
        StateRule("a context twice", .invalid(.context)) { $0.context[1].log = 0 },
        StateRule("a context of no log", .invalid(.dot)) { $0.context[1].log = 2 },
        StateRule("a context of nothing", .invalid(.context)) { $0.context[1].stamp = 0 },
        StateRule("a context beyond the last stamp", .invalid(.context)) { $0.context[1].stamp = 1 << 63 },
        StateRule("a dot of no log", .invalid(.dot)) { $0.fields[2].values[0].log = 2 },
        StateRule("a dot without a stamp", .invalid(.dot)) { $0.fields[2].values[0].stamp = 0 },
        StateRule("a dot that was not seen", .invalid(.dot)) { $0.fields[2].values[0].stamp = 10 },
        StateRule("values in another order", .invalid(.dot)) {
            $0.fields[2].values = [.init(stamp: 9, bytes: []), .init(stamp: 8, bytes: [])]
        },
        StateRule("values of one stamp in another order", .invalid(.dot)) {
            $0.fields[2].values = [.init(log: 1, stamp: 8, bytes: []), .init(log: 0, stamp: 8, bytes: [])]
        },
        StateRule("a dot twice", .invalid(.dot)) { $0.fields[2].values += $0.fields[2].values },
        StateRule("fields in another order", .invalid(.fieldID)) { $0.fields.swapAt(1, 2) },
        StateRule("a field twice", .invalid(.fieldID)) { $0.fields.insert($0.fields[2], at: 2) },
        StateRule("names in another order", .invalid(.fieldID)) { state in
            for name in ["b", "a"] { state.fields.append(RawState.Field(0xF013, [], name: Array(name.utf8))) }
        },
        StateRule("no protection", .invalid(.fieldID)) { $0.fields.remove(at: 0) },
        StateRule("no primary key", .invalid(.fieldID)) { $0.fields.remove(at: 1) },
        StateRule("no life", .invalid(.fieldID)) { $0.fields.remove(at: 3) },
    ]

    private static let fieldNames = [
        StateRule("an attribute that divides the value", .invalid(.fieldID), with(0x8060, [2])),
        StateRule("a clock", .invalid(.fieldID), with(0x7000, [2])),
        StateRule("a shadow", .invalid(.fieldID), with(0x7001, [3, 1, 0, 0, 0, 0, 0, 0, 0])),
        StateRule("a conflict", .invalid(.fieldID), with(0x7002, [2])),
        StateRule("a mark of values that are held", .invalid(.fieldID), with(0x7003, [2])),
        StateRule("a tombstone", .invalid(.fieldID), with(0x0003, [3, 1, 0, 0, 0, 0, 0, 0, 0])),
        StateRule("access control apart", .invalid(.fieldID), with(0x0008, [2])),
        StateRule("an unknown critical attribute", .unsupported(.attributeTag), with(0x8100, [2])),
        StateRule("an unknown field", .unsupported(.attributeTag), with(0xF014, [2])),
        StateRule("the date of the last change", .unsupported(.attributeTag), with(0xF002, infinity)),
        StateRule("a name of what has none", .invalid(.fieldID), with(0x0006, [1], name: [0x61])),
        StateRule("a user attribute without a name", .invalid(.fieldID), with(0x4000, [])),
        StateRule("a user attribute's name that is no text", .invalid(.fieldID), with(0x4000, [], name: [0xFF])),
        StateRule("a named secret without a name", .invalid(.fieldID), with(0xF013, [])),
        StateRule("a named secret's name with a control character", .invalid(.fieldID), with(0xF013, [], name: [9])),
    ]

    private static let values = [
        StateRule("an unknown form", .invalid(.fieldValue), giving(0xF011, [], form: 4)),
        StateRule("bytes of no value", .invalid(.fieldValue), giving(0xF011, [1], form: 0)),
        StateRule("bytes of an erased value", .invalid(.fieldValue), giving(0xF011, [1], form: 3)),
        StateRule("a value that should be a blob", .outOfBounds(.fieldValue)) {
            $0.fields[2].values[0].bytes = [UInt8](repeating: 0, count: (64 << 10) + 1)
        },
        StateRule("half a blob", .invalid(.blob), giving(0xF011, [1, 2, 3], form: 2)),
        StateRule(
            "a blob longer than a value", .outOfBounds(.blob), giving(0xF011, blob(length: 16 << 20 + 1), form: 2)),
        StateRule("a life in a blob", .invalid(.fieldValue), giving(0xF012, blob(length: 1), form: 2)),
        StateRule("a life that was erased", .invalid(.fieldValue), giving(0xF012, [], form: 3)),
        StateRule("no life at all", .invalid(.fieldValue), giving(0xF012, [], form: 0)),
        StateRule("a life of two bytes", .invalid(.fieldValue), giving(0xF012, [1, 1])),
        StateRule("half a life", .invalid(.fieldValue), giving(0xF012, [2])),
        StateRule("an unknown protection", .invalid(.protection), giving(0xF000, [8])),
        StateRule("a protection of this device alone", .invalid(.protection), giving(0xF000, [4])),
        StateRule("an empty protection", .invalid(.protection), giving(0xF000, [])),
        StateRule("a protection that was taken away", .invalid(.fieldValue), giving(0xF000, [], form: 0)),
        StateRule("a creation of no time", .invalid(.date), with(0xF001, infinity)),
        StateRule("a creation at −0", .invalid(.date), with(0xF001, minusZero)),
        StateRule("a creation of seven bytes", .invalid(.date), with(0xF001, [UInt8](repeating: 0, count: 7))),
        StateRule("a primary key that is none", .truncated(.attributes), giving(0xF010, [1])),
        StateRule(
            "a primary key in another order", .invalid(.attributeOrder),
            giving(0xF010, attribute(Attribute.service.tag, 1, []) + attribute(Attribute.account.tag, 1, []))),
        StateRule(
            "a user attribute in a primary key", .invalid(.attributeTag),
            giving(0xF010, attribute(.user, 1, [1, 0x61]))),
        StateRule(
            "a clock in a primary key", .invalid(.attributeTag),
            giving(0xF010, attribute(.shadow, 3, [1, 0, 0, 0, 0, 0, 0, 0]))),
        StateRule(
            "a tombstone in a primary key", .invalid(.attributeTag),
            giving(0xF010, attribute(Attribute.tombstone.tag, 3, [1, 0, 0, 0, 0, 0, 0, 0]))),
        StateRule("an attribute without a kind", .truncated(.attributeKind), with(0x0006, [])),
        StateRule("an unknown attribute of half a number", .invalid(.attributeValue), with(0x0100, [3, 1])),
        StateRule("an unknown attribute without a kind", .truncated(.attributeKind), with(0x0100, [])),
        StateRule("an attribute of an unknown kind", .invalid(.attributeKind), with(0x0006, [6])),
        StateRule("an attribute that is no text", .invalid(.attributeValue), with(0x0006, stringKind + [0xFF])),
        StateRule("a short integer", .invalid(.attributeValue), with(0x0024, [3, 1, 2, 3])),
        StateRule("an endless date", .invalid(.attributeValue), with(0x0006, [4] + infinity)),
        StateRule("a date of −0", .invalid(.attributeValue), with(0x0006, [4] + minusZero)),
        StateRule(
            "a real that is an integer", .invalid(.attributeValue), with(0x0006, [5, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F])),
        StateRule("a user attribute that is no text", .invalid(.attributeValue), with(0x4000, [0xFF], name: [0x61])),
    ]
}

extension Rule<RawEntry> {
    static let broken = [
        EntryRule("another version", .unsupported(.body)) { $0.version = 2 },
        EntryRule("another kind", .invalid(.body)) { $0.kind = 0 },
        EntryRule("flags", .invalid(.reserved)) { $0.flags = 1 },
        EntryRule("no number", .invalid(.sequence)) { $0.sequence = 0 },
        EntryRule("a number beyond the last", .invalid(.sequence)) { $0.sequence = 1 << 63 },
        EntryRule("a first entry after another", .invalid(.sequence)) { $0.sequence = 1 },
        EntryRule("33 tips", .outOfBounds(.tips)) { entry in
            entry.tips = (0..<33).map {
                LogTip(log: ReachSamples.name($0), device: ReachSamples.name(1), sequence: 1, hash: .zero)
            }
        },
        EntryRule("too many tips", .outOfBounds(.tips)) { $0.counts[0] = .max },
        EntryRule("a tip twice", .invalid(.tips)) { $0.tips += $0.tips },
        EntryRule("a tip of no entry", .invalid(.tips)) { $0.tips[0].sequence = 0 },
        EntryRule("a tip beyond the last number", .invalid(.tips)) { $0.tips[0].sequence = 1 << 63 },
        EntryRule("too many trims", .truncated(.trims)) { $0.counts[1] = .max },
        EntryRule("trims in another order", .invalid(.trims)) { $0.trims.reverse() },
        EntryRule("a trim twice", .invalid(.trims)) { $0.trims[1] = $0.trims[0] },
        EntryRule("a base of no entry", .invalid(.trims)) { $0.trims[0].base = 0 },
        EntryRule("a hash before the first", .invalid(.trims)) {
            $0.trims[0].base = 1
            $0.trims[0].hash = ReachSamples.hash(3)
        },
        EntryRule("too many closes", .truncated(.closes)) { $0.counts[2] = .max },
        EntryRule("closes in another order", .invalid(.closes)) { $0.closes.reverse() },
        EntryRule("a close at no entry that has a hash", .invalid(.closes)) {
            $0.closes[1] = LogHead(log: $0.closes[1].log, sequence: 0, hash: ReachSamples.hash(1))
        },
        EntryRule("a close beyond the last number", .invalid(.closes)) { $0.closes[1].sequence = .max },
        EntryRule("too many logs", .truncated(.logs)) { $0.counts[3] = .max },
        EntryRule("logs in another order", .invalid(.logs)) { $0.logs.reverse() },
        EntryRule("a log twice", .invalid(.logs)) { $0.logs[1] = $0.logs[0] },
        EntryRule("a log that no clock names", .invalid(.logs)) { $0.logs.append(ReachSamples.logs[2]) },
        EntryRule("too many items", .truncated(.items)) { $0.itemCount = .max },
        EntryRule("too few items", .invalid(.logs)) { $0.itemCount = 0 },
        EntryRule("bytes behind the items", .invalid(.body)) { $0.rest = [0] },
    ]
}

/// Broken rules of ``ReachSamples/roster``: 90 bytes, a device of 5 + 82 bytes and its name, and more.
enum RosterRules {
    static let broken: [Rule<[UInt8]>] = [
        Rule("another version", .unsupported(.body)) { $0[0] = 2 },
        Rule("another kind", .invalid(.body)) { $0[2] = 1 },
        Rule("a byte that is reserved", .invalid(.reserved)) { $0[3] = 1 },
        Rule("no number", .invalid(.sequence)) { $0[24] = 0 },
        Rule("a first entry after another", .invalid(.sequence)) { $0[24] = 1 },
        Rule("too many operations", .truncated(.rosterOperation)) { $0[89] = 0xFF },
        Rule("too few operations", .invalid(.body)) { $0[88] = 4 },
        Rule("no operations", .invalid(.rosterOperation)) { $0[88] = 0 },
        Rule("an unknown operation", .unsupported(.rosterOperation)) { $0[90] = 6 },
        Rule("a recovery code that ends early", .truncated(.rosterOperation)) { bytes in
            bytes.removeLast()
            bytes[bytes.count - 51] = 47
        },
        Rule("bytes behind a recovery code", .invalid(.rosterOperation)) { bytes in
            bytes.append(0)
            bytes[bytes.count - 53] = 49
        },
        Rule("two recovery codes", .invalid(.rosterOperation)) { bytes in
            bytes += bytes.suffix(53)
            bytes[88] = 6
        },
        Rule("an operation beyond the end", .truncated(.rosterOperation)) { $0[93] = 1 },
        Rule("an operation that ends early", .truncated(.device)) { $0[91] -= 1 },
        Rule("an unknown role", .invalid(.device)) { $0[175] = 5 },
        Rule("bytes behind a name", .invalid(.rosterOperation)) { $0[176] = 5 },
        Rule("a name with a control character", .invalid(.device)) { $0[177] = 10 },
        Rule("a name that is no text", .invalid(.device)) { $0[177] = 0xFF },
        Rule("bytes behind the operations", .invalid(.body)) { $0.append(0) },
    ]
}

/// Broken rules of ``ReachSamples/clock``: 34 bytes, two contexts, and fields from offset 56, the last with one mark.
enum ClockRules {
    static let broken: [Rule<[UInt8]>] = [
        Rule("contexts in another order", .invalid(.replication)) { $0[36] = 3 },
        Rule("a context twice", .invalid(.replication)) { $0[36] = 2 },
        Rule("a context of nothing", .invalid(.replication)) { for index in 38..<46 { $0[index] = 0 } },
        Rule("too many contexts", .truncated(.replication)) {
            $0[35] = 0xFF
            $0.removeLast($0.count - 56)
        },
        Rule("too many fields", .truncated(.fieldID)) { $0[57] = 0xFF },
        Rule("fields in another order", .invalid(.replication)) { bytes in
            let user = bytes[58..<77]
            bytes.removeSubrange(58..<77)
            bytes += user
        },
        Rule("a field that is never published", .invalid(.fieldID)) { $0[58] = 3 },
        Rule("bytes behind the fields", .invalid(.replication)) { $0.append(0) },
        Rule("a mark of another field's", .invalid(.replication)) { $0[$0.count - 1] = 1 },
        Rule("a life's mark elsewhere", .invalid(.replication)) { $0[76] = 4 },
        Rule("an unknown mark", .invalid(.replication)) { $0[$0.count - 1] = 6 },
        Rule("a write without a stamp", .invalid(.replication)) {
            for index in $0.count - 9..<$0.count - 1 { $0[index] = 0 }
        },
        Rule("no marks", .invalid(.replication)) { $0[$0.count - 12] = 0 },
    ]
}
