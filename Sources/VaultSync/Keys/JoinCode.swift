// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// The values derived from a code that a person carries from one device to another.
struct JoinCode: Sendable {
    /// The mailbox of the two devices.
    let stream: RecordStream
    /// K_join
    let key: Secret

    /// Derives BLAKE2b-384("VLT1 join" || code): the stream's name, then the key.
    init(_ code: RecoveryCode) throws(SyncError) {
        let derived = try secured { () throws(CryptoError) in
            var hash = KeyedHash(outputLength: 48)
            hash.update("VLT1 join")
            code.secret.withBytes { hash.update($0) }
            return try hash.secret(48)
        }
        stream = RecordStream(.mailbox, derived.withBytes { Bytes16($0) })
        key = try secured { () throws(CryptoError) in Secret(try derived.copy(of: 16..<48)) }
    }
}

/// The device derived from a realm's recovery code. Every roster lists it.
struct RecoveryDevice {
    let identity: Identity
    private let key: Secret

    /// Derives the seeds BLAKE2b-512("VLT1 recovery device" || code) and the key BLAKE2b-256("VLT1 recovery key" ||
    /// code).
    init(_ code: RecoveryCode, _ realmID: RealmID) throws(SyncError) {
        let (seeds, key) = try secured { () throws(CryptoError) in
            var seeds = KeyedHash(outputLength: 64)
            seeds.update("VLT1 recovery device")
            code.secret.withBytes { seeds.update($0) }
            var key = KeyedHash()
            key.update("VLT1 recovery key")
            code.secret.withBytes { key.update($0) }
            return (Secret(try seeds.secret(64)), Secret(try key.secret()))
        }
        identity = try Identity(realmID, seeds: seeds, epochKeys: [:])
        self.key = key
    }

    var rosterDevice: RosterDevice {
        let (signing, box) = identity.device
        return RosterDevice(
            id: identity.deviceID, signingKey: signing, boxKey: box, role: .recovery, name: "recovery code")
    }

    /// BLAKE2b-256(key, founder's keys || realmID): proves the realm to the holder of the code.
    func proof(founder signing: Bytes32, _ box: Bytes32, _ realmID: RealmID) -> Bytes32 {
        var hash = KeyedHash(key: key.bytes)
        hash.update(signing.bytes.span)
        hash.update(box.bytes.span)
        hash.update(realmID.bytes.span)
        return Bytes32(hash.digest().bytes.span)
    }
}
