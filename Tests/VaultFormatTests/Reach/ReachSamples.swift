// SPDX-License-Identifier: Apache-2.0
import VaultFormat

/// A fixed sample of each body and attribute that replication writes.
enum ReachSamples {
    static func name(_ first: UInt8) -> Bytes16 { Bytes16([first] + (1..<16)) }
    static func hash(_ first: UInt8) -> Bytes32 { Bytes32([first] + (1..<32)) }

    static let itemID = ItemID(random: (0..<16).map { 0xA0 ^ $0 })
    static let logs = [name(0x10), name(0x20), name(0x30)]
    static let key = [UInt8](0x40..<0x60)

    static let primaryKey = EncodedAttributes(
        [Attribute.account.tag: .string("ada"), Attribute.service.tag: .string("mail")], user: [:])

    static let item = ItemState<[UInt8]>(
        id: itemID, itemClass: .genericPassword, context: [logs[0]: 0x20000, logs[1]: 0x30001, logs[2]: 5],
        fields: [
            .protection: [dot(0, 0x10000): .plain([1])],
            .created: [dot(0, 0x10000): .plain([0, 0, 0, 0, 0, 0, 0xF0, 0x3F])],
            .primaryKey: [dot(0, 0x10000): .plain(primaryKey.bytes)],
            .secret: [dot(0, 0x20000): .secret(Array("first".utf8)), dot(1, 0x30001): .secret(Array("second".utf8))],
            .life: [dot(1, 0x30001): .plain([1])],
            .namedSecret("pin"): [
                dot(0, 0x10000): .blob(BlobReference(id: name(0x50), length: 70000, hash: hash(0x51)))
            ],
            .attribute(Attribute.label.tag): [dot(0, 0x10000): .plain([1] + Array("Mail".utf8))],
            .attribute(Attribute.comment.tag): [dot(1, 0x30001): .none],
            .userAttribute("team"): [dot(0, 0x20000): .plain(Array("blue".utf8))],
        ])

    static let deleted = ItemState<[UInt8]>(
        id: ItemID(random: (0..<16).map { 0xB0 ^ $0 }), itemClass: .internetPassword, context: [logs[1]: 0x40000],
        fields: [
            .protection: [dot(1, 0x30000): .erased], .primaryKey: [dot(1, 0x30000): .erased],
            .life: [dot(1, 0x40000): .plain([0])],
        ])

    static let entry = LogEntry<[UInt8]>(
        epoch: 3, realmID: name(1), logID: logs[0], deviceID: name(2), sequence: 7, previous: hash(6), hlc: 0x50000,
        ack: 0x40000, logset: 0x0123_4567_89AB_CDEF, rosterSequence: 4, rosterHash: hash(7), at: 8, sum: 9,
        tips: [
            LogTip(log: logs[2], device: name(3), sequence: 2, hash: hash(8)),
            LogTip(log: logs[1], device: name(4), sequence: 1, hash: hash(9)),
        ],
        trims: [LogTrim(log: logs[1], base: 1, hash: .zero), LogTrim(log: logs[2], base: 9, hash: hash(10))],
        closes: [LogHead(log: name(0x60), sequence: 11, hash: hash(11))], items: [item, deleted])

    static let roster = RosterEntry<[UInt8]>(
        epoch: 2, realmID: name(1), sequence: 2, previous: hash(12), signer: name(2), hlc: 0x60000,
        operations: [
            .enrol(device(5, .writer, "laptop")), .enrol(device(6, .reader, "wall")),
            .remove(
                name(7),
                cuts: [
                    LogHead(log: logs[0], sequence: 1, hash: hash(13)),
                    LogHead(log: logs[1], sequence: 2, hash: hash(14)),
                ]),
            .epoch(previousKey: key, keyHash: hash(15)), .recovery(name(6), recoveryMAC: hash(22)),
        ])

    static let genesis = RosterEntry<[UInt8]>(
        epoch: 1, realmID: name(1), sequence: 1, previous: .zero, signer: name(2), hlc: 0x10000,
        operations: [
            .genesis(founder: name(2), recovery: name(3), recoveryMAC: hash(16)),
            .enrol(device(2, .owner, "desk")), .enrol(device(3, .recovery, "recovery code")),
        ])

    static let request = JoinRequest(signingKey: hash(17), boxKey: hash(18), name: "téléphone")

    static let grant = JoinGrant<[UInt8]>(
        realmID: name(1), rosterSequence: 2, rosterHash: hash(19), epoch: 2, key: key,
        heads: [
            LogHead(log: logs[0], sequence: 1, hash: hash(20)), LogHead(log: logs[2], sequence: 4, hash: hash(21)),
        ])

    static let clock = ItemClock(
        own: 1, told: 2, erased: 3, base: LocalDot(number: 1, stamp: 0x10000), context: context,
        fields: [
            .secret: [
                ClockMark(dot: LocalDot(number: 1, stamp: 0x10000), mark: .conflict),
                ClockMark(dot: LocalDot(number: 2, stamp: 0x20000), mark: .here),
            ],
            .life: [ClockMark(dot: LocalDot(number: 2, stamp: 0x20000), mark: .alive)],
            .userAttribute("team"): [ClockMark(dot: LocalDot(number: 1, stamp: 0x18000), mark: .none)],
        ])

    static let conflict = ConflictMark(field: .namedSecret("pin"), dot: LocalDot(number: 1, stamp: 0x10000))

    /// Every sample by its name in the vectors.
    static func all() throws -> [(name: String, target: FuzzedFormat, bytes: [UInt8])] {
        let seals = (0..<2).map { [UInt8](repeating: 0xE0 + $0, count: SealedRecord.sealLength) }
        let farewell = [UInt8](repeating: 0xF0, count: SealedRecord.farewellLength)
        let removal = try SealedRecord.plainPart(.roster, epoch: 2, seals: seals, farewells: [farewell])
        let rest = (0..<24 + 528).map { UInt8(truncatingIfNeeded: $0) }
        return [
            ("roster record", .rosterRecord, removal + rest),
            ("log record", .logRecord, try SealedRecord.plainPart(.log, epoch: 2) + rest),
            ("log entry", .logEntry, try entry.pieces(\.count).flat),
            ("roster entry", .rosterEntry, try roster.pieces().flat),
            ("genesis", .rosterEntry, try genesis.pieces().flat),
            ("join request", .joinRequest, try request.encoded()),
            ("join grant", .joinGrant, try grant.pieces().flat),
            ("item clock", .itemClock, try clock.encoded()),
            ("conflict mark", .conflictMark, conflict.encoded),
        ]
    }

    static func device(_ first: UInt8, _ role: DeviceRole, _ text: String) -> RosterDevice {
        RosterDevice(
            id: name(first), signingKey: hash(first &+ 0x70), boxKey: hash(first &+ 0x80), role: role, name: text)
    }

    private static func dot(_ log: Int, _ stamp: UInt64) -> Dot { Dot(log: logs[log], stamp: stamp) }

    private static var context: LocalContext {
        var context = LocalContext()
        context[2] = 0x20000
        context[1] = 0x18000
        return context
    }
}

extension [BodyPiece<[UInt8]>] {
    /// The body, in ordinary memory.
    var flat: [UInt8] {
        flatMap { piece in
            switch piece {
            case .bytes(let bytes): bytes
            case .secret(let secret): secret
            }
        }
    }
}
