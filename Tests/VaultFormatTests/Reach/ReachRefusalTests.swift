// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultFormat

/// Violates each rule once.
struct ReachRefusalTests {
    @Test func `what breaks no rule is read`() throws {
        _ = try LogEntry(parsing: RawEntry().bytes.span)
        for good in StateRule.good {
            var entry = RawEntry()
            good.change(&entry.items[0])
            #expect(throws: Never.self, "\(good.name)") { _ = try LogEntry(parsing: entry.bytes.span) }
        }
    }

    @Test(arguments: StateRule.broken) func `a state is refused`(rule: StateRule) {
        var entry = RawEntry()
        rule.change(&entry.items[0])
        #expect(throws: rule.error) { _ = try LogEntry(parsing: entry.bytes.span) }
    }

    @Test(arguments: EntryRule.broken) func `an entry is refused`(rule: EntryRule) {
        var entry = RawEntry()
        rule.change(&entry)
        #expect(throws: rule.error) { _ = try LogEntry(parsing: entry.bytes.span) }
    }

    @Test func `a record is refused for its start, its length and its kind`() throws {
        let rest = [UInt8](repeating: 1, count: 24 + 528)
        let log = try SealedRecord.plainPart(.log, epoch: 1) + rest
        let roster = try SealedRecord.plainPart(.roster, epoch: 1) + rest
        _ = try SealedRecord(parsing: log, .mailbox)
        _ = try SealedRecord(parsing: roster, .roster)
        #expect(throws: FormatError.invalid(.record)) { try SealedRecord(parsing: [0x57] + log.dropFirst(), .log) }
        #expect(throws: FormatError.truncated(.record)) { try SealedRecord(parsing: log.dropLast(), .log) }
        #expect(throws: FormatError.truncated(.record)) { try SealedRecord(parsing: roster.dropLast(), .roster) }
        for kind in RecordKind.allCases {
            let long = (kind == .roster ? roster : log) + [UInt8](repeating: 0, count: kind.limit)
            #expect(throws: FormatError.outOfBounds(.record)) { try SealedRecord(parsing: long, kind) }
            let longest = Array(long.prefix(kind.limit))
            #expect(throws: Never.self) { try SealedRecord(parsing: longest, kind) }
        }
        var seals = roster
        seals.replaceSubrange(8..<10, with: [0xFF, 0xFF])
        #expect(throws: FormatError.truncated(.seals)) { try SealedRecord(parsing: seals, .roster) }
        #expect(throws: FormatError.invalid(.seals)) {
            try SealedRecord.plainPart(.log, epoch: 1, seals: [[UInt8](repeating: 0, count: 80)])
        }
        #expect(throws: FormatError.invalid(.seals)) { try SealedRecord.plainPart(.roster, epoch: 1, seals: [[1]]) }
    }

    @Test func `a record is refused for its farewells`() throws {
        let rest = [UInt8](repeating: 1, count: 24 + 528)
        let farewell = [UInt8](repeating: 2, count: SealedRecord.farewellLength)
        let roster = try SealedRecord.plainPart(.roster, epoch: 1, farewells: [farewell, farewell]) + rest
        let record = try SealedRecord(parsing: roster, .roster)
        #expect(record.farewellCount == 2 && record.sealCount == 0)
        #expect(record.farewell(at: 1) == 124..<236 && record.farewell(at: 2) == nil)
        #expect(roster.count == SealedRecord.length(sealing: 0, .roster, farewellCount: 2))
        for count: UInt8 in [3, 0xFF] {
            var more = roster
            more[10] = count
            #expect(throws: FormatError.truncated(count == 3 ? .record : .farewells)) {
                try SealedRecord(parsing: more, .roster)
            }
        }
        #expect(throws: FormatError.truncated(.farewells)) {
            try SealedRecord(parsing: Array(roster.prefix(11)), .roster)
        }
        #expect(throws: FormatError.invalid(.farewells)) {
            try SealedRecord.plainPart(.log, epoch: 1, farewells: [farewell])
        }
        #expect(throws: FormatError.invalid(.farewells)) {
            try SealedRecord.plainPart(.roster, epoch: 1, farewells: [farewell.dropLast()])
        }
    }

    @Test(arguments: RosterRules.broken) func `a roster's entry is refused`(rule: Rule<[UInt8]>) throws {
        var body = try ReachSamples.roster.pieces().flat
        rule.change(&body)
        #expect(throws: rule.error) { _ = try RosterEntry(parsing: body.span) }
    }

    @Test func `a roster's entry that nobody would read is not written`() throws {
        let good = ReachSamples.roster
        func refuse(_ error: FormatError, _ change: (inout RosterEntry<[UInt8]>) -> Void) {
            var entry = good
            change(&entry)
            #expect(throws: error) { try entry.pieces() }
        }
        refuse(.invalid(.rosterOperation)) { $0.operations = [] }
        refuse(.invalid(.rosterOperation)) { $0.operations.reverse() }
        refuse(.invalid(.rosterOperation)) { $0.operations += $0.operations.suffix(1) }
        refuse(.invalid(.rosterOperation)) { $0.operations.swapAt(3, 4) }
        refuse(.invalid(.rosterOperation)) { $0.operations += ReachSamples.genesis.operations.prefix(1) }
        refuse(.invalid(.sequence)) { $0.sequence = 1 }
        refuse(.invalid(.sequence)) { $0.sequence = 0 }
        refuse(.invalid(.device)) { $0.operations = [.enrol(ReachSamples.device(1, .owner, ""))] }
        refuse(.invalid(.device)) { $0.operations = [.enrol(ReachSamples.device(1, .owner, "a\nb"))] }
        refuse(.invalid(.cuts)) {
            let cut = LogHead(log: ReachSamples.logs[0], sequence: 1, hash: .zero)
            $0.operations = [.remove(ReachSamples.name(1), cuts: [cut, cut])]
        }
    }

    @Test func `a state that no device would read is not written`() {
        func refuse(_ error: FormatError, _ change: (inout ItemState<[UInt8]>) -> Void) {
            var entry = ReachSamples.entry
            change(&entry.items[0])
            #expect(throws: error) { try entry.pieces(\.count) }
        }
        let dot = Dot(log: ReachSamples.logs[0], stamp: 1)
        refuse(.invalid(.fieldID)) { $0.fields[.life] = nil }
        refuse(.invalid(.fieldValue)) { $0.fields[.created] = [:] }
        refuse(.invalid(.dot)) { $0.fields[.created] = [Dot(log: dot.log, stamp: 0x20001): .erased] }
        refuse(.invalid(.dot)) { $0.fields[.created] = [Dot(log: ReachSamples.name(0x77), stamp: 1): .erased] }
        refuse(.invalid(.context)) { $0.context[ReachSamples.logs[2]] = 0 }
        refuse(.invalid(.fieldID)) { $0.fields[.attribute(.fields)] = [dot: .none] }
        refuse(.outOfBounds(.fieldValue)) {
            $0.fields[.secret] = [dot: .secret([UInt8](repeating: 0, count: (64 << 10) + 1))]
        }
        refuse(.outOfBounds(.fieldValue)) { state in
            let dots = (1...256).map { Dot(log: dot.log, stamp: $0) }
            state.fields[.secret] = SortedMap(uniqueKeysWithValues: dots.map { ($0, .erased) })
        }
    }

    @Test(arguments: [
        attribute(.clock, 3, [0, 0, 0, 0, 0, 0, 0, 0]), attribute(.clock, 2, []), attribute(.clock, 2, [1, 2, 3]),
        attribute(.shadow, 2, [1]), attribute(.shadow, 3, [1]), attribute(.shadow, 3, [3, 0, 0, 0, 0, 0, 0, 0]),
        attribute(.conflict, 2, []), attribute(.conflict, 1, ReachSamples.conflict.encoded),
        attribute(.conflict, 2, ReachSamples.conflict.encoded + [0]), attribute(.held, 4, [1, 0, 0, 0, 0, 0, 0, 0]),
        attribute(.held, 3, []),
    ]) func `an attribute of replication of another form is refused`(bytes: [UInt8]) {
        #expect(throws: FormatError.invalid(.replication)) { try EncodedAttributes(parsing: bytes, bytes.indices) }
    }

    @Test func `attributes of replication are kept as others that are unknown`() throws {
        let one: [UInt8] = [1, 0, 0, 0, 0, 0, 0, 0]
        let bytes =
            attribute(.clock, 2, try ReachSamples.clock.encoded()) + attribute(.shadow, 3, one)
            + attribute(.conflict, 2, ReachSamples.conflict.encoded) + attribute(.held, 3, one)
        let attributes = try EncodedAttributes(parsing: bytes, bytes.indices)
        #expect(EncodedAttributes().keepingUnknown(of: attributes) == attributes)
        #expect(attributes.values.fields.isEmpty)
        #expect(attributes.isOne(.shadow))
    }

    @Test(arguments: ClockRules.broken) func `a clock is refused`(rule: Rule<[UInt8]>) throws {
        var bytes = try ReachSamples.clock.encoded()
        rule.change(&bytes)
        #expect(throws: rule.error) { try ItemClock(parsing: bytes.span) }
    }
}
