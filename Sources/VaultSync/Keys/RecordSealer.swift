// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// Seals and opens the records of a realm. The key of a record depends on its address: at any other address the record
/// does not open.
struct RecordSealer: Sendable {
    let realmID: RealmID
    let random: any RandomSource

    /// BLAKE2b-256("VLT1 entry" || realmID || kind u8 || stream || seq u64 || record)
    func hash(_ address: RecordAddress, _ record: [UInt8]) -> Bytes32 {
        var hash = KeyedHash()
        hash.update("VLT1 entry")
        name(address, to: &hash)
        hash.update(record)
        return Bytes32(hash.digest().bytes.span)
    }

    private func name(_ address: RecordAddress, to hash: inout KeyedHash) {
        hash.update(realmID.bytes.span)
        hash.update(address.stream.kind.rawValue)
        hash.update(address.stream.name.bytes.span)
        hash.update(address.sequence)
    }

    /// K_rec
    private func key(_ address: RecordAddress, _ key: Secret) throws(SyncError) -> SecretBytes {
        try secured { () throws(CryptoError) in
            var hash = KeyedHash(key: key.bytes)
            hash.update("VLT1 rec")
            name(address, to: &hash)
            return try hash.secret()
        }
    }

    /// The signed bytes before the body.
    private func signaturePrefix(_ plainPart: [UInt8]?) -> [UInt8] {
        var prefix = Array("VLT1 sign".utf8)
        if let plainPart { prefix.append(KeyedHash.digest(plainPart.span).bytes) }
        return prefix
    }

    /// - Parameters:
    ///   - seals: only for the roster, like farewells.
    ///   - signer: `nil` for a part of a blob, whose hash is in an entry.
    func seal(
        _ pieces: [BodyPiece<Secret>], at address: RecordAddress, epoch: UInt32, key epochKey: Secret,
        seals: [[UInt8]] = [], farewells: [[UInt8]] = [], signedBy signer: Identity?
    ) throws(SyncError) -> [UInt8] {
        let kind = address.stream.kind
        let length = pieces.reduce(0) { $0 + $1.length }
        let signatureLength = signer == nil ? 0 : SigningKey.signatureLength
        let padded = Padding.length(for: length + signatureLength, minimum: SealedRecord.contentMinimum)
        let recordLength = SealedRecord.length(
            sealing: length + signatureLength, kind, sealCount: seals.count, farewellCount: farewells.count)
        guard recordLength <= kind.limit else { throw .tooLarge }
        var content = try secured { () throws(CryptoError) in try SecretBytes(zeroed: padded) }
        var head: [UInt8] = []
        head.append(integer: UInt32(length + signatureLength))
        content.replace(at: 0, with: head.span)
        var offset = 4
        for piece in pieces {
            switch piece {
            case .bytes(let bytes): content.replace(at: offset, with: bytes.span)
            case .secret(let secret): secret.withBytes { content.replace(at: offset, with: $0) }
            }
            offset += piece.length
        }
        var record = try formed { () throws(FormatError) in
            try SealedRecord.plainPart(kind, epoch: epoch, seals: seals, farewells: farewells)
        }
        if let signer {
            let prefix = signaturePrefix(kind == .roster ? record : nil)
            let signature = try secured { () throws(CryptoError) in
                try content.withBytes { bytes throws(CryptoError) in
                    try signer.signing.sign(prefix.span, bytes.extracting(4..<offset))
                }
            }
            content.replace(at: offset, with: signature.span)
        }
        let nonce = random.bytes(SecretBox.nonceLength)
        record += nonce
        let key = try key(address, epochKey)
        content.withBytes { SecretBox.seal($0, nonce: nonce.span, key: key, appendingTo: &record) }
        return record
    }

    /// Opens a record.
    ///
    /// - Returns: the body and the signature.
    /// - Throws: `.alarm(.damaged)` for a record that was not sealed at this address under this key.
    func open(_ record: SealedRecord, at address: RecordAddress, key epochKey: Secret) throws(SyncError) -> SecretBytes
    {
        let key = try key(address, epochKey)
        let bytes = record.bytes.span
        let content: SecretBytes
        do throws(CryptoError) {
            content = try SecretBox.open(bytes.extracting(record.box), nonce: bytes.extracting(record.nonce), key: key)
        } catch {
            guard error == .authenticationFailed else { throw secure(error) }
            throw .alarm(address.alarm(.damaged, "a record does not open"))
        }
        let range: Range<Int>
        do throws(FormatError) {
            range = try content.withBytes { bytes throws(FormatError) in
                try Padding.content(of: bytes, minimum: SealedRecord.contentMinimum)
            }
        } catch { throw .alarm(address.alarm(.damaged, "a record is badly padded")) }
        return content.narrowed(to: range)
    }

    /// Returns the length of the body in the result of ``open(_:at:key:)``.
    static func bodyLength(_ content: borrowing SecretBytes, _ address: RecordAddress) throws(SyncError) -> Int {
        guard content.count >= SigningKey.signatureLength else {
            throw .alarm(address.alarm(.damaged, "a record without a signature"))
        }
        return content.count - SigningKey.signatureLength
    }

    /// Whether the signature after the body verifies with the key.
    func isSigned(
        _ content: borrowing SecretBytes, _ record: SealedRecord, _ kind: RecordKind, by publicKey: Bytes32
    ) -> Bool {
        let body = content.count - SigningKey.signatureLength
        guard body >= 0 else { return false }
        let prefix = signaturePrefix(kind == .roster ? Array(record.bytes[record.plainPart]) : nil)
        return content.withBytes { bytes in
            (try? SigningKey.verify(
                bytes.extracting(body..<bytes.count), prefix.span, bytes.extracting(0..<body),
                publicKey: publicKey.bytes.span)) != nil
        }
    }
}

extension BodyPiece<Secret> {
    var length: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .secret(let secret): secret.count
        }
    }
}

extension RecordAddress {
    func alarm(_ kind: Alarm.Kind, _ what: String) -> Alarm {
        Alarm(kind, stream.kind == .roster ? nil : stream.name, sequence, what)
    }
}
