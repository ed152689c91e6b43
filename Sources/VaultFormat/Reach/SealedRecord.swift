// SPDX-License-Identifier: Apache-2.0

/// A record as remotes have it: a plain part, a nonce and a box.
///
/// `"VLR1", epoch u32; of the roster: u16 n, n * 80 bytes of seals; nonce 24, box`
public struct SealedRecord: Equatable, Sendable {
    /// One epoch key in a `crypto_box_seal`, in bytes.
    public static let sealLength = 80
    /// The least length of what is sealed, padded: see ``Padding``.
    public static let contentMinimum = 512

    private static let magic = Array("VLR1".utf8)
    private static let headLength = 8

    /// The whole record.
    public let bytes: [UInt8]
    public let epoch: UInt32
    /// Where the seals lie, in the order of the roster.
    public let seals: Range<Int>
    public let nonce: Range<Int>
    public let box: Range<Int>

    /// - Throws: for a record of another form, or longer than its kind may be.
    public init(parsing bytes: [UInt8], _ kind: RecordKind) throws(FormatError) {
        guard bytes.count <= kind.limit else { throw .outOfBounds(.record) }
        let span = bytes.span
        var reader = SpanReader(span)
        guard span.extracting(try reader.take(4, .record)).elementsEqual(SealedRecord.magic.span) else {
            throw .invalid(.record)
        }
        epoch = try reader.integer(UInt32.self, of: span, .record)
        if kind == .roster {
            let count = Int(try reader.integer(UInt16.self, of: span, .seals))
            seals = try reader.take(count * SealedRecord.sealLength, .seals)
        } else {
            seals = reader.offset..<reader.offset
        }
        nonce = try reader.take(Layout.nonceLength, .record)
        guard reader.remaining >= SealedRecord.contentMinimum + Layout.tagLength else { throw .truncated(.record) }
        box = try reader.take(reader.remaining, .record)
        self.bytes = bytes
    }

    /// Everything before the nonce: of a roster's record, what its signature covers as well.
    public var plainPart: Range<Int> { 0..<nonce.lowerBound }

    public var sealCount: Int { seals.count / SealedRecord.sealLength }

    /// Where one seal lies; nil when there are fewer.
    public func seal(at index: Int) -> Range<Int>? {
        guard (0..<sealCount).contains(index) else { return nil }
        let start = seals.lowerBound + index * SealedRecord.sealLength
        return start..<start + SealedRecord.sealLength
    }

    /// The start of a record, to which its writer appends the nonce and the box.
    ///
    /// - Parameter seals: 80 bytes each; none but for the roster.
    public static func plainPart(_ kind: RecordKind, epoch: UInt32, seals: [[UInt8]] = []) throws(FormatError)
        -> [UInt8]
    {
        guard seals.isEmpty || kind == .roster, seals.allSatisfy({ $0.count == sealLength }) else {
            throw .invalid(.seals)
        }
        guard let count = UInt16(exactly: seals.count) else { throw .outOfBounds(.seals) }
        var output = magic
        output.append(integer: epoch)
        if kind == .roster { output.append(integer: count) }
        for seal in seals { output += seal }
        return output
    }

    /// How long a record becomes, in bytes.
    ///
    /// - Parameter count: the length of what is sealed, before it is padded.
    public static func length(sealing count: Int, _ kind: RecordKind, sealCount: Int = 0) -> Int {
        headLength + (kind == .roster ? 2 + sealCount * sealLength : 0) + Layout.boxOverhead
            + Padding.length(for: count, minimum: contentMinimum)
    }
}
