// SPDX-License-Identifier: Apache-2.0

extension LogEntry {
    /// The length of the part before the tips, in bytes.
    static var headLength: Int { 188 }

    /// The encoded length in bytes, without the signature.
    ///
    /// - Parameter length: of a secret, in bytes.
    package func encodedLength(_ length: (Secret) -> Int) -> Int {
        let fixed =
            LogEntry.headLength + tips.count * LogTip.encodedLength + trims.count * LogTrim.encodedLength
            + closes.count * LogHead.encodedLength + LogTable(of: items).logs.count * LogTable.entryLength
        return items.reduce(fixed) { $0 + $1.encodedLength(length) }
    }

    /// The body in pieces.
    ///
    /// - Parameter length: of a secret, in bytes.
    /// - Throws: for an entry that no parser accepts; `.outOfBounds` if it is too large.
    package func pieces(_ length: (Secret) -> Int) throws(FormatError) -> [BodyPiece<Secret>] {
        try BodyHead.check(sequence, previous)
        guard Dot.stamps.contains(hlc) else { throw .invalid(.body) }
        try LogTip.check(tips)
        let trims = trims.sorted { $0.log < $1.log }
        try LogTrim.check(trims)
        let closes = try LogHead.sorted(closes, .closes, orNone: true)
        let table = LogTable(of: items)
        let indexes = try table.indexes()
        var writer = BodyWriter<Secret>()
        BodyHead.append(.log, to: &writer.bytes)
        writer.bytes.append(integer: epoch)
        for name in [realmID, logID, deviceID] { writer.bytes.append(name.bytes) }
        writer.bytes.append(integer: sequence)
        writer.bytes.append(previous.bytes)
        for number in [hlc, ack, logset, rosterSequence] { writer.bytes.append(integer: number) }
        writer.bytes.append(rosterHash.bytes)
        for number in [at, sum] { writer.bytes.append(integer: number) }
        try writer.append(count: tips.count, UInt16.self, .tips)
        try writer.append(count: trims.count, UInt16.self, .trims)
        try writer.append(count: closes.count, UInt16.self, .closes)
        try writer.append(count: table.logs.count, UInt16.self, .logs)
        try writer.append(count: items.count, UInt32.self, .items)
        for tip in tips { tip.append(to: &writer.bytes) }
        for trim in trims { trim.append(to: &writer.bytes) }
        for close in closes { close.append(to: &writer.bytes) }
        for log in table.logs { writer.bytes.append(log.bytes) }
        for item in items { try item.append(to: &writer, indexes, length) }
        return writer.pieces()
    }
}

extension LogEntry where Secret == Range<Int> {
    /// Reads an entry without copying its secrets.
    ///
    /// - Parameters:
    ///   - body: without the signature.
    ///   - withItems: whether the items are also read and checked.
    /// - Throws: for anything that no writer produces.
    package init(parsing body: Span<UInt8>, withItems: Bool = true) throws(FormatError) {
        var reader = SpanReader(body)
        try BodyHead.parse(.log, 0, &reader, of: body)
        epoch = try reader.integer(UInt32.self, of: body, .body)
        realmID = try reader.sixteen(of: body, .body)
        logID = try reader.sixteen(of: body, .body)
        deviceID = try reader.sixteen(of: body, .body)
        sequence = try reader.integer(UInt64.self, of: body, .sequence)
        previous = try reader.thirtyTwo(of: body, .sequence)
        try BodyHead.check(sequence, previous)
        hlc = try reader.integer(UInt64.self, of: body, .body)
        guard Dot.stamps.contains(hlc) else { throw .invalid(.body) }
        ack = try reader.integer(UInt64.self, of: body, .body)
        logset = try reader.integer(UInt64.self, of: body, .body)
        rosterSequence = try reader.integer(UInt64.self, of: body, .body)
        rosterHash = try reader.thirtyTwo(of: body, .body)
        at = try reader.integer(UInt64.self, of: body, .body)
        sum = try reader.integer(UInt64.self, of: body, .body)
        let tipCount = Int(try reader.integer(UInt16.self, of: body, .tips))
        let trimCount = Int(try reader.integer(UInt16.self, of: body, .trims))
        let closeCount = Int(try reader.integer(UInt16.self, of: body, .closes))
        let logCount = Int(try reader.integer(UInt16.self, of: body, .logs))
        let itemCount = Int(try reader.integer(UInt32.self, of: body, .items))

        guard tipCount <= LogTip.limit else { throw .outOfBounds(.tips) }
        (tips, trims, items) = ([], [], [])
        for _ in 0..<tipCount { tips.append(try LogTip(parsing: &reader, of: body)) }
        try LogTip.check(tips)
        try reader.expect(trimCount, of: LogTrim.encodedLength, .trims)
        for _ in 0..<trimCount { trims.append(try LogTrim(parsing: &reader, of: body)) }
        try LogTrim.check(trims)
        closes = try LogHead.parse(closeCount, &reader, of: body, .closes, orNone: true)
        var logs = try LogTable(parsing: &reader, of: body, count: logCount)
        try reader.expect(itemCount, of: ItemState<Secret>.headLength, .items)
        guard withItems else { return }
        items.reserveCapacity(itemCount)
        for _ in 0..<itemCount { items.append(try ItemState(parsing: &reader, of: body, &logs)) }
        try logs.expectAllUsed()
        try reader.expectEnd(.body)
    }
}
