// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// Values that are too large for an entry, in parts of their own.
enum Blob {
    /// What, padded and sealed, is less than the 256 KiB that a record may have.
    static let partLength = 248 << 10
    /// What one item may have of an entry, in bytes; its values that are too much are blobs, however small they are.
    static let itemLength = 128 << 10
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
            throw .waits(.blob)
        }
        let content = try open(try parse(fetched, at: address), at: address)
        try checking { () throws(SyncError) in try mirror.add([StoredRecord(address, fetched)]) }
        return content
    }

    /// Takes large values out of a state, and as many others as it takes for the rest to fit into an entry.
    ///
    /// - Parameter parts: gets their records.
    func withBlobs(
        _ state: ItemState<Secret>, _ key: (epoch: UInt32, key: Secret), _ parts: inout [StoredRecord]
    ) throws(SyncError) -> ItemState<Secret> {
        var state = state
        var rest: [(length: Int, field: FieldID, dot: Dot)] = []
        for (field, values) in state.fields where field.canBeBlob {
            for (dot, value) in values {
                let length = value.payloadLength(\.count)
                if case .blob = value { continue }
                if length > FieldValue<Secret>.inlineLimit {
                    state.fields[field]?[dot] = .blob(try blob(of: value, key, &parts))
                } else if length > BlobReference.encodedLength {
                    rest.append((length, field, dot))
                }
            }
        }
        var excess = state.encodedLength(\.count) - Blob.itemLength
        guard excess > 0 else { return state }
        for (length, field, dot) in rest.sorted(by: { $0.length > $1.length }) where excess > 0 {
            guard let value = state.fields[field]?[dot] else { continue }
            state.fields[field]?[dot] = .blob(try blob(of: value, key, &parts))
            excess -= length - BlobReference.encodedLength
        }
        return state
    }

    private func blob(
        of value: FieldValue<Secret>, _ key: (epoch: UInt32, key: Secret), _ parts: inout [StoredRecord]
    ) throws(SyncError) -> BlobReference {
        let secret =
            switch value {
            case .secret(let secret): secret
            case .plain(let bytes):
                try secured { () throws(CryptoError) in Secret(try SecretBytes(copying: bytes.span)) }
            case .blob, .none, .erased: throw SyncError.tooLarge
            }
        let reference = BlobReference(
            id: Bytes16(random.bytes(16)), length: UInt64(secret.count),
            hash: secret.withBytes { Bytes32(KeyedHash.digest($0).bytes.span) })
        for (index, start) in stride(from: 0, to: secret.count, by: Blob.partLength).enumerated() {
            let range = start..<min(start + Blob.partLength, secret.count)
            let part = try secured { () throws(CryptoError) in Secret(try secret.bytes.copy(of: range)) }
            let address = RecordAddress(RecordStream(.blob, reference.id), UInt64(index + 1))
            let record = try sealer.seal([.secret(part)], at: address, epoch: key.epoch, key: key.key, signedBy: nil)
            parts.append(StoredRecord(address, record))
        }
        return reference
    }
}

extension ItemState {
    /// What the item has of an entry at least, in bytes: its values can lie apart, its writes' names cannot.
    var leastLength: Int {
        var length = 26 + context.count * (10 + Bytes16.length)
        for (field, values) in fields { length += 4 + field.name.utf8.count + values.count * 71 }
        return length
    }
}
