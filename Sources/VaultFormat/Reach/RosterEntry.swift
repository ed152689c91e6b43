// SPDX-License-Identifier: Apache-2.0

/// The content of a roster record, without its signature.
///
/// `version u16 = 1, kind u8 = 0, u8 0, epoch u32, realmID 16, seq u64, prev 32, signer 16, hlc u64, u16 n`, then n
/// operations.
///
/// - Parameter Secret: the 32 bytes of a key, or their range in the body.
package struct RosterEntry<Secret> {
    static var headLength: Int { 90 }

    package var epoch: UInt32
    package var realmID: RealmID
    /// From 1.
    package var sequence: UInt64
    /// The hash of the previous record; zeros for the first.
    package var previous: Bytes32
    package var signer: DeviceID
    package var hlc: UInt64
    /// At least one, in the order of ``RosterOperation``'s cases, of which only ``RosterOperation/enrol(_:)`` and
    /// ``RosterOperation/remove(_:cuts:)`` can occur more than once.
    package var operations: [RosterOperation<Secret>]

    package init(
        epoch: UInt32, realmID: RealmID, sequence: UInt64, previous: Bytes32, signer: DeviceID, hlc: UInt64,
        operations: [RosterOperation<Secret>]
    ) {
        (self.epoch, self.realmID, self.sequence, self.previous) = (epoch, realmID, sequence, previous)
        (self.signer, self.hlc, self.operations) = (signer, hlc, operations)
    }

    /// The same entry with other secrets.
    package func map<T, E: Error>(_ body: (Secret) throws(E) -> T) throws(E) -> RosterEntry<T> {
        var mapped: [RosterOperation<T>] = []
        for operation in operations { mapped.append(try operation.map(body)) }
        return RosterEntry<T>(
            epoch: epoch, realmID: realmID, sequence: sequence, previous: previous, signer: signer, hlc: hlc,
            operations: mapped)
    }

    /// The encoded length in bytes, without the signature.
    package var encodedLength: Int { operations.reduce(RosterEntry.headLength) { $0 + $1.encodedLength } }

    /// The body in pieces; every secret in it has 32 bytes.
    ///
    /// - Throws: for an entry that no parser accepts; `.outOfBounds` if it is too large.
    package func pieces() throws(FormatError) -> [BodyPiece<Secret>] {
        try BodyHead.check(sequence, previous)
        try RosterOperation.check(operations, sequence)
        var writer = BodyWriter<Secret>()
        BodyHead.append(.roster, to: &writer.bytes)
        writer.bytes.append(integer: epoch)
        writer.bytes.append(realmID.bytes)
        writer.bytes.append(integer: sequence)
        writer.bytes.append(previous.bytes)
        writer.bytes.append(signer.bytes)
        writer.bytes.append(integer: hlc)
        try writer.append(count: operations.count, UInt16.self, .rosterOperation)
        for operation in operations { try operation.append(to: &writer) }
        return writer.pieces()
    }
}

extension RosterEntry: Equatable where Secret: Equatable {}
extension RosterEntry: Sendable where Secret: Sendable {}

extension RosterEntry where Secret == Range<Int> {
    /// Reads an entry without copying its secrets.
    ///
    /// - Parameter body: without the signature.
    /// - Throws: for anything that no writer produces.
    package init(parsing body: Span<UInt8>) throws(FormatError) {
        var reader = SpanReader(body)
        try BodyHead.parse(.roster, 0, &reader, of: body)
        epoch = try reader.integer(UInt32.self, of: body, .body)
        realmID = try reader.sixteen(of: body, .body)
        sequence = try reader.integer(UInt64.self, of: body, .sequence)
        previous = try reader.thirtyTwo(of: body, .sequence)
        try BodyHead.check(sequence, previous)
        signer = try reader.sixteen(of: body, .body)
        hlc = try reader.integer(UInt64.self, of: body, .body)
        let count = Int(try reader.integer(UInt16.self, of: body, .rosterOperation))
        try reader.expect(count, of: RosterOperation<Secret>.headLength, .rosterOperation)
        operations = []
        for _ in 0..<count { operations.append(try RosterOperation(parsing: &reader, of: body)) }
        try RosterOperation.check(operations, sequence)
        try reader.expectEnd(.body)
    }
}
