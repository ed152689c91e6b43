// SPDX-License-Identifier: Apache-2.0

/// An owner's answer to a device that it has enrolled: the second message of the mailbox, without the signature.
///
/// `version u16 = 1, kind u8 = 3, u8 2, realmID 16, roster's seq u64, hash 32, epoch u32, epoch key 32, u16 n, { logID
/// 16, seq u64, hash 32 }*`
///
/// - Parameter Secret: the 32 bytes of the key, or their range in the body.
package struct JoinGrant<Secret> {
    static var message: UInt8 { 2 }
    static var headLength: Int { 98 }

    package var realmID: RealmID
    package var rosterSequence: UInt64
    package var rosterHash: Bytes32
    package var epoch: UInt32
    package var key: Secret
    /// The heads of all logs, one each, written in the order of the logs. A remote that shows less is withholding
    /// records.
    package var heads: [LogHead]

    package init(
        realmID: RealmID, rosterSequence: UInt64, rosterHash: Bytes32, epoch: UInt32, key: Secret, heads: [LogHead]
    ) {
        (self.realmID, self.rosterSequence, self.rosterHash) = (realmID, rosterSequence, rosterHash)
        (self.epoch, self.key, self.heads) = (epoch, key, heads)
    }

    /// The same grant with another secret.
    package func map<T, E: Error>(_ body: (Secret) throws(E) -> T) throws(E) -> JoinGrant<T> {
        JoinGrant<T>(
            realmID: realmID, rosterSequence: rosterSequence, rosterHash: rosterHash, epoch: epoch,
            key: try body(key), heads: heads)
    }

    /// The encoded length in bytes, without the signature.
    package var encodedLength: Int { JoinGrant.headLength + heads.count * LogHead.encodedLength }

    /// The body in pieces; its secret has 32 bytes.
    ///
    /// - Throws: for a grant that no parser accepts; `.outOfBounds` if it is too large.
    package func pieces() throws(FormatError) -> [BodyPiece<Secret>] {
        guard rosterSequence >= 1 else { throw .invalid(.sequence) }
        var writer = BodyWriter<Secret>()
        BodyHead.append(.mailbox, JoinGrant.message, to: &writer.bytes)
        writer.bytes.append(realmID.bytes)
        writer.bytes.append(integer: rosterSequence)
        writer.bytes.append(rosterHash.bytes)
        writer.bytes.append(integer: epoch)
        writer.append(key)
        try writer.append(count: heads.count, UInt16.self, .heads)
        for head in try LogHead.sorted(heads, .heads) { head.append(to: &writer.bytes) }
        return writer.pieces()
    }
}

extension JoinGrant: Equatable where Secret: Equatable {}
extension JoinGrant: Sendable where Secret: Sendable {}

extension JoinGrant where Secret == Range<Int> {
    /// Reads a grant without copying its key.
    ///
    /// - Parameter body: without the signature.
    /// - Throws: for anything that no writer produces.
    package init(parsing body: Span<UInt8>) throws(FormatError) {
        var reader = SpanReader(body)
        try BodyHead.parse(.mailbox, JoinGrant.message, &reader, of: body)
        realmID = try reader.sixteen(of: body, .body)
        rosterSequence = try reader.integer(UInt64.self, of: body, .sequence)
        guard rosterSequence >= 1 else { throw .invalid(.sequence) }
        rosterHash = try reader.thirtyTwo(of: body, .body)
        epoch = try reader.integer(UInt32.self, of: body, .body)
        key = try reader.take(RosterOperation<Range<Int>>.keyLength, .body)
        let count = Int(try reader.integer(UInt16.self, of: body, .heads))
        heads = try LogHead.parse(count, &reader, of: body, .heads)
        try reader.expectEnd(.body)
    }
}
