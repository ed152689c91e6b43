// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

extension RecordKind {
    /// The permitted sizes of a record in bytes. A shorter file was not written to its end.
    package var lengths: ClosedRange<Int> { 64...limit }

    /// Whether heads report the streams of this kind.
    package var isHeaded: Bool { self != .mailbox }
}

extension StoredRecord {
    /// - Throws: `.invalid` for a sequence number or a length out of bounds.
    package func checkBounds() throws(RecordStoreError) {
        guard RecordAddress.sequences.contains(address.sequence) else {
            throw .invalid("records are numbered from 1 to \(RecordAddress.sequences.upperBound)")
        }
        let lengths = address.stream.kind.lengths
        guard lengths.contains(bytes.count) else {
            throw .invalid("\(bytes.count) bytes; a record has \(lengths.lowerBound) to \(lengths.upperBound)")
        }
    }
}
