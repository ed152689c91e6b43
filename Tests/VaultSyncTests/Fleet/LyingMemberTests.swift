// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// Valid signed lies of a member: the other devices at most stop reading the member's log.
struct LyingMemberTests {
    /// Expects that `a` and `b` continue to sync with each other, regardless of `c`'s records.
    private static func expectService(_ homes: [Home], _ where: String = "") throws {
        for (number, home) in homes.prefix(2).enumerated() {
            try home.add("after \(number)", "secret of \(number)")
            try home.change("ada", "changed by \(number)")
        }
        for home in [homes[0], homes[1], homes[0], homes[1]] {
            home.clock.advance(by: 100_000)
            let outcome = try home.fleet.sync()[0]
            #expect(outcome.error == nil, "\(`where`)")
            let log = try homes[2].fleet.membership().state.log
            let others = outcome.alarms.filter { $0.log == nil || $0.log != log }
            #expect(others.filter { $0.kind != .withheld }.isEmpty, "\(`where`)")
        }
        for home in homes.prefix(2) {
            let secrets = try home.secrets()
            #expect(secrets["after 0"] == "secret of 0" && secrets["after 1"] == "secret of 1", "\(`where`)")
            #expect(secrets["ada"] == "changed by 1", "\(`where`)")
        }
        let pending = try homes.prefix(2).map { try $0.fleet.status().pending }
        #expect(pending == [0, 0], "\(`where`)")
    }

    private static func fleet() throws -> (homes: [Home], liar: LyingMember) {
        let homes = try Home.fleet(["a", "b", "c"])
        try homes[0].add("ada", "one")
        for home in homes + homes { try home.sync() }
        return (homes, try LyingMember(homes[2]))
    }

