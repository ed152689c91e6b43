// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
package import VaultFormat
internal import VaultStorage

/// The state of an item, or of the vault itself, in the form of the operation that produced it. Its value is a handle
/// that only the store understands.
package typealias Record = Operation

// The store as the engine uses it, with the errors of the vault.

extension VaultStore {
    /// The logs that the numbers in items' clocks stand for.
    func logs() throws(VaultError) -> LogNumbers {
        var logs = LogNumbers()
        for record in ownRecords(of: .log) {
            let user = record.attributes.user
            guard let number = user["number"].flatMap({ UInt16($0) }), let id = user["id"].flatMap(Bytes16.init(text:))
            else { continue }
            logs.set(number, id)
        }
        return logs
    }

    /// Whether the item is absent here: bound to another device, or to a passphrase that the vault no longer has.
    func isAbsentHere(_ record: Record) throws(VaultError) -> Bool { try stored(isForeign(record)) }

    /// Makes sure that the answer of ``isAbsentHere(_:)`` is certain rather than assumed.
    func requireKnownDevice() throws(VaultError) { try stored(checkDeviceIsKnown()) }

    /// Opens the whole value of a record, including its fields; `nil` if it has none.
    ///
    /// - Throws: `.itemChanged` if the value was replaced since the record was found.
    func value(of record: Record) throws(VaultError) -> Secret? {
        do throws(StorageError) {
            guard let bytes = try openValue(of: record) else { return nil }
            return Secret(bytes)
        } catch {
            // Another process may have started a write that it never finished.
            guard error == .damaged(.value(record.id)), !isWriting else { throw VaultError(error) }
        }
        guard let again = try stored(openValueAgain(of: record)) else { throw .itemChanged }
        return again
    }
}

extension WriteSession {
    /// The device identifier for this device's items; creates it if the device has none.
    func identifyDevice() throws(VaultError) -> [16 of UInt8] { try stored(deviceIdentifier()) }

    /// - Returns: the record with its updated value handle.
    mutating func stage(_ record: Record, _ value: ValueChange) throws(VaultError) -> Record {
        try stored(stage(record, value: value))
    }
}
