// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
public import VaultFormat

/// The cost of a key derivation.
public struct KeyDerivationCost: Equatable, Sendable {
    /// The passes of Argon2id over the memory.
    public let passes: UInt32
    /// The memory of the derivation, a multiple of 1,024 bytes.
    public let memoryBytes: UInt64

    /// - Parameters:
    ///   - passes: 3 to 64.
    ///   - memoryBytes: 64 MiB to 4 GiB, a multiple of 1,024; together at most 16 GiB-passes. Returns `nil` for
    ///     anything else.
    public init?(passes: UInt32, memoryBytes: UInt64) {
        guard (3...KeySlot.passesBounds.upperBound).contains(passes),
            ((64 << 20)...KeySlot.memoryBounds.upperBound).contains(memoryBytes), memoryBytes % 1024 == 0,
            memoryBytes * UInt64(passes) <= KeySlot.costBound
        else { return nil }
        self.init(unchecked: passes, memoryBytes)
    }

    private init(unchecked passes: UInt32, _ memoryBytes: UInt64) {
        self.passes = passes
        self.memoryBytes = memoryBytes
    }

    /// 64 MiB, 3 passes.
    public static let interactive = KeyDerivationCost(unchecked: 3, 64 << 20)
    /// 256 MiB, 3 passes: the default.
    public static let moderate = KeyDerivationCost(unchecked: 3, 256 << 20)
    /// 1 GiB, 4 passes.
    public static let sensitive = KeyDerivationCost(unchecked: 4, 1 << 30)
    /// The minimum that a reader accepts, below the minimum for users' vaults. For tests.
    package static let weakest = KeyDerivationCost(unchecked: 1, 8 << 20)
}

extension KeySlot {
    /// The cost of the slot's derivation; `nil` if not Argon2id, or below the minimum for a new slot.
    public var cost: KeyDerivationCost? {
        guard case .argon2id(let passes, let memoryBytes) = stretching else { return nil }
        return KeyDerivationCost(passes: passes, memoryBytes: memoryBytes)
    }

    /// Makes a slot that the secret opens.
    ///
    /// The salt, the nonce and the slot's identifier are new each time.
    ///
    /// - Parameter cost: of a passphrase; the other secrets have enough entropy without stretching.
    static func sealing(
        _ vaultKey: borrowing SecretBytes, for secret: UnlockingSecret, cost: KeyDerivationCost, vaultID: [UInt8],
        name: String,
        random: any RandomSource
    ) throws(CryptoError) -> KeySlot {
        let stretching: Stretching =
            secret.kind.takesPassphrase ? .argon2id(passes: cost.passes, memoryBytes: cost.memoryBytes) : .blake2b
        var slot = KeySlot(
            kind: secret.kind, stretching: stretching, slotID: random.bytes(16), salt: random.bytes(16), name: name)
        slot.nonce = random.bytes(Layout.nonceLength)
        let keys = try SlotKeys(slot, secret: secret.secret().bytes, vaultID: vaultID)
        slot.commitment = keys.commitment
        var plain = try SecretBytes(zeroed: 64)
        let (vault, own) = (vaultID, slot.slotID)
        plain.withMutableBytes { plain in
            vaultKey.withBytes { key in
                for index in 0..<32 { plain[index] = key[index] }
            }
            for index in 0..<16 {
                plain[32 + index] = vault[index]
                plain[48 + index] = own[index]
            }
        }
        var box: [UInt8] = []
        plain.withBytes { SecretBox.seal($0, nonce: slot.nonce.span, key: keys.masterKey, appendingTo: &box) }
        slot.box = box
        return slot
    }

    /// Whether the slot takes a passphrase and its derivation costs less than a new slot's minimum.
    var isWeak: Bool { kind.takesPassphrase && cost == nil }

    /// Derives the master key and opens the slot's box. Returns `nil` for a wrong secret.
    func open(_ secret: borrowing SecretBytes, vaultID: [UInt8]) throws(StorageError) -> SecretBytes? {
        let keys = try secured(SlotKeys(self, secret: secret, vaultID: vaultID))
        // Without the commitment, a box that two keys open could reveal which of a set of passphrases is right.
        guard isEqualInConstantTime(keys.commitment.span, commitment.span) else { return nil }
        do throws(CryptoError) {
            let plain = try SecretBox.open(box.span, nonce: nonce.span, key: keys.masterKey)
            let (vault, own) = (vaultID, slotID)
            let belongs = plain.withBytes { plain in
                isEqualInConstantTime(plain.extracting(32..<48), vault.span)
                    && isEqualInConstantTime(plain.extracting(48..<64), own.span)
            }
            guard belongs else { throw .authenticationFailed }
            return try plain.copy(of: 0..<32)
        } catch {
            if error == .authenticationFailed { throw .damaged(.keySlot) }
            throw StorageError(error)
        }
    }
}

/// `okm = BLAKE2b-512(stretched, "VLT1 slot" || slot[0..47] || vaultID || suite)`: the master key and the commitment to
/// it.
struct SlotKeys: ~Copyable {
    let masterKey: SecretBytes
    let commitment: [UInt8]

    init(_ slot: KeySlot, secret: borrowing SecretBytes, vaultID: [UInt8]) throws(CryptoError) {
        let stretched: SecretBytes
        switch slot.stretching {
        case .argon2id(let passes, let memoryBytes):
            stretched = try KeyDerivation.argon2id(
                secret, salt: slot.salt.span, passes: UInt64(passes), memoryBytes: Int(memoryBytes))
        case .blake2b:
            var hash = KeyedHash(publicKey: slot.salt.span)
            secret.withBytes { hash.update($0) }
            stretched = try hash.secret()
        }
        var hash = KeyedHash(key: stretched, outputLength: 64)
        hash.update("VLT1 slot")
        hash.update(slot.bound)
        hash.update(vaultID)
        hash.update(Header.suite)
        let material = try hash.secret(64)
        masterKey = try material.copy(of: 0..<32)
        commitment = material.withBytes { $0.array(32..<64) }
    }
}
