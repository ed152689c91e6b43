// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// A record as a store has it: sealed, and never changed.
package struct StoredRecord: Equatable, Sendable {
    package let address: RecordAddress
    package let bytes: [UInt8]

    package init(_ address: RecordAddress, _ bytes: [UInt8]) { (self.address, self.bytes) = (address, bytes) }
}

/// What a store has of a stream.
package struct StreamHead: Equatable, Sendable {
    package let stream: RecordStream
    package let first: UInt64
    package let last: UInt64
    /// How many records there are from the first to the last. Nil: the store does not count them.
    package let count: UInt64?

    package init(_ stream: RecordStream, first: UInt64, last: UInt64, count: UInt64?) {
        (self.stream, self.first, self.last, self.count) = (stream, first, last, count)
    }

    /// Whether no record between the first and the last is missing, as far as the store counts them.
    package var isWhole: Bool { count == last &- first &+ 1 }
}

/// From where on a stream is read.
package struct StreamStart: Equatable, Sendable {
    package let stream: RecordStream
    package let sequence: UInt64

    package init(_ stream: RecordStream, from sequence: UInt64) { (self.stream, self.sequence) = (stream, sequence) }
}

/// What became of a record that was to be stored.
package enum Appended: Equatable, Sendable {
    case created
    /// It is there already: an acknowledgement was lost.
    case same
    /// Another one is at its address.
    case differs
}

/// A place that devices share: records of one realm, at addresses where each is written once.
///
/// Its operator can withhold, repeat and invent records, and learns their sizes, counts and times. It has no keys;
/// what is read is checked by its reader.
package protocol RecordStore: Sendable {
    /// Of all rosters, logs and large values.
    func heads() throws(RecordStoreError) -> [StreamHead]

    /// Lends the records of each stream from a number upwards, to the last that there is when it is reached.
    ///
    /// - Parameter take: is given them in order of their numbers, stream by stream. One address may come twice, with
    ///   different bytes.
    func read(
        _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
    ) throws(RecordStoreError)

    /// One record. Nil: it is not there.
    func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]?

    /// Stores records in this order; they are durable when it returns.
    ///
    /// - Returns: for each of them what became of it. The last may be `differs`: those after it were not tried.
    /// - Throws: `.invalid` before anything is stored. After another error some of them may be stored.
    func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended]

    /// Removes what lies below a number.
    ///
    /// - Throws: `.denied` where this device may not remove: all of it stays.
    func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError)

    /// Removes what lies at one address: an altered record, in whose place the true one comes, or what a mirror
    /// forgets.
    ///
    /// - Throws: `.denied` where this device may not remove.
    func remove(_ address: RecordAddress) throws(RecordStoreError)

    /// Whether this device may add records; none is added for that. Nil: the store cannot say.
    func mayAppend() throws(RecordStoreError) -> Bool?

    /// Tells of new records until the watch is ended.
    ///
    /// - Parameter hint: is called on a thread of the store's own, and does not wait.
    /// - Returns: nil when the store tells nothing unasked, and has to be looked at from time to time.
    func watch(_ hint: @escaping @Sendable (RecordHint) -> Void) throws(RecordStoreError) -> (any RecordWatch)?
}

extension RecordStore {
    package func mayAppend() throws(RecordStoreError) -> Bool? { nil }

    package func watch(
        _ hint: @escaping @Sendable (RecordHint) -> Void
    ) throws(RecordStoreError) -> (any RecordWatch)? { nil }
}
