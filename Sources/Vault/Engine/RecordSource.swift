// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
package import VaultFormat
package import VaultStorage

/// The state of an item, or of the vault itself, as the operation says it that made it so. Its value is a handle that
/// the store alone understands, which made it.
package typealias Record = Operation

/// What the engine knows of where records are kept. ``VaultStore`` keeps them in a file; whatever keeps them elsewhere
/// plugs in here.
///
/// A record has a place, which stays its own for as long as the item lives in this process.
package protocol RecordSource: AnyObject {
    /// Told of every change of a record.
    var observer: (any RecordObserver)? { get set }
    /// Seconds since 2001-01-01T00:00:00Z.
    var now: Double { get }

    func place(of id: ItemID) -> Int?
    func record(at place: Int) -> Record?
    func encodedRecord(at place: Int) -> ArraySlice<UInt8>?
    /// One more than the greatest place.
    var recordEnd: Int { get }
    /// Visits class and encoded attributes of every record.
    func forEachRecord(_ body: (_ place: Int, ItemClass?, _ attributes: Span<UInt8>) -> Void)

    /// What the vault says of itself.
    var settings: Record? { get }
    /// How many older versions of an item are kept.
    var historyLimit: Int { get }
    /// The older versions of an item, oldest first.
    func versions(of id: ItemID) -> [Record]
    /// The newest of the older versions of each item that has any, in no order.
    var lastVersions: [Record] { get }
    /// The greatest version that the item has had; 0: nothing is known of it.
    func lastVersion(of id: ItemID) -> UInt64

    /// How this device's writes are named; nil: the vault belongs to no fleet.
    var ownLog: OwnLog? { get }
    /// Names the next write.
    func nextStamp() -> UInt64
    /// What the numbers in items' clocks stand for.
    func logs() throws(VaultError) -> LogNumbers
    /// What replication keeps of an item beside its record.
    func keptVersions(of id: ItemID) -> [Record]

    /// Whether there is a key for items of this protection class now.
    func canUse(_ protection: Accessibility) -> Bool
    /// Whether a person can open the vault with something that they know.
    var hasPassphrase: Bool { get }
    /// Whether the item is absent here: bound to another device, or to a passphrase that the vault no longer has.
    func isAbsentHere(_ record: Record) throws(VaultError) -> Bool
    /// Makes sure that what ``isAbsentHere(_:)`` says is known and not only feared.
    func requireKnownDevice() throws(VaultError)

    /// Opens the whole value of a record, its fields included; nil: it has none.
    ///
    /// - Throws: `.itemChanged` when the value was replaced since the record was found.
    func value(of record: Record) throws(VaultError) -> Secret?
}

/// The one way to change records: what is staged shows at once, and becomes durable with all the rest of the session.
package protocol RecordSession: ~Copyable {
    func makeItemID() -> ItemID
    /// The ordinal of the next item to be created.
    var nextOrdinal: UInt64 { get }
    /// What this device's items carry. The device is given one now if it has none.
    func identifyDevice() throws(VaultError) -> [16 of UInt8]

    /// - Returns: the record with what became of its value.
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
            // Another process may have been in the middle of a write that it never finished.
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
