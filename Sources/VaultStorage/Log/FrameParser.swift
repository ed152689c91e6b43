// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat

/// The operations of one frame, checked but not decoded.
struct FrameOperations {
    private let bytes: [UInt8]
    private let ranges: [Range<Int>]

    init(_ bytes: [UInt8], _ ranges: [Range<Int>]) { (self.bytes, self.ranges) = (bytes, ranges) }

    var count: Int { ranges.count }

    func forEach<E: Error>(_ body: (Span<UInt8>) throws(E) -> Void) throws(E) {
        let span = bytes.span
        for range in ranges { try body(span.extracting(range)) }
    }
}

extension FrameOperations {
    /// Parses the metadata of a frame that the key authenticates: no writer of this version produces content that is
    /// rejected here.
    ///
    /// - Parameters:
    ///   - end: of the frame, which its values must not exceed.
    ///   - plain: the opened metadata; `nil` if its box did not open.
    ///   - isChained: `false` if the head is not authenticated and its meaning is not checked.
    /// - Throws: `.unsupported`, `.damaged(.frame)`.
    init(
        of head: FrameHead, endingAt end: Int, generation: UInt64, _ plain: [UInt8]?, isChained: Bool = true
    ) throws(StorageError) {
        do throws(FormatError) {
            if isChained { try head.checkMeaning() }
            guard let plain else { throw .invalid(.metadata) }
            let content = try Padding.content(of: plain.span, minimum: Layout.metadataMinimum)
            var reader = ByteReader(plain, content)
            let metadata = try FrameMetadata(parsing: &reader)
            guard metadata.generation == generation, metadata.sequence == head.sequence else {
                throw .invalid(.frameSequence)
            }
            var ranges: [Range<Int>] = []
            ranges.reserveCapacity(min(metadata.operationCount, reader.remaining / Layout.operationLength))
            for _ in 0..<metadata.operationCount {
                let range = try Operation.check(&reader)
                if let value = Operation.value(of: plain.span.extracting(range)),
                    Int(value.offset) > end - Int(value.length)
                {
                    throw .outOfBounds(.value)
                }
                ranges.append(range)
            }
            guard reader.remaining == 0 else { throw .invalid(.metadata) }
            self.init(plain, ranges)
        } catch {
            if case .unsupported(let field) = error { throw .unsupported(field) }
            throw .damaged(.frame(sequence: head.sequence, error))
        }
    }
}

/// Parses the frames of one file: whether the key made one, its contents, and whether its values are intact. Used both
/// for following the log and for salvage.
struct FrameParser {
    let file: any VaultFile
    let size: Int
    let generation: UInt64
    private var window: [UInt8] = []
    private var windowStart = 0
    /// The number of bytes to read at the next frame if values are not wanted.
    private var nextLength = FrameParser.windowLength
    static let windowLength = 65_536
    /// The length of values that are not read in passing: another system call takes less time than to copy them.
    private static let skippedLength = 4096
    static let digestedAtOnce = 1 << 20

    /// - Parameter window: bytes already read, beginning at `start`, which are not read again.
    init(file: any VaultFile, size: Int, generation: UInt64, window: [UInt8] = [], at start: Int = 0) {
        self.file = file
        self.size = size
        self.generation = generation
        self.window = window
        windowStart = start
    }

    /// The head of the frame at `offset`; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - isWhole: whether the complete frame must be present.
    ///   - withValues: whether the values are read next.
    mutating func head(
        at offset: Int, isWhole: Bool = true, withValues: Bool = false
    ) throws(StorageError) -> FrameHead? {
        guard size - offset >= Layout.frameHeadLength else { return nil }
        let start = try load(offset, Layout.frameHeadLength, ahead: ahead(withValues))
        let bytes = window.span.extracting(start..<start + Layout.frameHeadLength)
        return try? FrameHead(parsing: bytes, available: isWhole ? size - offset : Layout.frameLengths.upperBound)
    }

    /// The bytes of a frame. Zeros stand for what lies beyond the end of the file.
    ///
    /// - Parameter withValues: whether the values are included.
    mutating func frame(
        _ head: FrameHead, at offset: Int, withValues: Bool = false
    ) throws(StorageError) -> FrameBytes {
        let length = withValues ? head.length : Layout.frameOverhead + head.metadataLength
        let isSparse = head.valueLength >= FrameParser.skippedLength
        let start = try load(offset, length, ahead: isSparse && !withValues ? length : ahead(withValues))
        // The next frame is likely to be similar.
        nextLength = isSparse ? length + length / 8 : FrameParser.windowLength
        return FrameBytes(head, at: offset, window[start..<start + length])
    }

    /// Whether the values of a frame match its digest.
    mutating func hasValues(_ head: FrameHead, at offset: Int, _ keys: borrowing GenerationKeys) throws(StorageError)
        -> Bool
    {
        var hash = KeyedHash(key: keys.digest)
        let first = offset + Layout.frameOverhead + head.metadataLength
        var done = 0
        while done < head.valueLength {
            let length = min(head.valueLength - done, FrameParser.digestedAtOnce)
            let start = try load(first + done, length)
            hash.update(window.span.extracting(start..<start + length))
            done += length
        }
        return isEqualInConstantTime(hash.digest().bytes.span, head.valueDigest.span)
    }

    private func ahead(_ withValues: Bool) -> Int { withValues ? FrameParser.digestedAtOnce : nextLength }

    /// Loads bytes of the file into the window; returns their offset in it.
    ///
    /// - Parameter ahead: the number of bytes to read if the window has to move.
    private mutating func load(
        _ offset: Int, _ count: Int, ahead: Int = FrameParser.windowLength
    ) throws(StorageError) -> Int {
        if offset < windowStart || offset + count > windowStart + window.count {
            let length = min(max(count, ahead), size - offset)
            window = try attempt(.read, file.read(length, at: offset))
            windowStart = offset
            // The file was shortened meanwhile; zeros replace the missing bytes and fail authentication.
            if window.count < count { window.appendZeros(count - window.count) }
        }
        return offset - windowStart
    }
}
