// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat

/// Reads the boxes of values, many at a time if they are requested in the order in which they are stored. Checks that a
/// box is the one that a record names.
struct ValueReader {
    private static let windowLength = 256 << 10

    let file: any VaultFile
    private var window: [UInt8] = []
    private var start = 0
    private var end: Int { start + window.count }

    init(_ file: any VaultFile) { self.file = file }

    /// Nonce and box of an operation's value; empty if it has none.
    ///
    /// - Throws: `.damaged(.value)` if it is not there.
    mutating func box(of operation: Span<UInt8>) throws(StorageError) -> [UInt8] {
        guard let value = Operation.value(of: operation) else { return [] }
        guard let box = try box(at: value) else { throw .damaged(.value(Operation.id(of: operation))) }
        return box
    }

    /// Nonce and box; `nil` if the stored tag differs or the file ends before.
    mutating func box(at value: ValueLocation) throws(StorageError) -> [UInt8]? {
        let (offset, length) = (Int(value.offset), Int(value.length))
        if offset < start || offset + length > end {
            // A value near the last one is likely to be followed by its neighbours.
            let isNear = offset >= start && offset < end + ValueReader.windowLength / 4
            let wanted = isNear && !window.isEmpty ? max(length, ValueReader.windowLength) : length
            window = try attempt(.read, file.read(wanted, at: offset))
            start = offset
        }
        guard offset + length <= end else { return nil }
        let box = window.span.extracting(offset - start..<offset - start + length)
        guard isEqualInConstantTime(box.extracting(Layout.nonceLength..<Layout.boxOverhead), value.tag.span) else {
            return nil
        }
        return length == window.count ? window : box.array(box.indices)
    }
}
