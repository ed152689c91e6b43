// SPDX-License-Identifier: Apache-2.0

/// A way to unlock a vault: 256 bytes of the header.
public struct KeySlot: Equatable, Sendable {
    /// The derivation of a slot's key from a secret.
    public enum Stretching: Equatable, Sendable {
        /// Argon2id with `passes` passes over `memoryBytes`, a multiple of 1,024.
        case argon2id(passes: UInt32, memoryBytes: UInt64)
        /// BLAKE2b, for secrets that already have 128 bits of entropy or more.
        case blake2b
    }

    /// The kind of secret that opens the slot.
    public var kind: Kind
    /// The derivation of the slot's key, with its cost.
    public var stretching: Stretching
    /// 16 random bytes.
    public var slotID: [UInt8]
    /// 16 random bytes.
    package var salt: [UInt8]
    /// 32 bytes, compared before the box is opened.
    package var commitment: [UInt8]
    /// 24 random bytes.
    package var nonce: [UInt8]
    /// 80 bytes: the vault key, the vault's and the slot's identifiers under the master key.
    package var box: [UInt8]
    /// At most 32 bytes of UTF-8, shown to people.
    public var name: String
    /// The keeper of an external slot's secret; `nil` for other kinds of slots.
    public var provider: Provider?
    package var annexOffset: UInt16 = 0
    package var annexLength: UInt16 = 0

    /// Bounds on the demands of a hostile file, checked before any memory is allocated.
    package static let passesBounds: ClosedRange<UInt32> = 1...64
    package static let memoryBounds: ClosedRange<UInt64> = (8 << 20)...(4 << 30)
    package static let costBound: UInt64 = 16 << 30

    package init(kind: Kind, stretching: Stretching, slotID: [UInt8], salt: [UInt8], name: String) {
        precondition(slotID.count == 16 && salt.count == 16 && name.utf8.count <= 32)
        self.kind = kind
        self.stretching = stretching
        self.slotID = slotID
        self.salt = salt
        self.name = name
        commitment = [UInt8](repeating: 0, count: 32)
        nonce = [UInt8](repeating: 0, count: Layout.nonceLength)
        box = [UInt8](repeating: 0, count: 80)
    }

    package init(parsing bytes: Span<UInt8>) throws(FormatError) {
        guard bytes.count == Layout.slotLength else { throw .truncated(.slotSize) }
        guard let kind = Kind(rawValue: bytes[0]) else { throw .invalid(.slotType) }
        self.kind = kind
        let passes: UInt32 = bytes.integer(at: 4)
        let memoryBytes: UInt64 = bytes.integer(at: 8)
        switch bytes[1] {
        case 1:
            guard KeySlot.passesBounds.contains(passes) else { throw .outOfBounds(.slotPasses) }
            guard KeySlot.memoryBounds.contains(memoryBytes), memoryBytes % 1024 == 0,
                memoryBytes * UInt64(passes) <= KeySlot.costBound
            else { throw .outOfBounds(.slotMemory) }
            stretching = .argon2id(passes: passes, memoryBytes: memoryBytes)
        case 2:
            guard passes == 0, memoryBytes == 0 else { throw .invalid(.reserved) }
            stretching = .blake2b
        default: throw .invalid(.slotKeyDerivation)
        }
        guard bytes.isZero(2..<4) else { throw .invalid(.slotFlags) }
        slotID = bytes.array(16..<32)
        salt = bytes.array(32..<48)
        commitment = bytes.array(48..<80)
        nonce = bytes.array(80..<104)
        box = bytes.array(104..<184)
        let nameLength = Int(bytes[184])
        guard nameLength <= 32, bytes.isZero(185 + nameLength..<217),
            let name = String(validating: bytes.array(185..<185 + nameLength), as: UTF8.self)
        else { throw .invalid(.slotName) }
        self.name = name
        provider = Provider(rawValue: bytes.integer(at: 217))
        annexOffset = bytes.integer(at: 219)
        annexLength = bytes.integer(at: 221)
        let isExternal = kind == .external
        guard isExternal ? provider != nil : bytes.isZero(217..<223) else { throw .invalid(.slotExternal) }
        guard bytes.isZero(223..<Layout.slotLength) else { throw .invalid(.reserved) }
    }

    package func append(to output: inout [UInt8]) {
        let start = output.count
        appendBound(to: &output)
        output += commitment
        output += nonce
        output += box
        output.append(UInt8(name.utf8.count))
        output += name.utf8
        output.appendZeros(start + 217 - output.count)
        output.append(integer: provider?.rawValue ?? 0)
        output.append(integer: annexOffset)
        output.append(integer: annexLength)
        output.appendZeros(start + Layout.slotLength - output.count)
    }

    /// The first 48 bytes, to which the commitment binds the master key: type, costs, slot identifier and salt.
    package var bound: [UInt8] {
        var output: [UInt8] = []
        appendBound(to: &output)
        return output
    }

    private func appendBound(to output: inout [UInt8]) {
        output.append(kind.rawValue)
        switch stretching {
        case .argon2id(let passes, let memoryBytes):
            output += [1, 0, 0]
            output.append(integer: passes)
            output.append(integer: memoryBytes)
        case .blake2b:
            output += [2, 0, 0]
            output.append(integer: UInt32(0))
            output.append(integer: UInt64(0))
        }
        output += slotID
        output += salt
    }
}
