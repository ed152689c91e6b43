// SPDX-License-Identifier: Apache-2.0

/// A record as stored at remotes: a plain part, a nonce and a box.
///
/// `"VLR1", epoch u32; of the roster: u16 n, n * 80 bytes of seals, u16 m, m * 112 bytes of farewells; nonce 24, box`
package struct SealedRecord: Equatable, Sendable {
    /// An epoch key in a `crypto_box_seal`, in bytes.
    package static let sealLength = 80
    /// An Ed25519 signature in a `crypto_box_seal`, in bytes.
    package static let farewellLength = 112
    /// The minimum length of the padded plaintext: see ``Padding``.
    package static let contentMinimum = 512

    private static let magic = Array("VLR1".utf8)
    private static let headLength = 8

    /// The whole record.
    package let bytes: [UInt8]
    package let epoch: UInt32
    /// The range of the seals, in the order of the roster.
    package let seals: Range<Int>
    /// The range of the farewells to removed devices.
    package let farewells: Range<Int>
    package let nonce: Range<Int>
    package let box: Range<Int>

    /// - Throws: for a record of another form, or longer than its kind allows.
    package init(parsing bytes: [UInt8], _ kind: RecordKind) throws(FormatError) {
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
            let removed = Int(try reader.integer(UInt16.self, of: span, .farewells))
            farewells = try reader.take(removed * SealedRecord.farewellLength, .farewells)
        } else {
            seals = reader.offset..<reader.offset
            farewells = seals
        }
        nonce = try reader.take(Layout.nonceLength, .record)
        guard reader.remaining >= SealedRecord.contentMinimum + Layout.tagLength else { throw .truncated(.record) }
        box = try reader.take(reader.remaining, .record)
        self.bytes = bytes
    }

    /// The range before the nonce: in a roster record, its signature covers this as well.
    package var plainPart: Range<Int> { 0..<nonce.lowerBound }

    package var sealCount: Int { seals.count / SealedRecord.sealLength }

    package var farewellCount: Int { farewells.count / SealedRecord.farewellLength }

    /// The range of a seal; `nil` if there are fewer.
    package func seal(at index: Int) -> Range<Int>? {
        guard (0..<sealCount).contains(index) else { return nil }
        let start = seals.lowerBound + index * SealedRecord.sealLength
        return start..<start + SealedRecord.sealLength
    }

    /// The range of a farewell; `nil` if there are fewer.
    package func farewell(at index: Int) -> Range<Int>? {
        guard (0..<farewellCount).contains(index) else { return nil }
        let start = farewells.lowerBound + index * SealedRecord.farewellLength
        return start..<start + SealedRecord.farewellLength
    }

    /// The start of a record, to which its writer appends the nonce and the box.
    ///
    /// - Parameters:
    ///   - seals: 80 bytes each; only for the roster.
    ///   - farewells: 112 bytes each; only for the roster.
    package static func plainPart(
        _ kind: RecordKind, epoch: UInt32, seals: [[UInt8]] = [], farewells: [[UInt8]] = []
    ) throws(FormatError) -> [UInt8] {
        var output = magic
        output.append(integer: epoch)
        for (parts, length, field) in [(seals, sealLength, FormatField.seals), (farewells, farewellLength, .farewells)]
        {
            guard parts.isEmpty || kind == .roster, parts.allSatisfy({ $0.count == length }) else {
                throw .invalid(field)
            }
            guard let count = UInt16(exactly: parts.count) else { throw .outOfBounds(field) }
            if kind == .roster { output.append(integer: count) }
            for part in parts { output += part }
        }
        return output
    }

    /// The length of a record, in bytes.
    ///
    /// - Parameter count: the length of the plaintext, before padding.
    package static func length(
        sealing count: Int, _ kind: RecordKind, sealCount: Int = 0, farewellCount: Int = 0
    ) -> Int {
        let parts = kind == .roster ? 4 + sealCount * sealLength + farewellCount * farewellLength : 0
        return headLength + parts + Layout.boxOverhead + Padding.length(for: count, minimum: contentMinimum)
    }
}
