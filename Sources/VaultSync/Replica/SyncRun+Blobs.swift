// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// Values that are too large for an entry, which are stored in parts.
enum Blob {
    /// The length of a part in bytes. Padded and sealed, a part is shorter than the 256 KiB limit of a record.
    static let partLength = 248 << 10
    /// The most bytes of one item in an entry. Further values become blobs, however small they are.
    static let itemLength = 128 << 10
}

extension BlobReference {
    /// The addresses of the parts.
    var addresses: [RecordAddress] {
        let count = max(1, (length + UInt64(Blob.partLength) - 1) / UInt64(Blob.partLength))
        return (1...count).map { RecordAddress(RecordStream(.blob, id), $0) }
    }
}

extension SyncRun {
    /// Assembles a large value.
    func blob(_ reference: BlobReference) throws(Obstacle) -> Secret {
        if let value = try assemble(reference, isFresh: false) { return value }
        // The mirror's parts may be altered, so they are fetched again.
        for address in reference.addresses { try checking { () throws(SyncError) in try mirror.drop(address) } }
        if let value = try assemble(reference, isFresh: true) { return value }
        throw .stops(reference.addresses[0].alarm(.damaged, "an altered large value"))
    }

    /// - Parameter isFresh: whether parts that do not open have just come from the remote.
    /// - Returns: `nil` if the parts are not the value that the entry names.
    private func assemble(_ reference: BlobReference, isFresh: Bool) throws(Obstacle) -> Secret? {
        var value = try checking { () throws(SyncError) in
            try secured { () throws(CryptoError) in try SecretBytes(zeroed: Int(reference.length)) }
        }
        var offset = 0
        for address in reference.addresses {
            let content: SecretBytes
            do throws(Obstacle) { content = try part(at: address) } catch {
                if case .stops = error, !isFresh { return nil }
                throw error
            }
            guard content.count > 0, content.count <= value.count - offset else { return nil }
            content.withBytes { value.replace(at: offset, with: $0) }
            offset += content.count
        }
        let hash = value.withBytes { Bytes32(KeyedHash.digest($0).bytes.span) }
        guard offset == value.count, hash == reference.hash else { return nil }
        return Secret(value)
    }

    private func part(at address: RecordAddress) throws(Obstacle) -> SecretBytes {
        if let here = try checking({ () throws(SyncError) in try mirror.bytes(at: address) }) {
            return try open(try parse(here, at: address), at: address)
        }
        guard let fetched = try checking({ () throws(SyncError) in try remoteRecord(at: address) }) else {
            throw .waits(.part(address))
        }
        let content = try open(try parse(fetched, at: address), at: address)
        try checking { () throws(SyncError) in try mirror.add([StoredRecord(address, fetched)], isFetched: true) }
        return content
    }

    func remoteRecord(at address: RecordAddress) throws(SyncError) -> [UInt8]? {
        guard let store else { return nil }
        return try stored { () throws(RecordStoreError) in try store.record(at: address) }
    }

    /// Fetches the large values of an entry into the mirror.
    ///
    /// - Returns: whether all of them are there.
    func fetchParts(of record: StoredRecord) throws(SyncError) -> Bool {
        do throws(Obstacle) {
            let references = try blobs(in: record.bytes, at: record.address)
            checks.blobs[record.address] = references
            for reference in references { _ = try blob(reference) }
            return true
        } catch {
            if case .fails(let error) = error { throw error }
            return false
        }
    }
}

extension RecordSealer {
    /// Moves large values out of a state, and as many others as necessary for the rest to fit into an entry.
    ///
    /// - Parameter parts: receives their records.
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
            let record = try seal([.secret(part)], at: address, epoch: key.epoch, key: key.key, signedBy: nil)
            parts.append(StoredRecord(address, record))
        }
        return reference
    }
}

extension ItemState {
    var blobs: [BlobReference] {
        fields.values.flatMap { values in
            values.values.compactMap { if case .blob(let reference) = $0 { reference } else { nil } }
        }
    }

    /// The least size of the item in an entry, in bytes: values can be stored apart, the dots of writes cannot.
    var leastLength: Int {
        var length = 26 + context.count * (10 + Bytes16.length)
        for (field, values) in fields { length += 4 + field.name.utf8.count + values.count * 71 }
        return length
    }
}
