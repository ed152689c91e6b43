// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// The head, the metadata box and the chain tag of a frame, as they are in the file, and possibly its values.
struct FrameBytes {
    let head: FrameHead
    /// The position of the frame in the file.
    let offset: Int
    private let bytes: ArraySlice<UInt8>

    init(_ head: FrameHead, at offset: Int, _ bytes: ArraySlice<UInt8>) {
        (self.head, self.offset, self.bytes) = (head, offset, bytes)
    }

    var end: Int { offset + head.length }

    /// The number of bytes here.
    var length: Int { bytes.count }

    private var taggedLength: Int { Layout.frameHeadLength + head.metadataLength }

    /// The chain tag in the file, unverified.
    var storedTag: Digest { Digest(bytes.span.extracting(taggedLength..<taggedLength + 32)) }

    /// The chain tag of a frame that follows the frame with the tag `previous`; `nil` if it does not follow.
    func tag(after previous: Digest, _ keys: borrowing GenerationKeys) -> Digest? {
        let tag = keys.frameTag(after: previous, bytes.span.extracting(0..<taggedLength))
        return tag == storedTag ? tag : nil
    }

    /// Whether the values match the frame's digest; `nil` if they are not here.
    func hasValues(_ keys: borrowing GenerationKeys) -> Bool? {
        guard bytes.count == head.length else { return nil }
        var hash = KeyedHash(key: keys.digest)
        hash.update(bytes.span.extracting(taggedLength + 32..<head.length))
        return isEqualInConstantTime(hash.digest().bytes.span, head.valueDigest.span)
    }

    /// Opens the metadata; `nil` if the box does not open.
    func openMetadata(_ keys: borrowing GenerationKeys) -> [UInt8]? {
        let box = bytes.span.extracting(Layout.frameHeadLength..<taggedLength)
        return try? SecretBox.openPublic(box, nonce: head.nonce.span, key: keys.metadata)
    }
}
