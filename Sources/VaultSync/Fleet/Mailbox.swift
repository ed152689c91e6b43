// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// Two messages under a code that two people share: a request and its answer.
struct Mailbox: Sendable {
    private let store: any RecordStore
    private let code: JoinCode
    private let sealer: RecordSealer

    /// - Parameter store: the store of the realm of zeros, the only realm that the requesting device knows.
    init(_ store: any RecordStore, _ code: JoinCode, _ random: any RandomSource) {
        (self.store, self.code) = (store, code)
        sealer = RecordSealer(realmID: .zero, random: random)
    }

    func put(_ pieces: [BodyPiece<Secret>], _ number: UInt64, signedBy identity: Identity) throws(SyncError) {
        let address = RecordAddress(code.stream, number)
        let record = try sealer.seal(pieces, at: address, epoch: 0, key: code.key, signedBy: identity)
        let appended = try stored { () throws(RecordStoreError) in
            try store.append([StoredRecord(address, record)])
        }
        // The outcome is `same` if an acknowledgement was lost: no other device makes these bytes.
        guard appended.first != .differs else { throw .alarm(address.alarm(.forked, "a code that was used before")) }
    }

    /// Returns `nil` if the message is not there yet.
    func message(_ number: UInt64) throws(SyncError) -> MailboxMessage? {
        let address = RecordAddress(code.stream, number)
        let bytes = try stored { () throws(RecordStoreError) in try store.record(at: address) }
        guard let bytes else { return nil }
        let record = try formed { () throws(FormatError) in try SealedRecord(parsing: bytes, .mailbox) }
        let content = try sealer.open(record, at: address, key: code.key)
        guard content.count >= SigningKey.signatureLength else { throw .format(.truncated(.body)) }
        return MailboxMessage(sealer, record, Secret(content))
    }

    /// Removes the messages, which are of no further use. They stay where this device may not remove.
    func clear() throws(SyncError) {
        do throws(RecordStoreError) { try store.remove(code.stream, below: .max) } catch {
            guard error.isRefusal else { throw .store(error) }
        }
    }
}

/// An opened message.
struct MailboxMessage {
    private let sealer: RecordSealer
    private let record: SealedRecord
    private let content: Secret

    init(_ sealer: RecordSealer, _ record: SealedRecord, _ content: Secret) {
        (self.sealer, self.record, self.content) = (sealer, record, content)
    }

    func read<R>(_ body: (Span<UInt8>) throws(SyncError) -> R) throws(SyncError) -> R {
        try content.withBytes { bytes throws(SyncError) in
            try body(bytes.extracting(0..<bytes.count - SigningKey.signatureLength))
        }
    }

    func secret(_ range: Range<Int>) throws(SyncError) -> Secret {
        try secured { () throws(CryptoError) in Secret(try content.bytes.copy(of: range)) }
    }

    func isSigned(by key: Bytes32) -> Bool { sealer.isSigned(content.bytes, record, .mailbox, by: key) }
}
