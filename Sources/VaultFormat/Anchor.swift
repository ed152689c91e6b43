// SPDX-License-Identifier: Apache-2.0

/// The newest state of a vault that a device has seen, kept outside the file: an older copy of the file shows by it.
public struct Anchor: Equatable, Sendable {
    static let label: [UInt8] = Array("VLTANCH1".utf8)

    public static let length = 104
    /// The bytes that the MAC covers.
    public static let macOffset = 72

    /// 16 bytes.
    public var vaultID: [UInt8]
    public var generation: UInt64
    public var sequence: UInt64
    /// 32 bytes.
    public var chainTag: [UInt8]

    public init(vaultID: [UInt8], generation: UInt64, sequence: UInt64, chainTag: [UInt8]) {
        self.vaultID = vaultID
        self.generation = generation
        self.sequence = sequence
        self.chainTag = chainTag
    }

    /// Reads the 104 bytes; whoever has the key checks the MAC, which is the last 32 of them.
    public init(parsing bytes: Span<UInt8>) throws(FormatError) {
        guard bytes.count == Anchor.length else { throw .truncated(.anchor) }
        for index in Anchor.label.indices where bytes[index] != Anchor.label[index] { throw .invalid(.anchor) }
        vaultID = bytes.array(8..<24)
        generation = bytes.integer(at: 24)
        sequence = bytes.integer(at: 32)
        // What a header above it could not have.
        guard generation >= 1, generation < UInt64(Int64.max), sequence < Header.sequenceLimit else { throw .outOfBounds(.anchor) }
        chainTag = bytes.array(40..<72)
    }

    /// The 72 bytes before the MAC.
    public func encoded() -> [UInt8] {
        var output = Anchor.label
        output += vaultID
        output.append(integer: generation)
        output.append(integer: sequence)
        output += chainTag
        return output
    }
}
