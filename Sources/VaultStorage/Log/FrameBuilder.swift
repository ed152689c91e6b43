// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// Encodes operations as frames after a position of the log.
struct FrameBuilder {
    /// An operation waiting for its frame.
    struct Pending {
        /// The encoded operation; the location of its value is filled in with the frame.
        var operation: [UInt8]
        /// Nonce and box, if the operation has a new value; otherwise it refers to an existing box.
        var box: [UInt8] = []
    }

    /// The maximum number of items whose metadata one damaged byte destroys: with one box per item, opening takes
    /// twelve times as long.
    static let itemLimit = 16
    private static let packedMetadata = 65_536
    private static let packedValues = 4 << 20

    private(set) var position: LogPosition
    /// The frames, in order, after the builder's initial position.
    private(set) var bytes: [UInt8] = []
    private(set) var frames = 0
    private(set) var lastTagOffset = 0
    /// The offsets of the open transaction's values so far, with the version at which they were sealed.
    private var values: [(id: ItemID, version: UInt64, offset: UInt64)] = []
    /// The same by item, for the items that an operation has asked for: most transactions never refer to their own
    /// values.
    private var found: [ItemID: (version: UInt64, offset: UInt64)] = [:]
    private var foundCount = 0
    let generation: UInt64

    init(after position: LogPosition, generation: UInt64) {
        self.position = position
        self.generation = generation
    }

    /// Returns and removes the bytes built so far, for a rewrite that writes them piece by piece.
    mutating func takeBytes() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    /// Appends one transaction, its last frame marked as the commit; with `isLast` false it stays open for more.
    ///
    /// - Parameter located: called with the offset of each new value.
    mutating func append(
        _ pending: [Pending], isLast: Bool = true, keys: borrowing GenerationKeys, random: any RandomSource,
        located: (Int, UInt64) -> Void
    ) {
        var first = 0
        while first < pending.count {
            let (end, metadata, values) = FrameBuilder.frame(of: pending[first...])
            appendFrame(pending, first..<end, metadata, values, isLast && end == pending.count, keys, random, located)
            first = end
        }
        // Versions of one item are adjacent: the next piece of a long transaction may continue with the last item.
        let last = pending.last.map { Operation.id(of: $0.operation.span) }
        values = isLast ? [] : values.filter { $0.id == last }
        (found, foundCount) = ([:], 0)
    }

    /// The number of operations that fit in the next frame, and the resulting sizes in bytes.
    private static func frame(of pending: ArraySlice<Pending>) -> (end: Int, metadata: Int, values: Int) {
        var (end, metadata, values) = (pending.startIndex, Layout.metadataHeadLength, 0)
        var (items, last): (Int, ItemID?) = (0, nil)
        for next in pending.prefix(Layout.operationLimit) {
            let id = Operation.id(of: next.operation.span)
            if id != last { items += 1 }
            let isFull =
                items > itemLimit || metadata + 4 + next.operation.count > packedMetadata
                || values + next.box.count > packedValues
            if isFull, end > pending.startIndex { break }
            (end, last) = (end + 1, id)
            (metadata, values) = (metadata + next.operation.count, values + next.box.count)
        }
        return (end, metadata, values)
    }

    private mutating func appendFrame(
        _ pending: [Pending], _ range: Range<Int>, _ contentLength: Int, _ values: Int, _ isCommit: Bool,
        _ keys: borrowing GenerationKeys, _ random: any RandomSource, _ located: (Int, UInt64) -> Void
    ) {
        let metadataLength = Padding.length(for: contentLength, minimum: Layout.metadataMinimum) + Layout.tagLength
        let valuesOffset = position.end + Layout.frameOverhead + metadataLength
        var content: [UInt8] = []
        var area: [UInt8] = []
        area.reserveCapacity(values + 16)
        Padding.append(contentLength, minimum: Layout.metadataMinimum, to: &content) { content in
            FrameMetadata.appendHead(
                generation: generation, sequence: position.sequence + 1, operationCount: range.count, to: &content)
            for index in range {
                let start = content.count
                content += pending[index].operation
                guard let offset = locate(pending[index], at: UInt64(valuesOffset + area.count)) else { continue }
                area += pending[index].box
                Operation.setOffset(offset, in: &content, at: start)
                located(index, offset)
            }
        }
        // A frame without values looks like one with a value.
        if area.isEmpty { area = random.bytes(Layout.idleValueLength) }
        area.appendZeros((16 - (Layout.frameOverhead + metadataLength + area.count) % 16) % 16)
        var digest = KeyedHash(key: keys.digest)
        digest.update(area)
        let head = FrameHead(
            isCommit: isCommit, sequence: position.sequence + 1, metadataLength: metadataLength,
            valueLength: area.count,
            nonce: random.bytes(Layout.nonceLength), valueDigest: digest.digest().bytes.span.array(0..<32))
        let start = bytes.count
        // Most transactions have a single frame.
        if bytes.isEmpty { bytes.reserveCapacity(head.length) }
        bytes += head.encoded()
        SecretBox.seal(content.span, nonce: head.nonce.span, key: keys.metadata, appendingTo: &bytes, isSecret: false)
        let tag = keys.frameTag(after: position.tag, bytes.span.extracting(start..<bytes.count))
        lastTagOffset = position.end + bytes.count - start
        bytes.append(tag.bytes)
        bytes += area
        position = LogPosition(sequence: head.sequence, end: position.end + head.length, tag: tag)
        frames += 1
    }

    /// The offset of the value of an operation that is about to be encoded.
    ///
    /// - Parameter end: of the values so far.
    /// - Returns: `nil` if there is none, or it stays in place.
    private mutating func locate(_ pending: Pending, at end: UInt64) -> UInt64? {
        let operation = pending.operation.span
        let id = Operation.id(of: operation)
        if !pending.box.isEmpty {
            values.append((id, Operation.valueVersion(of: operation), end))
            return end
        }
        guard Operation.hasValue(operation) else { return nil }
        // The value may be from earlier in this very transaction.
        for value in values[foundCount...] { found[value.id] = (value.version, value.offset) }
        foundCount = values.count
        guard let own = found[id], own.version == Operation.valueVersion(of: operation) else { return nil }
        return own.offset
    }
}
