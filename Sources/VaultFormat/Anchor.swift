// SPDX-License-Identifier: Apache-2.0

/// The newest state of a vault that a device has seen, kept outside the file to detect an older copy of the file.
package struct Anchor: Equatable, Sendable {
    static let label: [UInt8] = Array("VLTANCH2".utf8)
    /// The form of version 0.1: without ``resolvedName`` and without a checksum.
    static let oldLabel: [UInt8] = Array("VLTANCH1".utf8)

    package static let length = 152
    /// The number of bytes that the checksum covers, which follows them: 32 bytes of BLAKE2b-256.
    package static let sumOffset = 88
    /// The number of bytes that the MAC covers.
    package static let macOffset = 120
    package static let oldLength = 104
    package static let oldMACOffset = 72

    /// 16 bytes.
    package var vaultID: [UInt8]
    package var generation: UInt64
    package var sequence: UInt64
    /// 32 bytes.
    package var chainTag: [UInt8]
    /// 16 bytes: the name of the anchor for the vault's path with all links resolved; `nil` in the old form.
    package var resolvedName: [UInt8]?

    package init(vaultID: [UInt8], generation: UInt64, sequence: UInt64, chainTag: [UInt8], resolvedName: [UInt8]) {
        self.vaultID = vaultID
        self.generation = generation
        self.sequence = sequence
        self.chainTag = chainTag
        self.resolvedName = resolvedName
    }

    /// Reads 152 bytes, or 104 in the old form; the storage, which has the hash and the key, checks the last 64 or 32
    /// of them.
    package init(parsing bytes: Span<UInt8>) throws(FormatError) {
        let isOld = bytes.count == Anchor.oldLength
        guard isOld || bytes.count == Anchor.length else { throw .truncated(.anchor) }
        let label = isOld ? Anchor.oldLabel : Anchor.label
        for index in label.indices where bytes[index] != label[index] { throw .invalid(.anchor) }
        vaultID = bytes.array(8..<24)
        generation = bytes.integer(at: 24)
        sequence = bytes.integer(at: 32)
        // Values that leave no room for the header of a newer file are refused.
        guard generation >= 1, generation < UInt64(Int64.max), sequence < Header.sequenceLimit else {
            throw .outOfBounds(.anchor)
        }
        chainTag = bytes.array(40..<72)
        resolvedName = isOld ? nil : bytes.array(72..<88)
    }

    /// The 88 bytes before the checksum; in the old form, the 72 before the MAC.
    package func encoded() -> [UInt8] {
        var output = resolvedName == nil ? Anchor.oldLabel : Anchor.label
        output += vaultID
        output.append(integer: generation)
        output.append(integer: sequence)
        output += chainTag
        output += resolvedName ?? []
        return output
    }
}
