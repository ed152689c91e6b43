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
        var plans: [Plan] = []
        while (plans.last?.range.upperBound ?? 0) < pending.count {
            plans.append(FrameBuilder.plan(of: pending[(plans.last?.range.upperBound ?? 0)...]))
        }
        let digests = FrameBuilder.digests(of: plans, pending, keys)
        // Most transactions have a single frame.
        if bytes.isEmpty { bytes.reserveCapacity(plans.reduce(0) { $0 + $1.length }) }
        for (plan, digest) in zip(plans, digests) {
            let isCommit = isLast && plan.range.upperBound == pending.count
            appendFrame(pending, plan, digest, isCommit, keys, random, located)
        }
        // Versions of one item are adjacent: the next piece of a long transaction may continue with the last item.
        let last = pending.last.map { Operation.id(of: $0.operation.span) }
        values = isLast ? [] : values.filter { $0.id == last }
        (found, foundCount) = ([:], 0)
    }

    /// The operations of a frame, and the resulting sizes in bytes.
    private struct Plan {
        var range: Range<Int>
        var metadata = Layout.metadataHeadLength
        /// The size of the boxes.
        var values = 0

        /// The size of the metadata box.
        var metadataLength: Int { Padding.length(for: metadata, minimum: Layout.metadataMinimum) + Layout.tagLength }

        /// The approximate size of the frame.
        var length: Int { Layout.frameOverhead + metadataLength + values + Layout.idleValueLength }

        /// The zeros after the boxes that round the size of the frame up to a multiple of 16 bytes.
        func padding(after values: Int) -> Int { (16 - (Layout.frameOverhead + metadataLength + values) % 16) % 16 }
    }

    /// Plans a frame with as many operations as fit.
    private static func plan(of pending: ArraySlice<Pending>) -> Plan {
        var plan = Plan(range: pending.startIndex..<pending.startIndex)
        var (items, last): (Int, ItemID?) = (0, nil)
        for next in pending.prefix(Layout.operationLimit) {
            let id = Operation.id(of: next.operation.span)
            if id != last { items += 1 }
            let isFull =
                items > itemLimit || plan.metadata + 4 + next.operation.count > packedMetadata
                || plan.values + next.box.count > packedValues
            if isFull, !plan.range.isEmpty { break }
            (plan.range, last) = (plan.range.lowerBound..<plan.range.upperBound + 1, id)
            plan.metadata += next.operation.count
            plan.values += next.box.count
        }
        return plan
    }

    /// The number of frames for which another thread is worthwhile.
    private static let leastPerThread = 16

    /// The digests of the value areas; `nil` for frames without values.
    private static func digests(
        of plans: [Plan], _ pending: [Pending], _ keys: borrowing GenerationKeys
    ) -> [Digest?] {
        Parallel.map(plans.count, atLeast: leastPerThread) { number in
            let plan = plans[number]
            guard plan.values > 0 else { return nil }
            var hash = KeyedHash(key: keys.digest)
            for index in plan.range where !pending[index].box.isEmpty { hash.update(pending[index].box) }
            hash.update(zeros.span.extracting(0..<plan.padding(after: plan.values)))
            return hash.digest()
        }
    }

    private static func digest(of area: [UInt8], _ keys: borrowing GenerationKeys) -> Digest {
        var hash = KeyedHash(key: keys.digest)
        hash.update(area)
        return hash.digest()
    }

    private static let zeros = [UInt8](repeating: 0, count: 16)

    private mutating func appendFrame(
        _ pending: [Pending], _ plan: Plan, _ digest: Digest?, _ isCommit: Bool, _ keys: borrowing GenerationKeys,
        _ random: any RandomSource, _ located: (Int, UInt64) -> Void
    ) {
        let valuesOffset = position.end + Layout.frameOverhead + plan.metadataLength
        var content: [UInt8] = []
        var values = 0
        Padding.append(plan.metadata, minimum: Layout.metadataMinimum, to: &content) { content in
            FrameMetadata.appendHead(
                generation: generation, sequence: position.sequence + 1, operationCount: plan.range.count, to: &content)
            for index in plan.range {
                let start = content.count
                content += pending[index].operation
                guard let offset = locate(pending[index], at: UInt64(valuesOffset + values)) else { continue }
                values += pending[index].box.count
                Operation.setOffset(offset, in: &content, at: start)
                located(index, offset)
            }
        }
        // A frame without values looks like one with a value.
        var idle = digest == nil ? random.bytes(Layout.idleValueLength) : []
        let padding = plan.padding(after: values + idle.count)
        if !idle.isEmpty { idle.appendZeros(padding) }
        let head = FrameHead(
            isCommit: isCommit, sequence: position.sequence + 1, metadataLength: plan.metadataLength,
            valueLength: idle.isEmpty ? values + padding : idle.count, nonce: random.bytes(Layout.nonceLength),
            valueDigest: (digest ?? FrameBuilder.digest(of: idle, keys)).bytes.span.array(0..<32))
        let start = bytes.count
        bytes += head.encoded()
        SecretBox.seal(content.span, nonce: head.nonce.span, key: keys.metadata, appendingTo: &bytes, isSecret: false)
        let tag = keys.frameTag(after: position.tag, bytes.span.extracting(start..<bytes.count))
        lastTagOffset = position.end + bytes.count - start
        bytes.append(tag.bytes)
        for index in plan.range { bytes += pending[index].box }
        if idle.isEmpty { bytes.appendZeros(padding) } else { bytes += idle }
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
