// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// Values that are too large for an entry, in parts of their own.
enum Blob {
    /// What, padded and sealed, is less than the 256 KiB that a record may have.
    static let partLength = 248 << 10
}

extension Replica {
    /// Puts the parts of a large value together.
    func blob(_ reference: BlobReference) throws(Obstacle) -> Secret {
        var value = try checking { () throws(SyncError) in
            try secured { () throws(CryptoError) in try SecretBytes(zeroed: Int(reference.length)) }
        }
        var (offset, number): (Int, UInt64) = (0, 0)
        while offset < value.count {
            number += 1
            let address = RecordAddress(RecordStream(.blob, reference.id), number)
            let content = try part(at: address)
            guard content.count > 0, content.count <= value.count - offset else {
                throw .stops(address.alarm(.damaged, "a part of a large value that is too long"))
            }
            content.withBytes { value.replace(at: offset, with: $0) }
            offset += content.count
        }
        let hash = value.withBytes { Bytes32(KeyedHash.digest($0).bytes.span) }
        guard hash == reference.hash else {
            let address = RecordAddress(RecordStream(.blob, reference.id), 1)
            throw .stops(address.alarm(.damaged, "a large value that was changed"))
        }
        return Secret(value)
    }

    private func part(at address: RecordAddress) throws(Obstacle) -> SecretBytes {
        if let here = try checking({ () throws(SyncError) in try mirror.bytes(at: address) }) {
            return try open(try parse(here, at: address), at: address)
        }
        guard let fetched = try checking({ () throws(SyncError) in try fetchBlob?(address) }) else {
            throw .waits("a large value")
        }
        let content = try open(try parse(fetched, at: address), at: address)
        try checking { () throws(SyncError) in try mirror.add([StoredRecord(address, fetched)]) }
        return content
    }

    /// Takes large secrets out of a state.
    ///
    /// - Parameter parts: gets their records.
    func withBlobs(
        _ state: ItemState<Secret>, _ key: (epoch: UInt32, key: Secret), _ parts: inout [StoredRecord]
    ) throws(SyncError) -> ItemState<Secret> {
        var state = state
        for (field, values) in state.fields where field.isSecret {
            for (dot, value) in values {
                guard case .secret(let secret) = value, secret.count > FieldValue<Secret>.inlineLimit else { continue }
                let reference = BlobReference(
                    id: Bytes16(random.bytes(16)), length: UInt64(secret.count),
                    hash: secret.withBytes { Bytes32(KeyedHash.digest($0).bytes.span) })
                for (index, start) in stride(from: 0, to: secret.count, by: Blob.partLength).enumerated() {
                    let range = start..<min(start + Blob.partLength, secret.count)
                    let part = try secured { () throws(CryptoError) in Secret(try secret.bytes.copy(of: range)) }
                    let address = RecordAddress(RecordStream(.blob, reference.id), UInt64(index + 1))
                    let record = try sealer.seal(
                        [.secret(part)], at: address, epoch: key.epoch, key: key.key, signedBy: nil)
                    parts.append(StoredRecord(address, record))
                }
                state.fields[field]?[dot] = .blob(reference)
            }
        }
        return state
    }
}
