// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
package import VaultCrypto
package import VaultFormat

extension VaultStore {
    /// The nonce and box of the item's value.
    func box(of operation: Operation) throws(StorageError) -> [UInt8] {
        guard let value = operation.value else { return [] }
        if isWriting, let own = unwritten[VersionKey(operation.id, operation.valueVersion)] { return own }
        var reader = ValueReader(log.file)
        guard let box = try reader.box(at: value) else { throw .damaged(.value(operation.id)) }
        return box
    }

    /// Reads a value again that seemed damaged, while no other process can write: it may have belonged to an
    /// unacknowledged commit.
    ///
    /// - Returns: `nil` if the item was deleted or has another value.
    package func openValueAgain(of operation: Operation) throws(StorageError) -> Secret? {
        try lock.keepingWritersOut { () throws(StorageError) in
            try reopen()
            guard let current = records[operation.id], current.valueVersion == operation.valueVersion else {
                return nil
            }
            guard let bytes = try openValue(of: current) else { return nil }
            return Secret(bytes)
        }
    }

    /// Opens the current value of an item directly into locked memory.
    ///
    /// - Returns: `nil` if the item has no value.
    /// - Throws: `.locked`; `.damaged(.value)` for any changed byte, and for an older box of the same item.
    package func openValue(of operation: Operation) throws(StorageError) -> SecretBytes? {
        try check()
        guard let padded = try openPadded(operation) else { return nil }
        let content: Range<Int>
        do throws(FormatError) {
            content = try padded.withBytes { bytes throws(FormatError) in
                try Padding.content(of: bytes, minimum: Layout.valueMinimum)
            }
        } catch { throw .damaged(.value(operation.id)) }
        if let fields = operation.attributes.fields, fields.length > content.count {
            throw .damaged(.value(operation.id))
        }
        return padded.narrowed(to: content)
    }

    /// The value, preceded by its length and followed by its padding.
    func openPadded(_ operation: Operation) throws(StorageError) -> SecretBytes? {
        guard operation.value != nil else { return nil }
        let bytes = try box(of: operation)
        let key = try keys.itemKey(
            operation.id, version: operation.valueVersion, protection: operation.protection, device: device)
        do throws(CryptoError) {
            let nonce = bytes.span.extracting(0..<Layout.nonceLength)
            return try SecretBox.open(bytes.span.extracting(Layout.nonceLength..<bytes.count), nonce: nonce, key: key)
        } catch {
            if error == .authenticationFailed { throw .damaged(.value(operation.id)) }
            throw StorageError(error)
        }
    }

    /// Seals a value for the version of the item that the operation produces.
    ///
    /// - Returns: nonce and box.
    func seal(_ secret: Secret, _ operation: Operation, _ keys: borrowing VaultKeys) throws(StorageError) -> [UInt8] {
        let key = try keys.itemKey(
            operation.id, version: operation.version, protection: operation.protection, device: device)
        let length = Padding.length(for: secret.count, minimum: Layout.valueMinimum)
        var padded: SecretBytes
        padded = try secured(SecretBytes(zeroed: length))
        var prefix = [4 of UInt8](repeating: 0)
        prefix.store(UInt32(secret.count), at: 0)
        padded.replace(at: 0, with: prefix.span)
        secret.withBytes { padded.replace(at: 4, with: $0) }
        let nonce = environment.random.bytes(Layout.nonceLength)
        var box: [UInt8] = []
        box.reserveCapacity(Layout.boxOverhead + length)
        box += nonce
        padded.withBytes { SecretBox.seal($0, nonce: nonce.span, key: key, appendingTo: &box) }
        return box
    }
}

extension ValueLocation {
    /// The location of a box whose place in the file is not known yet.
    static func yetToWrite(_ box: [UInt8]) -> ValueLocation {
        ValueLocation(
            offset: UInt64(Layout.firstFrame), length: UInt32(box.count), tag: box.span.sixteen(at: Layout.nonceLength))
    }
}
