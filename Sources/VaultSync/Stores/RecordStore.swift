// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// A record in a store: sealed, and never changed.
package struct StoredRecord: Equatable, Sendable {
    package let address: RecordAddress
    package let bytes: [UInt8]

    package init(_ address: RecordAddress, _ bytes: [UInt8]) { (self.address, self.bytes) = (address, bytes) }
}

/// The extent of a stream in a store.
package struct StreamHead: Equatable, Sendable {
    package let stream: RecordStream
    package let first: UInt64
    package let last: UInt64
    /// The number of records from the first to the last; `nil` if the store does not count them.
    package let count: UInt64?

    package init(_ stream: RecordStream, first: UInt64, last: UInt64, count: UInt64?) {
        (self.stream, self.first, self.last, self.count) = (stream, first, last, count)
    }

    /// Whether no record between the first and the last is missing, as far as the store counts them.
    package var isWhole: Bool { count == last &- first &+ 1 }
}

/// The position from which a stream is read.
package struct StreamStart: Equatable, Sendable {
    package let stream: RecordStream
    package let sequence: UInt64

    package init(_ stream: RecordStream, from sequence: UInt64) { (self.stream, self.sequence) = (stream, sequence) }
}

/// The outcome of storing a record.
package enum Appended: Equatable, Sendable {
    case created
    /// The record was already there: an earlier acknowledgement was lost.
    case same
    /// Another record has this address.
    case differs
}

/// A place that devices share: records of one realm, each written once at its address.
///
/// The operator can withhold, repeat and invent records, and learns their sizes, counts and times. The operator has no
/// keys; readers check every record.
package protocol RecordStore: Sendable {
    /// Returns the heads of all streams except mailboxes.
    func heads() throws(RecordStoreError) -> [StreamHead]

    /// Lends the records of each stream, from a number up to the last at the time when it is reached.
    ///
    /// - Parameter take: receives the records stream by stream, in ascending order. An address may come twice, with
    ///   different bytes.
    func read(_ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void) throws(RecordStoreError)

    /// Returns one record, or `nil` if there is none.
    func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]?

    /// Stores records in this order. They are durable on return.
    ///
    /// - Returns: the outcome for each record. `differs` is the last outcome: the records after it were not tried.
    /// - Throws: `.invalid` before anything is stored. After another error some records may be stored.
    func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended]

    /// Removes the records below a number.
    ///
    /// - Throws: `.denied` if this device may not remove; then all records stay.
    func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError)

    /// Removes the record at one address: an altered record that the true one replaces, or one that a mirror drops.
    ///
    /// - Throws: `.denied` if this device may not remove.
    func remove(_ address: RecordAddress) throws(RecordStoreError)

    /// Returns whether this device may add records, without adding any; `nil` if the store cannot tell.
    func mayAppend() throws(RecordStoreError) -> Bool?

    /// Reports new records until the watch is ended.
    ///
    /// - Parameter hint: called on a thread of the store's own; must not block.
    /// - Returns: `nil` if the store sends no hints and has to be polled.
    func watch(_ hint: @escaping @Sendable (RecordHint) -> Void) throws(RecordStoreError) -> (any RecordWatch)?
}

extension RecordStore {
    package func mayAppend() throws(RecordStoreError) -> Bool? { nil }

    package func watch(
        _ hint: @escaping @Sendable (RecordHint) -> Void
    ) throws(RecordStoreError) -> (any RecordWatch)? { nil }
}
