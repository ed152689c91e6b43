// SPDX-License-Identifier: Apache-2.0

/// The first 4,096 bytes of a vault: its identity and the ways to unlock it. Immutable for the life of the file.
package struct Header: Equatable, Sendable {
    package static let magic: [UInt8] = [0x89, 0x56, 0x4C, 0x54, 0x0D, 0x0A, 0x1A, 0x0A]
    package static let major: UInt16 = 1
    package static let minor: UInt16 = 0
    package static let suite: UInt32 = 1

    package var minor = Header.minor
    /// 16 random bytes, the same for the life of the vault.
    package var vaultID: [UInt8]
    /// 1 at creation, incremented by each rewrite of the file.
    package var generation: UInt64
    /// 32 random bytes, new at each rewrite.
    package var fileSalt: [UInt8]
    /// Bits that a reader must support: ``Feature``.
    package var requiredFeatures: UInt32 = 0
    /// Bits that a later minor version may set and every version keeps.
    package var optionalFeatures: UInt32 = 0
    /// The last sequence number folded into this generation.
    package var baseSequence: UInt64
    /// 1 to 8 ways to unlock.
    package var slots: [KeySlot]
    /// 1,728 bytes for the blobs of external slots; unused bytes are zero.
    package var annex: [UInt8]

    /// The bound on ``baseSequence``.
    package static let sequenceLimit: UInt64 = 1 << 47

    /// Bits of ``requiredFeatures``.
    package enum Feature {
        /// Bit 0: items carry clocks, which a writer without support for them would not update.
        package static let replication: UInt32 = 1
        static let known = replication
    }

    /// Whether items carry clocks.
    package var isReplicated: Bool { requiredFeatures & Feature.replication != 0 }

    package static let annexLength = Layout.headerMACOffset - Layout.annexOffset

    package init(vaultID: [UInt8], generation: UInt64, fileSalt: [UInt8], baseSequence: UInt64, slots: [KeySlot]) {
        precondition(vaultID.count == 16 && fileSalt.count == 32)
        self.vaultID = vaultID
        self.generation = generation
        self.fileSalt = fileSalt
        self.baseSequence = baseSequence
        self.slots = slots
        annex = [UInt8](repeating: 0, count: Header.annexLength)
    }

    /// Whether some slot takes a passphrase.
    package var hasPassphrase: Bool { slots.contains { $0.kind.takesPassphrase } }

    /// Whether the bytes begin as a vault does. Checked before everything else.
    package static func checkMagic(_ bytes: Span<UInt8>) throws(FormatError) {
        guard bytes.count >= magic.count else { throw .notAVault }
        for index in magic.indices where bytes[index] != magic[index] { throw .notAVault }
    }

    /// Reads a header whose magic and checksum the caller has checked.
    ///
    /// - Throws: `.unsupported` for a newer version; `.outOfBounds` for excessive costs of key derivation; `.invalid`.
    package init(parsing bytes: Span<UInt8>) throws(FormatError) {
        guard bytes.count >= Layout.headerLength else { throw .notAVault }
        guard bytes.integer(at: 8, as: UInt16.self) == Header.major else { throw .unsupported(.major) }
        minor = bytes.integer(at: 10)
        requiredFeatures = bytes.integer(at: 76)
        guard requiredFeatures & ~Feature.known == 0 else { throw .unsupported(.requiredFeatures) }
        guard bytes.integer(at: 72, as: UInt32.self) == Header.suite else { throw .unsupported(.suite) }
        guard bytes.integer(at: 12, as: UInt32.self) == UInt32(Layout.headerLength) else {
            throw .invalid(.headerLength)
        }
        vaultID = bytes.array(16..<32)
        generation = bytes.integer(at: 32)
        guard generation >= 1, generation <= UInt64(Int64.max) else { throw .invalid(.generation) }
        fileSalt = bytes.array(40..<72)
        optionalFeatures = bytes.integer(at: 80)
        let slotCount = Int(bytes.integer(at: 84, as: UInt16.self))
        guard (1...Layout.slotLimit).contains(slotCount) else { throw .outOfBounds(.slotCount) }
        guard bytes.integer(at: 86, as: UInt16.self) == UInt16(Layout.slotLength) else { throw .invalid(.slotSize) }
        baseSequence = bytes.integer(at: 88)
        // Ordinals are sequence numbers times 65,536.
        guard baseSequence < Header.sequenceLimit else { throw .outOfBounds(.frameSequence) }
        guard bytes.isZero(96..<Layout.slotsOffset) else { throw .invalid(.reserved) }
        slots = []
        for index in 0..<slotCount {
            let start = Layout.slotsOffset + index * Layout.slotLength
            slots.append(try KeySlot(parsing: bytes.extracting(start..<start + Layout.slotLength)))
        }
        guard bytes.isZero(Layout.slotsOffset + slotCount * Layout.slotLength..<Layout.annexOffset) else {
            throw .invalid(.reserved)
        }
        annex = bytes.array(Layout.annexOffset..<Layout.headerMACOffset)
        try checkAnnex()
    }

    /// The 4,032 bytes before the MAC.
    package func encoded() -> [UInt8] {
        var output = Header.magic
        output.reserveCapacity(Layout.headerLength)
        output.append(integer: Header.major)
        output.append(integer: minor)
        output.append(integer: UInt32(Layout.headerLength))
        output += vaultID
        output.append(integer: generation)
        output += fileSalt
        output.append(integer: Header.suite)
        output.append(integer: requiredFeatures)
        output.append(integer: optionalFeatures)
        output.append(integer: UInt16(slots.count))
        output.append(integer: UInt16(Layout.slotLength))
        output.append(integer: baseSequence)
        output.appendZeros(Layout.slotsOffset - output.count)
        for slot in slots { slot.append(to: &output) }
        output.appendZeros(Layout.annexOffset - output.count)
        output += annex
        return output
    }

    /// The blob of an external slot; empty for other kinds.
    package func blob(of slot: KeySlot) -> [UInt8] {
        let start = Int(slot.annexOffset) - Layout.annexOffset
        return slot.annexLength > 0 ? Array(annex[start..<start + Int(slot.annexLength)]) : []
    }

    /// Replaces all slots, each with its blob.
    ///
    /// - Throws: `.outOfBounds(.slotCount)` unless there are 1 to 8; `.outOfBounds(.annex)` if the blobs do not fit.
    package mutating func replaceSlots(with held: [HeldSlot]) throws(FormatError) {
        guard (1...Layout.slotLimit).contains(held.count) else { throw .outOfBounds(.slotCount) }
        var blobs: [UInt8] = []
        slots = held.map { held in
            var slot = held.slot
            slot.annexOffset = held.blob.isEmpty ? 0 : UInt16(truncatingIfNeeded: Layout.annexOffset + blobs.count)
            slot.annexLength = UInt16(truncatingIfNeeded: held.blob.count)
            blobs += held.blob
            return slot
        }
        guard blobs.count <= Header.annexLength else { throw .outOfBounds(.annex) }
        blobs.appendZeros(Header.annexLength - blobs.count)
        annex = blobs
    }

    /// The slots with their blobs.
    package var heldSlots: [HeldSlot] { slots.map { HeldSlot($0, blob: blob(of: $0)) } }

    private func checkAnnex() throws(FormatError) {
        var claimed = [Bool](repeating: false, count: annex.count)
        for slot in slots where slot.annexLength > 0 {
            let start = Int(slot.annexOffset) - Layout.annexOffset
            guard start >= 0, start + Int(slot.annexLength) <= annex.count else { throw .outOfBounds(.annex) }
            for index in start..<start + Int(slot.annexLength) {
                guard !claimed[index] else { throw .invalid(.annex) }
                claimed[index] = true
            }
        }
        for index in annex.indices where annex[index] != 0 && !claimed[index] { throw .invalid(.annex) }
    }
}

/// A slot together with its data in the annex.
package struct HeldSlot: Equatable, Sendable {
    package var slot: KeySlot
    package var blob: [UInt8]

    package init(_ slot: KeySlot, blob: [UInt8] = []) {
        self.slot = slot
        self.blob = blob
    }
}
