// SPDX-License-Identifier: Apache-2.0

/// The location of a value that is too large for an entry.
@usableFromInline package struct BlobReference: Hashable, Sendable {
    @inlinable package static var encodedLength: Int { 56 }

    /// The stream of its parts.
    @usableFromInline package let id: Bytes16
    /// The length of the whole value, in bytes.
    package let length: UInt64
    /// BLAKE2b-256 of the whole value.
    package let hash: Bytes32

    package init(id: Bytes16, length: UInt64, hash: Bytes32) { (self.id, self.length, self.hash) = (id, length, hash) }

    init(parsing bytes: Span<UInt8>) throws(FormatError) {
        guard bytes.count == BlobReference.encodedLength else { throw .invalid(.blob) }
        id = Bytes16(bytes)
        length = bytes.integer(at: 16)
        hash = Bytes32(bytes.extracting(24..<56))
        guard length <= UInt64(Layout.valueLimit) else { throw .outOfBounds(.blob) }
    }

    func append(to output: inout [UInt8]) {
        output.append(id.bytes)
        output.append(integer: length)
        output.append(hash.bytes)
    }
}
