// SPDX-License-Identifier: Apache-2.0

/// The positions in a VLT1 file, and the bounds on its contents.
public enum Layout {
    public static let headerLength = 4096
    public static let markOffsets = [4096, 8192]
    public static let markAreaLength = 4096
    public static let firstFrame = 12288

    public static let slotsOffset = 256
    public static let slotLength = 256
    public static let slotLimit = 8
    public static let annexOffset = 2304
    public static let headerMACOffset = 4032
    public static let headerSumOffset = 4064

    public static let frameHeadLength = 80
    public static let frameOverhead = 112
    public static let frameLengths = 320...(64 << 20)
    public static let nonceLength = 24
    public static let tagLength = 16
    public static let boxOverhead = 40
    public static let idleValueLength = 104

    public static let metadataHeadLength = 20
    public static let operationLength = 108
    public static let operationLimit = 65535
    public static let metadataMinimum = 192
    public static let valueMinimum = 64

    /// 16 MiB.
    public static let valueLimit = 16 << 20
    /// 64 KiB, encoded.
    public static let attributesLimit = 64 << 10
}

/// `u32 length || bytes || zeros` up to a length that reveals little of the original (Padmé).
public enum Padding {
    /// The padded length of `count` bytes.
    ///
    /// - Parameter minimum: ``Layout/metadataMinimum`` or ``Layout/valueMinimum``.
    public static func length(for count: Int, minimum: Int) -> Int { max(minimum, padme(4 + count)) }

    /// Rounds up so that at most log log of the length leaks, at an overhead of at most 12 % (Nikitin et al., PETS
    /// 2019).
    public static func padme(_ length: Int) -> Int {
        guard length > 1 else { return length }
        let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
        let significant = Int.bitWidth - exponent.leadingZeroBitCount
        let mask = (1 << (exponent - significant)) - 1
        return (length + mask) & ~mask
    }

    /// Appends the padded form.
    public static func append(_ content: Span<UInt8>, minimum: Int, to output: inout [UInt8]) {
        append(content.count, minimum: minimum, to: &output) { $0.append(content) }
    }

    /// Appends the padded form of `count` bytes, which `content` appends.
    public static func append(
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
    public static func content(of padded: Span<UInt8>, minimum: Int) throws(FormatError) -> Range<Int> {
        guard padded.count >= 4 else { throw .truncated(.padding) }
        let count = Int(padded.integer(at: 0, as: UInt32.self))
        guard count <= padded.count - 4 else { throw .truncated(.padding) }
        guard padded.count == length(for: count, minimum: minimum), padded.isZero(4 + count..<padded.count) else {
            throw .invalid(.padding)
        }
        return 4..<4 + count
    }
}
