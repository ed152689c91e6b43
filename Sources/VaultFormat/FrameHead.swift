// SPDX-License-Identifier: Apache-2.0

/// The first 80 bytes of a frame.
package struct FrameHead: Equatable, Sendable {
    package static let currentVersion: UInt16 = 1

    package var length: Int
    package var isCommit: Bool
    package var flags: UInt16
    package var version: UInt16
    package var sequence: UInt64
    /// The length of the metadata box, with its tag.
    package var metadataLength: Int
    /// The length of the value area, with its zero fill.
    package var valueLength: Int
    /// 24 bytes, the nonce of the metadata box.
    package var nonce: [UInt8]
    /// 32 bytes over the value area.
    package var valueDigest: [UInt8]

    package init(
        isCommit: Bool, sequence: UInt64, metadataLength: Int, valueLength: Int, nonce: [UInt8], valueDigest: [UInt8]
    ) {
        length = Layout.frameOverhead + metadataLength + valueLength
        self.isCommit = isCommit
        flags = isCommit ? 1 : 0
        version = FrameHead.currentVersion
        self.sequence = sequence
        self.metadataLength = metadataLength
        self.valueLength = valueLength
        self.nonce = nonce
        self.valueDigest = valueDigest
    }

    /// Reads 80 bytes that are not authenticated yet: lengths are bounded, but the meaning of flags and version is not
    /// checked.
    ///
    /// - Parameter available: the number of bytes from the frame's start to the end of the file.
    package init(parsing bytes: Span<UInt8>, available: Int) throws(FormatError) {
        guard bytes.count >= Layout.frameHeadLength else { throw .truncated(.frameLength) }
        length = Int(bytes.integer(at: 0, as: UInt32.self))
        guard Layout.frameLengths.contains(length), length % 16 == 0, length <= available else {
            throw .outOfBounds(.frameLength)
        }
        flags = bytes.integer(at: 4)
        isCommit = flags & 1 == 1
        version = bytes.integer(at: 6)
        sequence = bytes.integer(at: 8)
        metadataLength = Int(bytes.integer(at: 16, as: UInt32.self))
        valueLength = Int(bytes.integer(at: 20, as: UInt32.self))
        guard metadataLength >= Layout.metadataMinimum + Layout.tagLength else { throw .outOfBounds(.metadataLength) }
        guard metadataLength + valueLength + Layout.frameOverhead == length else { throw .invalid(.frameLength) }
        nonce = bytes.array(24..<48)
        valueDigest = bytes.array(48..<80)
    }

    /// Appends the 80 bytes.
    package func append(to output: inout [UInt8]) {
        var head = [24 of UInt8](repeating: 0)
        head.store(UInt32(length), at: 0)
        head.store(flags, at: 4)
        head.store(version, at: 6)
        head.store(sequence, at: 8)
        head.store(UInt32(metadataLength), at: 16)
        head.store(UInt32(valueLength), at: 20)
        output.append(head)
        output += nonce
        output += valueDigest
    }

    /// Checks the fields that only an authenticated frame may be judged by.
    package func checkMeaning() throws(FormatError) {
        guard version == FrameHead.currentVersion else { throw .unsupported(.frameVersion) }
        guard flags <= 1 else { throw .invalid(.frameFlags) }
    }
}
