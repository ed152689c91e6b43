// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultFormat

struct ReachRoundTripTests {
    @Test(arguments: 0..<200) func `an entry of a log comes back as it was written`(number: Int) throws {
        let entry = RandomReach("entry \(number)").entry()
        let body = try entry.pieces(\.count).flat
        #expect(body.count == entry.encodedLength(\.count))
        let read = try LogEntry(parsing: body.span).map { Array(body[$0]) }
        #expect(read == entry)
        #expect(try read.pieces(\.count).flat == body)
    }

    @Test(arguments: 0..<100) func `an entry of the roster comes back as it was written`(number: Int) throws {
        let entry = RandomReach("roster \(number)").roster()
        let body = try entry.pieces().flat
        #expect(body.count == entry.encodedLength)
        #expect(try RosterEntry(parsing: body.span).map { Array(body[$0]) } == entry)
    }

    @Test(arguments: 0..<100) func `the clock of an item comes back as it was written`(number: Int) throws {
        let clock = RandomReach("clock \(number)").clock()
        let bytes = try clock.encoded()
        #expect(try ItemClock(parsing: bytes.span) == clock)
        #expect(ItemClock.own(of: bytes.span) == clock.own)
        let attributes = attribute(.clock, 2, bytes)
        #expect(try EncodedAttributes(parsing: attributes, attributes.indices).bytes == attributes)
    }

    @Test func `messages of the mailbox come back as they were written`() throws {
        let request = ReachSamples.request
        let encoded = try request.encoded()
        #expect(try JoinRequest(parsing: encoded.span) == request)
        let body = try ReachSamples.grant.pieces().flat
        #expect(body.count == ReachSamples.grant.encodedLength)
        #expect(try JoinGrant(parsing: body.span).map { Array(body[$0]) } == ReachSamples.grant)
        let mark = ReachSamples.conflict
        let payload = mark.encoded
        #expect(try ConflictMark(parsing: payload.span) == mark)
    }

    @Test func `a record tells its parts`() throws {
        let seals = (1...3).map { [UInt8](repeating: $0, count: SealedRecord.sealLength) }
        let head = try SealedRecord.plainPart(.roster, epoch: 7, seals: seals)
        let nonce = [UInt8](repeating: 0xAA, count: 24)
        let box = [UInt8](repeating: 0xBB, count: 528)
        let record = try SealedRecord(parsing: head + nonce + box, .roster)
        #expect(record.epoch == 7)
        #expect(record.sealCount == 3)
        #expect(record.seal(at: 1).map { Array(record.bytes[$0]) } == seals[1])
        #expect(record.seal(at: 3) == nil)
        #expect(record.seal(at: -1) == nil)
        #expect(Array(record.bytes[record.plainPart]) == head)
        #expect(Array(record.bytes[record.nonce]) == nonce)
        #expect(Array(record.bytes[record.box]) == box)
        #expect(SealedRecord.length(sealing: 1, .roster, sealCount: 3) == record.bytes.count)
        #expect(SealedRecord.length(sealing: 508, .log) == 8 + 24 + 16 + 512)
    }

    @Test func `secrets are no part of the bytes that are written`() throws {
        let pieces = try ReachSamples.entry.pieces(\.count)
        let secrets = pieces.compactMap { if case .secret(let secret) = $0 { secret } else { nil } }
        #expect(secrets == [Array("first".utf8), Array("second".utf8)])
    }

    @Test func `places in a log are written in the order of the logs`() throws {
        var entry = ReachSamples.entry
        let body = try entry.pieces(\.count).flat
        entry.trims.reverse()
        #expect(try entry.pieces(\.count).flat == body)
    }

    @Test func `names of the same characters in other code points are two fields`() {
        let (one, two) = (FieldID.userAttribute("\u{E9}"), FieldID.userAttribute("e\u{301}"))
        #expect(one != two)
        #expect(Set([one, two]).count == 2)
        #expect(two < one)
    }

    @Test func `a context keeps the greatest stamps in order`() {
        var context = LocalContext()
        for number: UInt16 in [5, 1, 3, 5] { context[number] = UInt64(number) + 1 }
        #expect(context.entries.map(\.number) == [1, 3, 5])
        #expect(context[5] == 6)
        #expect(context[4] == 0)
        context[3] = 0
        #expect(context.entries.map(\.number) == [1, 5])
    }

    @Test func `every record of replication is the one of the vectors`() throws {
        let file = "reach-records.txt"
        let samples = try ReachSamples.all()
        if Vectors.isWriting {
            let lines = samples.map { "\($0.name) = \($0.bytes.hexadecimal)\n" }.joined()
            let head =
                "# Bodies of records, and attributes, as replication writes them. Ed25519 and boxes are not here.\n"
            try Vectors.write(Array((head + lines).utf8), to: file)
        }
        let table = try Vectors.table(file)
        #expect(table.count == samples.count)
        for sample in samples { #expect(table[sample.name] == sample.bytes.hexadecimal, "\(sample.name)") }
    }
}

/// Returns an encoded attribute.
func attribute(_ tag: AttributeTag, _ kind: UInt8, _ payload: [UInt8]) -> [UInt8] {
    var output: [UInt8] = []
    output.append(integer: tag.rawValue)
    output.append(kind)
    output.append(integer: UInt32(payload.count))
    return output + payload
}
