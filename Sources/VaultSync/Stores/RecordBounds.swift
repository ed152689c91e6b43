// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

extension RecordKind {
    /// How many bytes a record may have. What is shorter was not written to its end.
    package var lengths: ClosedRange<Int> { 64...limit }

    /// Whether the heads of its streams are compared.
    var isHeaded: Bool { self != .mailbox }
}

extension StoredRecord {
    /// - Throws: `.invalid`
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
