// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// A removed device's proof that an owner has removed it: a signature of "VLT1 farewell" || realmID || seq u64 ||
/// deviceID, sealed to the device.
///
/// A removed device cannot open the record that removes it. Without a farewell it could not distinguish that record
/// from a forgery by the operator of a remote.
enum Farewell {
    static func seal(
        to device: RosterDevice, _ realm: RealmID, _ sequence: UInt64, signedBy signer: Identity
    ) throws(SyncError) -> [UInt8] {
        let (head, message) = (head, message(realm, sequence, device.id))
        return try secured { () throws(CryptoError) in
            let signature = try signer.signing.sign(head.span, message.span)
            return try BoxKeyPair.seal(SecretBytes(copying: signature.span), to: device.boxKey.bytes.span)
        }
    }

    /// Whether a record contains a valid farewell to a device.
    ///
    /// - Parameters:
    ///   - sequence: the sequence number of the record's address.
    ///   - signers: the signing keys of the devices that may remove others.
    static func isSaid(
        by record: SealedRecord, at sequence: UInt64, to identity: Identity, signers: [Bytes32]
    ) -> Bool {
        let (head, message) = (head, message(identity.realmID, sequence, identity.deviceID))
        return (0..<record.farewellCount).contains { index in
            guard let range = record.farewell(at: index),
                let signature = try? identity.box.open(record.bytes.span.extracting(range))
            else { return false }
            return signature.withBytes { signature in
                signers.contains { signer in
                    (try? SigningKey.verify(signature, head.span, message.span, publicKey: signer.bytes.span)) != nil
                }
            }
        }
    }

    private static var head: [UInt8] { Array("VLT1 farewell".utf8) }

    private static func message(_ realm: RealmID, _ sequence: UInt64, _ device: DeviceID) -> [UInt8] {
        var message: [UInt8] = []
        message.append(realm.bytes)
        message.append(integer: sequence)
        message.append(device.bytes)
        return message
    }
}
