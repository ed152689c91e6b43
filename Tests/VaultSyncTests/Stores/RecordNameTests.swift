// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultSync

struct RecordNameTests {
    @Test(arguments: [
        "", "1", "000000000000001", "00000000000000001", "0000000000000000", "000000000000000A", "000000000000000g",
        "0000000000000001.", "0000000000000001.tmp", "0000000000000001.sync-conflict", "0000000000000001~",
        "0000000000000001.sync-conflict-../x", "0000000000000001.sync-conflict-\u{fffd}", " 000000000000001",
        "8000000000000000", "ffffffffffffffff", ".tmp-0123456789abcdef", ".syncthing.0000000000000001.tmp",
        "\u{0660}00000000000001",
        "0000000000000001\u{301}.sync-conflict-1", "0000000000000001.sync-conflict-\u{301}",
    ])
    func `a name of another form is no record's`(name: String) { #expect(RecordName(name) == nil) }

    @Test func `a record's name tells its number, and whether it is a second one`() throws {
        for (name, sequence, isConflict) in [
            ("0000000000000001", UInt64(1), false), ("00000000deadbeef", 0xdead_beef, false),
            ("7fffffffffffffff", 1 << 63 - 1, false),
            ("0000000000000010.sync-conflict-20261122-101112-ABCDEFG", 16, true),
        ] {
            let record = try #require(RecordName(name))
            #expect(record.sequence == sequence && record.isConflict == isConflict && record.text == name)
        }
        #expect(RecordName(255).text == "00000000000000ff")
    }

    @Test func `of leftovers exactly those names count that a writer makes`() {
        #expect(RecordName.isTemporary(".tmp-0123456789abcdef"))
        for name in [".tmp-0123456789abcde", ".tmp-0123456789abcdef0", ".tmp-0123456789abcdeF", "tmp-0123456789abcdef"]
        {
            #expect(!RecordName.isTemporary(name))
        }
    }

    @Test(arguments: 0..<20)
    func `the lowest names of many are all of whole addresses, in order`(seed: Int) {
        let random = SeededRandom("lowest \(seed)")
        let capacity = random.number(in: 9...40)
        var names = Set<String>()
        for _ in 0..<random.number(in: 0...400) {
            let sequence = RecordName(UInt64(random.number(in: 1...60))).text
            names.insert(random.chance(50) ? sequence : sequence + ".sync-conflict-\(random.number(in: 0...20))")
        }
        let records = names.compactMap { RecordName($0) }.sorted()
        let expected = Dictionary(grouping: records, by: \.sequence).sorted { $0.key < $1.key }.flatMap { _, names in
            names.filter { !$0.isConflict } + names.filter(\.isConflict).prefix(LowestRecordNames.conflictsPerAddress)
        }
        var (found, next): ([RecordName], UInt64) = ([], 1)
        while true {
            var lowest = LowestRecordNames(capacity: capacity)
            for name in records.shuffled() where name.sequence >= next { lowest.insert(name) }
            let names = lowest.sorted()
            guard let last = names.last else { break }
            #expect(names.count <= capacity)
            found += names
            next = last.sequence + 1
        }
        // Among very many files at one address the choice is not fixed; the addresses and their number are.
        #expect(found.map(\.sequence) == expected.map(\.sequence))
    }
}
