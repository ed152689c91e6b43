// SPDX-License-Identifier: Apache-2.0

/// The positions in a VLT1 file, and the bounds on its contents. Computed, so that other modules see the numbers.
@usableFromInline package enum Layout {
    @inlinable package static var headerLength: Int { 4096 }
    @inlinable package static var markOffsets: [Int] { [4096, 8192] }
    @inlinable package static var markAreaLength: Int { 4096 }
    @inlinable package static var firstFrame: Int { 12288 }

    @inlinable package static var slotsOffset: Int { 256 }
    @inlinable package static var slotLength: Int { 256 }
    @inlinable package static var slotLimit: Int { 8 }
    @inlinable package static var annexOffset: Int { 2304 }
    @inlinable package static var headerMACOffset: Int { 4032 }
    @inlinable package static var headerSumOffset: Int { 4064 }

    @inlinable package static var frameHeadLength: Int { 80 }
    @inlinable package static var frameOverhead: Int { 112 }
    @inlinable package static var frameLengths: ClosedRange<Int> { 320...(64 << 20) }
    @inlinable package static var nonceLength: Int { 24 }
    @inlinable package static var tagLength: Int { 16 }
    @inlinable package static var boxOverhead: Int { 40 }
    @inlinable package static var idleValueLength: Int { 104 }

    @inlinable package static var metadataHeadLength: Int { 20 }
    @inlinable package static var operationLength: Int { 108 }
    @inlinable package static var operationLimit: Int { 65535 }
    @inlinable package static var metadataMinimum: Int { 192 }
    @inlinable package static var valueMinimum: Int { 64 }

    /// 16 MiB.
    @inlinable package static var valueLimit: Int { 16 << 20 }
    /// 64 KiB, encoded.
    @inlinable package static var attributesLimit: Int { 64 << 10 }
}

/// `u32 length || bytes || zeros` up to a length that reveals little of the original (Padmé).
@usableFromInline package enum Padding {
    /// The padded length of `count` bytes.
    ///
    /// - Parameter minimum: ``Layout/metadataMinimum`` or ``Layout/valueMinimum``.
    @inlinable package static func length(for count: Int, minimum: Int) -> Int { max(minimum, padme(4 + count)) }

    /// Rounds up so that at most log log of the length leaks, at an overhead of at most 12 % (Nikitin et al., PETS
    /// 2019).
    @inlinable package static func padme(_ length: Int) -> Int {
        guard length > 1 else { return length }
        let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
        let significant = Int.bitWidth - exponent.leadingZeroBitCount
        let mask = (1 << (exponent - significant)) - 1
        return (length + mask) & ~mask
    }

    /// Appends the padded form.
    package static func append(_ content: Span<UInt8>, minimum: Int, to output: inout [UInt8]) {
        append(content.count, minimum: minimum, to: &output) { $0.append(content) }
    }

    /// Appends the padded form of `count` bytes, which `content` appends.
    package static func append(
        _ count: Int, minimum: Int, to output: inout [UInt8], _ content: (_ output: inout [UInt8]) -> Void
    ) {
        let end = output.count + length(for: count, minimum: minimum)
        output.reserveCapacity(end)
        output.append(integer: UInt32(count))
        content(&output)
        output.appendZeros(end - output.count)
    }

    /// The range of the content in its padded form.
    ///
    /// - Throws: `.truncated`, or `.invalid(.padding)` unless the length is exactly the one that a writer chooses and
    ///   the rest is zero.
    package static func content(of padded: Span<UInt8>, minimum: Int) throws(FormatError) -> Range<Int> {
        guard padded.count >= 4 else { throw .truncated(.padding) }
        let count = Int(padded.integer(at: 0, as: UInt32.self))
        guard count <= padded.count - 4 else { throw .truncated(.padding) }
        guard padded.count == length(for: count, minimum: minimum), padded.isZero(4 + count..<padded.count) else {
            throw .invalid(.padding)
        }
        return 4..<4 + count
    }
}
