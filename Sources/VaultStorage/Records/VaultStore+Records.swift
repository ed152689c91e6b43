// SPDX-License-Identifier: Apache-2.0
public import VaultFormat

// Other modules would copy the whole table to look at one record of it.
extension VaultStore {
    public func record(at place: Int) -> Operation? { records.read(place) { Operation(checked: $0) } }

    public func encodedRecord(at place: Int) -> ArraySlice<UInt8>? { records.encoded(at: place) }

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
    func record(of kind: OwnRecord) -> Operation? { ownRecords(of: kind).last }

    /// The records of class 0 that are of this kind.
    public func ownRecords(of kind: OwnRecord) -> [Operation] {
        records.ownPlaces.sorted().compactMap { place in
            let found = records.read(place) {
                OwnRecord.kind(of: $0.extracting(Operation.attributes(of: $0))) == kind
            }
            return found == true ? records[place] : nil
        }
    }

    /// What replication keeps of an item beside its record: values that lost, and those of a deleted item.
    public func keptVersions(of id: ItemID) -> [Operation] { records.kept[id] ?? [] }

    public func place(of id: ItemID) -> Int? { records.place(of: id) }

    /// Visits class and encoded attributes of every record.
    public func forEachRecord(_ body: (_ place: Int, ItemClass?, _ attributes: Span<UInt8>) -> Void) {
        records.forEach(body)
    }
}

extension VaultStore {
    /// Whether the item is absent here: sealed under the secret of another device, or bound to a passphrase that the
    /// vault no longer has.
    ///
    /// - Throws: when this device has a secret that cannot be read: the item is then not known to be another's.
    public func isForeign(_ operation: Operation) throws(StorageError) -> Bool {
        guard operation.protection.isThisDeviceOnly else { return false }
        guard operation.protection != .whenPasscodeSetThisDeviceOnly || hasPassphrase else { return true }
        guard let device = try currentDevice() else { return true }
        return !device.identifier.span.elementsEqual(operation.deviceID.span)
    }

    /// Whether a person can open the vault with something that they know.
    public var hasPassphrase: Bool { header.hasPassphrase }

    /// Makes sure that what ``isForeign(_:)`` says is known and not only feared: an item is not replaced because its
    /// device cannot be told.
    public func checkDeviceIsKnown() throws(StorageError) {
        guard environment.stateDirectory != nil else { throw .noStateDirectory }
        _ = try currentDevice()
    }

    /// The secret of this device, looked for again until there is one.
    private func currentDevice() throws(StorageError) -> DeviceSecret? {
        if device == nil {
            device = try DeviceSecret.load(
                vaultID: header.vaultID, identification: keys.deviceIdentification, from: environment.stateDirectory,
                on: environment.fileSystem)
        }
        return device
    }

    /// Seconds since 2001-01-01T00:00:00Z.
    public var now: Double { environment.clock.now }

    public var uptime: Duration { environment.clock.uptime }
}