    @Test(arguments: [.max, 1 << 63, 1 << 63 - 1] as [UInt64])
    func `an entry with the last of all numbers crashes nobody`(
        number: UInt64
    ) throws {
        let (homes, liar) = try Self.fleet()
        try liar.tell(numbered: number) { $0.trims = [LogTrim(log: liar.log, base: 2, hash: .zero)] }
        try Self.expectService(homes)
        guard number == 1 << 63 else { return }
        for home in homes.prefix(2) { #expect(try home.fleet.sync()[0].error == nil) }
    }

    @Test func `stamps at the end of time crash nobody, and hide nothing`() throws {
        let (homes, liar) = try Self.fleet()
        try liar.tell { entry in
            entry.hlc = 1 << 63 - 1
            entry.ack = .max
            entry.items = [try liar.item("late", stamp: 1 << 63 - 1)]
        }
        try Self.expectService(homes)
        #expect(try homes[0].secrets()["late"] == "of late")
    }

    @Test func `a member that pretends to have seen what a device will write is refused there`() throws {
        let (homes, liar) = try Self.fleet()
        let victim = try homes[0].fleet.membership().state.log
        try liar.tell { entry in
            var item = try liar.item("bait")
            item.context[victim] = 1 << 63 - 1
            entry.items = [item]
        }
        let outcome = try homes[0].fleet.sync()[0]
        #expect(outcome.error == nil)
        #expect(outcome.alarms.map(\.kind) == [.forged])
        try homes[0].add("more", "than before")
        #expect(try homes[0].secrets()["more"] == "than before")
        #expect(try homes[0].secrets()["bait"] == "of bait")
        try Self.expectService(homes)
    }

    @Test func `only its own device says where a log begins`() throws {
        let (homes, liar) = try Self.fleet()
        let logs = try homes.prefix(2).map { try $0.fleet.membership().state.log }
        try liar.tell { entry in
            entry.trims = logs.sorted().map { LogTrim(log: $0, base: 1 << 40, hash: .zero) }
        }
        try Self.expectService(homes)
        for log in logs { #expect(try !liar.store.sequences(of: RecordStream(.log, log)).isEmpty) }
    }

    @Test func `who may not write cannot end the log of another device`() throws {
        let (homes, reader) = try Self.fleet()
        try homes[1].add("removed", "one")
        try homes[1].sync()
        let gone = try homes[1].fleet.membership().identity.deviceID
        try homes[0].sync()
        // Two new logs that no device has read yet.
        let young = try LyingMember(homes[2], newLog: true)
        try young.tell { $0.items = [try young.item("young")] }
        _ = try homes[0].fleet.remove(deviceNamed: "b")
        let forger = try LyingMember(homes[0], newLog: true)
        try forger.tell(signedBy: reader.identity, epoch: 1) { entry in
            entry.logID = young.log
            entry.deviceID = gone
            entry.sequence = 50
            entry.previous = Bytes32([UInt8](repeating: 1, count: 32))
        }
        homes[0].clock.advance(by: 1)
        let outcome = try homes[0].fleet.sync()[0]
        #expect(outcome.error == nil)
        #expect(try homes[0].secrets()["young"] == "of young")
    }

    @Test func `more values of a field than there can be stop no other log`() throws {
        let (homes, liar) = try Self.fleet()
        for part in 0..<2 {
            try liar.tell { entry in
                var item = try liar.item("many")
                item.id = ItemID(random: [UInt8](repeating: 7, count: 16))
                var values: SortedMap<Dot, FieldValue<Secret>> = [:]
                for index in 0..<255 {
                    let name = Bytes16([UInt8(part), UInt8(index)] + [UInt8](repeating: 3, count: 14))
                    item.context[name] = 9
                    values[Dot(log: name, stamp: 9)] = .plain(Array("\u{1}\(part) \(index)".utf8))
                }
                item.fields[.attribute(Attribute.label.tag)] = values
                entry.items = [item]
            }
        }
        try Self.expectService(homes)
        #expect(try homes[0].secrets()["many"] == "of many")
    }

    @Test func `an item that has seen more logs than a file keeps stops no other log`() throws {
        let (homes, liar) = try Self.fleet()
        try liar.tell { entry in
            var item = try liar.item("seen")
            for index in 0..<7000 {
                item.context[Bytes16([UInt8(index >> 8), UInt8(index & 255)] + [UInt8](repeating: 3, count: 14))] = 9
            }
            entry.items = [item]
        }
        try Self.expectService(homes)
    }

    @Test func `an attribute that comes as a large value is no attribute`() throws {
        let (homes, liar) = try Self.fleet()
        for field in [FieldID.primaryKey, .attribute(Attribute.label.tag), .userAttribute("x")] {
            let id = Bytes16(SystemRandom().bytes(16))
            let value = [UInt8](repeating: 9, count: 100)
            let address = RecordAddress(RecordStream(.blob, id), 1)
            let sealer = RecordSealer(realmID: liar.identity.realmID, random: SystemRandom())
            let key = try #require(liar.identity.epochKeys[1])
            let part = try sealer.seal(
                [.secret(try Secret(bytes: value))], at: address, epoch: 1, key: key, signedBy: nil)
            _ = try liar.store.append([StoredRecord(address, part)])
            try liar.tell { entry in
                var item = try liar.item("odd")
                let hash = Bytes32(KeyedHash.digest(value.span).bytes.span)
                item.fields[field] = [
                    Dot(log: liar.log, stamp: item.context[liar.log] ?? 0): .blob(
                        BlobReference(id: id, length: 100, hash: hash))
                ]
                entry.items = [item]
            }
        }
        try Self.expectService(homes)
        for home in homes.prefix(2) { _ = try home.vault.conflicts() }
    }

    @Test func `an attribute that nobody knows is looked at by nobody`() throws {
        let (homes, liar) = try Self.fleet()
        for bytes: [UInt8] in [[3], [4, 0], [5], [99, 1, 2], [1, 0xFF]] {
            try liar.tell { entry in
                var item = try liar.item("unknown \(bytes)")
                item.fields[.attribute(AttributeTag(rawValue: 0x0F77))] = [
                    Dot(log: liar.log, stamp: item.context[liar.log] ?? 0): .plain(bytes)
                ]
                entry.items = [item]
            }
        }
        try Self.expectService(homes)
        for home in homes.prefix(2) { _ = try home.vault.conflicts() }
    }

    @Test func `a primary key that no item has crashes no verb`() throws {
        let (homes, liar) = try Self.fleet()
        let (account, server) = (Attribute.account.tag, Attribute.server.tag)
        let keys: [AttributeList] = [
            [:], [account: .integer(1)], [account: .data([0xFF, 0])], [server: .string("x")],
            [Attribute.synchronizable.tag: .string("yes")], [Attribute.accessGroup.tag: .integer(3)],
            [Attribute.port.tag: .date(1e300)], [account: .string(String(repeating: "x", count: 60_000))],
        ]
        for itemClass in ItemClass.allCases {
            try liar.tell { entry in
                entry.items = try keys.enumerated().map { index, key in
                    var item = try liar.item("odd \(index)")
                    item.itemClass = itemClass
                    let bytes = EncodedAttributes(key, user: [:]).bytes
                    for dot in item.fields[.primaryKey]?.keys ?? [] { item.fields[.primaryKey] = [dot: .plain(bytes)] }
                    return item
                }
            }
        }
        try Self.expectService(homes)
        for home in homes.prefix(2) {
            _ = try home.vault.conflicts()
            for itemClass in ItemClass.allCases { _ = try? home.vault.copyMatching(Query(itemClass)) }
        }
    }

    @Test func `more beginnings of logs than an entry holds keep nobody from telling`() throws {
        let (homes, liar) = try Self.fleet()
        for part in 0..<3 {
            try liar.tell { entry in
                entry.trims = (0..<2500).map { index in
                    let name = [UInt8(part), UInt8(index >> 8), UInt8(index & 255)] + [UInt8](repeating: 3, count: 13)
                    return LogTrim(log: Bytes16(name), base: 2, hash: .zero)
                }
            }
        }
        try Self.expectService(homes)
    }

    @Test func `values that together are too large for an entry are told nevertheless`() throws {
        let homes = try Home.fleet(["a", "b", "c"])
        try homes[0].add("ada", "one")
        for home in homes { try home.sync() }
        for (number, home) in homes.enumerated() {
            home.clock.advance(by: 1)
            try home.change("ada", String(repeating: "\(number)", count: 60_000))
            try home.vault.update(
                matching: Query(.genericPassword, service: "svc", account: "ada"),
                with: ItemChanges(attributes: [.comment: .string(String(repeating: "\(number)", count: 50_000))]))
        }
        for _ in 0..<2 { for home in homes { try home.sync() } }
        try homes[1].vault.update(
            matching: Query(.genericPassword, service: "svc", account: "ada"),
            with: ItemChanges(attributes: [.label: .string("new")]))
        for home in [homes[1]] + homes { try home.sync() }
        for home in homes {
            #expect(try home.secrets()["ada"] == String(repeating: "2", count: 60_000))
            let conflicts = try home.vault.conflicts()
            #expect(conflicts.map(\.values.count) == [3, 3], "\(home.name)")
            #expect(try home.fleet.status().pending == 0)
        }
        #expect(try Set(homes.map { try $0.fleet.fingerprint() }).count == 1)
    }
}
