// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

// Accessors for single records, since other modules would copy the whole table.
extension VaultStore {
    package func record(at place: Int) -> Operation? { records.read(place) { Operation(checked: $0) } }

    package func encodedRecord(at place: Int) -> ArraySlice<UInt8>? { records.encoded(at: place) }

    /// The greatest place plus one.
    package var recordEnd: Int { records.end }

    /// The number of older versions kept per item.
    package var historyLimit: Int { records.historyLimit }

    /// The older versions of an item, oldest first.
    package func versions(of id: ItemID) -> [Operation] { records.past[id] ?? [] }

    /// The newest of the older versions of each item that has any, unordered.
    package var lastVersions: [Operation] { records.past.values.compactMap(\.last) }

    package func lastVersion(of id: ItemID) -> UInt64 { records.lastVersion(of: id) }

    /// The vault's settings record.
    package var settings: Operation? { record(of: .settings) }

    /// The record of class 0 of this kind.
    func record(of kind: OwnRecord) -> Operation? { ownRecords(of: kind).last }

    /// The records of class 0 of this kind.
    package func ownRecords(of kind: OwnRecord) -> [Operation] {
        records.ownPlaces.sorted().compactMap { place in
            let found = records.read(place) {
                OwnRecord.kind(of: $0.extracting(Operation.attributes(of: $0))) == kind
            }
            return found == true ? records[place] : nil
        }
    }

    /// The versions that replication keeps besides an item's record: losing values, and those of a deleted item.
    package func keptVersions(of id: ItemID) -> [Operation] { records.kept[id] ?? [] }

    package func place(of id: ItemID) -> Int? { records.place(of: id) }

    /// Visits the class and the encoded attributes of every record.
    package func forEachRecord(_ body: (_ place: Int, ItemClass?, _ attributes: Span<UInt8>) -> Void) {
        records.forEach(body)
    }
}

extension VaultStore {
    /// Whether the item is absent here: sealed under the secret of another device, or bound to a passphrase that the
    /// vault no longer has.
    ///
    /// - Throws: if this device has a secret that cannot be read: the item is then not known to be another device's.
    package func isForeign(_ operation: Operation) throws(StorageError) -> Bool {
        guard operation.protection.isThisDeviceOnly else { return false }
        guard operation.protection != .whenPasscodeSetThisDeviceOnly || hasPassphrase else { return true }
        guard let device = try currentDevice() else { return true }
        return !device.identifier.span.elementsEqual(operation.deviceID.span)
    }

    /// Whether the vault can be opened with a secret that a person knows.
    package var hasPassphrase: Bool { header.hasPassphrase }

    /// Makes sure that the answer of ``isForeign(_:)`` is certain rather than assumed: an item is not replaced because
    /// its device cannot be determined.
    package func checkDeviceIsKnown() throws(StorageError) {
        guard environment.stateDirectory != nil else { throw .noStateDirectory }
        _ = try currentDevice()
    }

    /// The secret of this device; each call looks for it until it exists.
    private func currentDevice() throws(StorageError) -> DeviceSecret? {
        if device == nil {
            device = try DeviceSecret.load(
                vaultID: header.vaultID, identification: keys.deviceIdentification, from: environment.stateDirectory,
                on: environment.fileSystem)
        }
        return device
    }

    /// Seconds since 2001-01-01T00:00:00Z.
    package var now: Double { environment.clock.now }

    package var uptime: Duration { environment.clock.uptime }
}
