// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat

/// The keys that identify a device in a fleet, and the epoch keys that open its records.
package final class Identity: Sendable {
    package let realmID: RealmID
    package let deviceID: DeviceID
    package let signing: SigningKey
    package let box: BoxKeyPair
    private let seeds: Secret
    /// The keys by epoch, 32 bytes each.
    package let epochKeys: [UInt32: Secret]

    /// - Parameter seeds: 64 bytes: the seed of the signing key, then that of the box key.
    package init(_ realmID: RealmID, seeds: Secret, epochKeys: [UInt32: Secret]) throws(SyncError) {
        guard seeds.count == 64 else { throw .notJoined }
        self.realmID = realmID
        self.seeds = seeds
        self.epochKeys = epochKeys
        signing = try secured { () throws(CryptoError) in try SigningKey(seed: seeds.bytes.copy(of: 0..<32)) }
        box = try secured { () throws(CryptoError) in try BoxKeyPair(seed: seeds.bytes.copy(of: 32..<64)) }
        deviceID = Identity.deviceID(signing: Bytes32(signing.publicKey), box: Bytes32(box.publicKey))
    }

    /// The first 16 bytes of BLAKE2b-256("VLT1 device" || signPK || boxPK).
    static func deviceID(signing: Bytes32, box: Bytes32) -> DeviceID {
        var hash = KeyedHash()
        hash.update("VLT1 device")
        hash.update(signing.bytes.span)
        hash.update(box.bytes.span)
        return Bytes16(hash.digest().bytes.span)
    }

    package func with(_ keys: [UInt32: Secret], realm: RealmID? = nil) throws(SyncError) -> Identity {
        try Identity(realm ?? realmID, seeds: seeds, epochKeys: epochKeys.merging(keys) { $1 })
    }

    package var device: (signing: Bytes32, box: Bytes32) { (Bytes32(signing.publicKey), Bytes32(box.publicKey)) }

    // MARK: In the vault

    /// The encoded identity: 64 bytes of seeds, then { epoch u32, key 32 }*.
    func value() throws(SyncError) -> Secret {
        try secured { () throws(CryptoError) in
            var bytes = try SecretBytes(zeroed: 64 + 36 * epochKeys.count)
            seeds.withBytes { bytes.replace(at: 0, with: $0) }
            for (index, (epoch, key)) in epochKeys.sorted(by: { $0.key < $1.key }).enumerated() {
                var number: [UInt8] = []
                number.append(integer: epoch)
                bytes.replace(at: 64 + 36 * index, with: number.span)
                key.withBytes { bytes.replace(at: 68 + 36 * index, with: $0) }
            }
            return Secret(bytes)
        }
    }

    convenience init(_ realmID: RealmID, value: Secret) throws(SyncError) {
        guard value.count >= 64, (value.count - 64) % 36 == 0 else { throw .notJoined }
        var keys: [UInt32: Secret] = [:]
        for start in stride(from: 64, to: value.count, by: 36) {
            let epoch: UInt32 = value.withBytes { $0.integer(at: start) }
            keys[epoch] = try secured { () throws(CryptoError) in
                Secret(try value.bytes.copy(of: start + 4..<start + 36))
            }
        }
        let seeds = try secured { () throws(CryptoError) in Secret(try value.bytes.copy(of: 0..<64)) }
        try self.init(realmID, seeds: seeds, epochKeys: keys)
    }
}
