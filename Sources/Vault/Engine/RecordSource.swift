// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat
package import VaultStorage

/// The state of an item, or of the vault itself, in the form of the operation that produced it. Its value is a handle
/// that only the store that made it understands.
package typealias Record = Operation

/// The engine's view of a record store. ``VaultStore`` keeps records in a file; other stores can be plugged in here.
///
/// A record has a place, which stays its own for as long as the item lives in this process.
package protocol RecordSource: AnyObject {
    /// Notified of every change of a record.
    var observer: (any RecordObserver)? { get set }
    /// Seconds since 2001-01-01T00:00:00Z.
    var now: Double { get }

    func place(of id: ItemID) -> Int?
    func record(at place: Int) -> Record?
    func encodedRecord(at place: Int) -> ArraySlice<UInt8>?
    /// The greatest place plus one.
    var recordEnd: Int { get }
    /// Visits the class and the encoded attributes of every record.
    func forEachRecord(_ body: (_ place: Int, ItemClass?, _ attributes: Span<UInt8>) -> Void)

    /// The vault's settings record.
    var settings: Record? { get }
    /// The number of older versions kept per item.
    var historyLimit: Int { get }
    /// The older versions of an item, oldest first.
    func versions(of id: ItemID) -> [Record]
    /// The newest of the older versions of each item that has any, unordered.
    var lastVersions: [Record] { get }
    /// The greatest version that the item has had; 0 if unknown.
    func lastVersion(of id: ItemID) -> UInt64

    /// The log that names this device's writes; `nil` if the vault belongs to no fleet.
    var ownLog: OwnLog? { get }
    /// Names the next write.
    func nextStamp() -> UInt64
    /// The logs that the numbers in items' clocks stand for.
    func logs() throws(VaultError) -> LogNumbers
    /// The versions of an item that replication keeps beside its record.
    func keptVersions(of id: ItemID) -> [Record]

    /// Whether a key for items of this protection class is available now.
    func canUse(_ protection: Accessibility) -> Bool
    /// Whether the vault can be opened with a secret that a person knows.
    var hasPassphrase: Bool { get }
    /// Whether the item is absent here: bound to another device, or to a passphrase that the vault no longer has.
    func isAbsentHere(_ record: Record) throws(VaultError) -> Bool
    /// Makes sure that the answer of ``isAbsentHere(_:)`` is certain rather than assumed.
    func requireKnownDevice() throws(VaultError)

    /// Opens the whole value of a record, including its fields; `nil` if it has none.
    ///
    /// - Throws: `.itemChanged` if the value was replaced since the record was found.
    func value(of record: Record) throws(VaultError) -> Secret?
}

/// The only way to change records: staged changes are visible at once and become durable together with the rest of the
/// session.
package protocol RecordSession: ~Copyable {
    func makeItemID() -> ItemID
    /// The ordinal of the next item to be created.
    var nextOrdinal: UInt64 { get }
    /// The device identifier for this device's items; creates it if the device has none.
    func identifyDevice() throws(VaultError) -> [16 of UInt8]

    /// - Returns: the record with its updated value handle.
    mutating func stage(_ record: Record, _ value: ValueChange) throws(VaultError) -> Record
}

extension VaultStore: RecordSource {
    package func logs() throws(VaultError) -> LogNumbers {
        var logs = LogNumbers()
        for record in ownRecords(of: .log) {
            let user = record.attributes.user
            guard let number = user["number"].flatMap({ UInt16($0) }), let id = user["id"].flatMap(Bytes16.init(text:))
            else { continue }
            logs.set(number, id)
        }
        return logs
    }

    package func isAbsentHere(_ record: Record) throws(VaultError) -> Bool {
        return try stored(isForeign(record))
    }

    package func requireKnownDevice() throws(VaultError) {
        try stored(checkDeviceIsKnown())
    }

    package func value(of record: Record) throws(VaultError) -> Secret? {
        do throws(StorageError) {
            guard let bytes = try openValue(of: record) else { return nil }
            return Secret(bytes)
        } catch {
            // Another process may have started a write that it never finished.
            guard error == .damaged(.value(record.id)), !isWriting else { throw VaultError(error) }
        }
        guard let again = try stored(openValueAgain(of: record)) else {
            throw .itemChanged
        }
        return again
    }
}

extension WriteSession: RecordSession {
    package func identifyDevice() throws(VaultError) -> [16 of UInt8] {
        return try stored(deviceIdentifier())
    }

    package mutating func stage(_ record: Record, _ value: ValueChange) throws(VaultError) -> Record {
        return try stored(stage(record, value: value))
    }
}
