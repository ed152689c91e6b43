// SPDX-License-Identifier: Apache-2.0

/// The state named by a commit mark: everything up to `end` is durable.
package struct CommitMark: Equatable, Sendable {
    static let label: [UInt8] = Array("VLTMARK1".utf8)

    package static let length = 128
    /// The number of bytes that the MAC covers.
    package static let macOffset = 96

    package var generation: UInt64
    package var sequence: UInt64
    package var end: UInt64
    /// 32 bytes.
    package var chainTag: [UInt8]
    package var cleanClose: Bool

    package init(generation: UInt64, sequence: UInt64, end: UInt64, chainTag: [UInt8], cleanClose: Bool) {
        self.generation = generation
        self.sequence = sequence
        self.end = end
        self.chainTag = chainTag
        self.cleanClose = cleanClose
    }

    /// Reads a mark's 4,096 bytes; the caller has checked the MAC. A mark that deviates from the written form is
    /// invalid.
    package init(parsing bytes: Span<UInt8>) throws(FormatError) {
        guard bytes.count == Layout.markAreaLength else { throw .truncated(.mark) }
        for index in CommitMark.label.indices where bytes[index] != CommitMark.label[index] { throw .invalid(.mark) }
        generation = bytes.integer(at: 8)
        sequence = bytes.integer(at: 16)
        end = bytes.integer(at: 24)
        guard end <= UInt64(Int64.max) else { throw .outOfBounds(.mark) }
        chainTag = bytes.array(32..<64)
        guard bytes[64] <= 1 else { throw .invalid(.mark) }
        cleanClose = bytes[64] == 1
        guard bytes.isZero(65..<96), bytes.isZero(CommitMark.length..<Layout.markAreaLength) else {
            throw .invalid(.reserved)
        }
    }

    /// The 96 bytes before the MAC.
    package func encoded() -> [UInt8] {
        var fields = [24 of UInt8](repeating: 0)
        fields.store(generation, at: 0)
        fields.store(sequence, at: 8)
        fields.store(end, at: 16)
        var output: [UInt8] = []
        output.reserveCapacity(CommitMark.length)
        output += CommitMark.label
        output.append(fields)
        output += chainTag
        output.append(cleanClose ? 1 : 0)
        output.appendZeros(CommitMark.macOffset - output.count)
        return output
    }
}
