// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultCrypto
import VaultFormat

/// Random values that a writer could make.
struct RandomReach {
    let random: SeededRandom

    init(_ seed: String) { random = SeededRandom(seed) }

    func bytes(_ count: ClosedRange<Int>) -> [UInt8] { random.bytes(random.number(in: count)) }
    func sixteen() -> Bytes16 { Bytes16(random.bytes(16)) }
    func thirtyTwo() -> Bytes32 { Bytes32(random.bytes(32)) }
    func word() -> UInt64 { random.bytes(8).span.integer(at: 0) }
    func stamp() -> UInt64 { max(1, word() >> UInt64(random.number(in: 1...63))) }
    func text(_ count: ClosedRange<Int>) -> String {
        String((0..<random.number(in: count)).map { _ in random.element(of: Array("aZ09 éß漢-")) })
    }
    func heads(_ count: ClosedRange<Int>) -> [LogHead] {
        (0..<random.number(in: count)).map { _ in LogHead(log: sixteen(), sequence: stamp(), hash: thirtyTwo()) }
            .sorted { $0.log < $1.log }
    }

    func entry() -> LogEntry<[UInt8]> {
        let logs = (0..<random.number(in: 1...5)).map { _ in sixteen() }
        let isFirst = random.chance(20)
        return LogEntry(
            epoch: UInt32(random.uniform(9)), realmID: sixteen(), logID: sixteen(), deviceID: sixteen(),
            sequence: isFirst ? 1 : stamp() | 2, previous: isFirst ? .zero : thirtyTwo(), hlc: stamp(), ack: word(),
            logset: word(), rosterSequence: stamp(), rosterHash: thirtyTwo(), at: word(), sum: word(),
            tips: heads(0...LogTip.limit).reversed().map {
                LogTip(log: $0.log, device: sixteen(), sequence: $0.sequence, hash: $0.hash)
            },
            trims: heads(0...3).map { LogTrim(log: $0.log, base: $0.sequence | 2, hash: $0.hash) },
            closes: heads(0...2),
            items: (0..<random.number(in: 0...6)).map { _ in item(logs) })
    }

    func item(_ logs: [LogID]) -> ItemState<[UInt8]> {
        var state = ItemState<[UInt8]>(
            id: ItemID(random: random.bytes(16)), itemClass: random.element(of: ItemClass.allCases))
        for log in logs where state.context.isEmpty || random.chance(60) { state.context[log] = stamp() }
        for field in fields() {
            var values: SortedMap<Dot, FieldValue<[UInt8]>> = [:]
            for _ in 0..<random.number(in: 1...3) {
                guard !state.context.isEmpty else { continue }
                let (log, most) = random.element(of: state.context)
                values[Dot(log: log, stamp: max(1, most >> UInt64(random.uniform(9))))] = value(of: field)
            }
            state.fields[field] = values
        }
        return state
    }

    private func fields() -> [FieldID] {
        [.protection, .primaryKey, .life]
            + [
                .created, .secret, .namedSecret(text(1...20)), .userAttribute(text(1...20)),
                .attribute(Attribute.label.tag), .attribute(Attribute.port.tag),
                .attribute(AttributeTag(rawValue: 0x7ABC)),
            ].filter { _ in random.chance(50) }
    }

    private func value(of field: FieldID) -> FieldValue<[UInt8]> {
        if field != .life, random.chance(10) { return .erased }
        let reference = BlobReference(id: sixteen(), length: UInt64(random.uniform(16 << 20)), hash: thirtyTwo())
        switch field {
        case .life: return .plain([UInt8(random.uniform(2))])
        case .protection: return .plain([1 + UInt8(random.uniform(3))] + bytes(0...20))
        case .created: return .plain(bytes(8...8).dropLast(2) + [0xC5, 0x41])
        case .primaryKey:
            return .plain(EncodedAttributes([Attribute.server.tag: .string(text(0...40))], user: [:]).bytes)
        default:
            if random.chance(10) { return .none }
            if random.chance(10) { return .blob(reference) }
            if field.isSecret { return .secret(bytes(0...100)) }
            return .plain((field.attribute == nil ? [] : [1]) + Array(text(0...60).utf8))
        }
    }

    func roster() -> RosterEntry<[UInt8]> {
        let isFirst = random.chance(30)
        var operations: [RosterOperation<[UInt8]>] = []
        if isFirst { operations.append(.genesis(founder: sixteen(), recovery: sixteen(), recoveryMAC: thirtyTwo())) }
        for _ in 0..<random.number(in: 0...3) {
            operations.append(
                .enrol(
                    RosterDevice(
                        id: sixteen(), signingKey: thirtyTwo(), boxKey: thirtyTwo(),
                        role: random.element(of: DeviceRole.allCases), name: text(1...80))))
        }
        for _ in 0..<random.number(in: 0...2) { operations.append(.remove(sixteen(), cuts: heads(0...4))) }
        if operations.isEmpty || random.chance(50) {
            operations.append(.epoch(previousKey: random.bytes(32), keyHash: thirtyTwo()))
        }
        if random.chance(20) { operations.append(.recovery(sixteen(), recoveryMAC: thirtyTwo())) }
        return RosterEntry(
            epoch: UInt32(random.uniform(9)), realmID: sixteen(), sequence: isFirst ? 1 : stamp() | 2,
            previous: isFirst ? .zero : thirtyTwo(), signer: sixteen(), hlc: word(), operations: operations)
    }

    func clock() -> ItemClock {
        var context = LocalContext()
        for _ in 0..<random.number(in: 0...6) { context[UInt16(random.uniform(500))] = stamp() }
        var marks: SortedMap<FieldID, [ClockMark]> = [:]
        for field in fields() {
            let dots = Set((0..<random.number(in: 1...3)).map { _ in localDot() })
            let kinds: [ClockMark.Mark] = field == .life ? [.alive, .dead] : [.none, .here, .conflict, .erased]
            marks[field] = dots.sorted().map { ClockMark(dot: $0, mark: random.element(of: kinds)) }
        }
        return ItemClock(
            own: word(), told: word(), erased: word(), base: localDot(), context: context, fields: marks)
    }

    private func localDot() -> LocalDot { LocalDot(number: UInt16(random.uniform(65536)), stamp: stamp()) }
}
