// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
public import VaultCrypto
public import VaultFormat

extension VaultStore {
    /// Nonce and box of the item's value, whose tag is the one that its metadata names.
    func box(of operation: Operation) throws(StorageError) -> [UInt8] {
        guard let value = operation.value else { return [] }
        if let own = draft?.boxes[VersionKey(operation.id, operation.valueVersion)] { return own }
        let bytes = try attempt(.read) { () throws(Errno) in try file.read(Int(value.length), at: Int(value.offset)) }
        guard bytes.count == Int(value.length),
            isEqualInConstantTime(bytes.span.extracting(Layout.nonceLength..<Layout.boxOverhead), value.tag.span)
        else { throw .damaged(.value(operation.id)) }
        return bytes
    }

    /// Looks again, with every writer kept out, for a value that seemed damaged: it may have been one that was never acknowledged.
    ///
    /// - Returns: nil when the item is gone or has got another value.
    public func openValueAgain(of operation: Operation) throws(StorageError) -> Secret? {
        try withWritersKeptOut { () throws(StorageError) in
            try reopen()
            guard let current = records[operation.id], current.valueVersion == operation.valueVersion else { return nil }
            guard let bytes = try openValue(of: current) else { return nil }
            return Secret(bytes)
        }
    }

    /// Whether a batch of changes is being put together, in which the file is not looked at again.
    public var isWriting: Bool { draft != nil }

    /// Opens the current value of an item straight into locked memory.
    ///
    /// - Returns: nil when the item has no value.
    /// - Throws: `.locked`; `.damaged(.value)` for any changed byte, and for an older box of the same item.
    public func openValue(of operation: Operation) throws(StorageError) -> SecretBytes? {
        try check()
        guard let padded = try openPadded(operation) else { return nil }
        let content: Range<Int>
        do throws(FormatError) {
            content = try padded.withBytes { bytes throws(FormatError) in try Padding.content(of: bytes, minimum: Layout.valueMinimum) }
        } catch {
            throw .damaged(.value(operation.id))
        }
        return padded.narrowed(to: content)
    }

    /// The value with its length before it and its padding behind.
    func openPadded(_ operation: Operation) throws(StorageError) -> SecretBytes? {
        guard operation.value != nil else { return nil }
        let bytes = try box(of: operation)
        let key = try keys.itemKey(operation.id, version: operation.valueVersion, protection: operation.protection, device: device)
        do throws(CryptoError) {
            let nonce = bytes.span.extracting(0..<Layout.nonceLength)
            return try SecretBox.open(bytes.span.extracting(Layout.nonceLength..<bytes.count), nonce: nonce, key: key)
        } catch {
            if error == .authenticationFailed { throw .damaged(.value(operation.id)) }
            throw StorageError(error)
        }
    }
}

// Other modules would copy the whole table to look at one record of it.
extension VaultStore {
    public func record(at place: Int) -> Operation? { records.read(place) { Operation(checked: $0) } }

    /// The ordinal of the record at a place.
    public func ordinal(at place: Int) -> UInt64? { records.read(place) { Operation.ordinal(of: $0) } }

    /// One more than the greatest place.
    public var recordEnd: Int { records.end }

    /// How many older versions of an item are kept.
    public var historyLimit: Int { records.historyLimit }

    /// The older versions of an item, oldest first.
    public func versions(of id: ItemID) -> [Operation] { records.past[id] ?? [] }

    /// The newest of the older versions of each item that has any, in no order.
    public var lastVersions: [Operation] { records.past.values.compactMap(\.last) }

    public func lastVersion(of id: ItemID) -> UInt64 { records.lastVersion(of: id) }

    /// What the vault says of itself.
    public var settings: Operation? { record(of: .settings) }

    /// The record of class 0 that is of this kind.
    func record(of kind: OwnRecord) -> Operation? {
        var found: Int?
        records.forEach { place, itemClass, attributes in
            if itemClass == .settings, OwnRecord.kind(of: attributes) == kind { found = place }
        }
        return found.flatMap { records[$0] }
    }

    public func place(of id: ItemID) -> Int? { records.place(of: id) }

    /// Visits class and encoded attributes of every record.
    public func forEachRecord(_ body: (_ place: Int, ItemClass, _ attributes: Span<UInt8>) -> Void) { records.forEach(body) }
}

extension VaultStore {
    /// Seconds since 2001-01-01T00:00:00Z.
    public var now: Double { environment.clock.now }

    public var uptime: Duration { environment.clock.uptime }
}
