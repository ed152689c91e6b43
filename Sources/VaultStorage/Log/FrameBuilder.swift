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
        let offsets = locate(pending, plans, located)
        // Most transactions have a single frame.
        if let plan = plans.first, plans.count == 1 {
            let draft = draft(plan, isLast, position.sequence + 1, random)
            bytes.reserveCapacity(bytes.count + draft.length)
            let start = bytes.count
            draft.seal(pending, offsets, keys, appendingTo: &bytes)
            chain(draft, from: start, pending, keys)
        } else {
            appendFrames(plans, pending, isLast, offsets, keys, random)
        }
        // Versions of one item are adjacent: the next piece of a long transaction may continue with the last item.
        let last = pending.last.map { Operation.id(of: $0.operation.span) }
        values = isLast ? [] : values.filter { $0.id == last }
        (found, foundCount) = ([:], 0)
    }

    /// Appends several frames, which several threads seal.
    private mutating func appendFrames(
        _ plans: [Plan], _ pending: [Pending], _ isLast: Bool, _ offsets: [UInt64?], _ keys: borrowing GenerationKeys,
        _ random: any RandomSource
    ) {
        var drafts: [FrameDraft] = []
        drafts.reserveCapacity(plans.count)
        for plan in plans {
            let isCommit = isLast && plan.range.upperBound == pending.count
            drafts.append(draft(plan, isCommit, position.sequence + UInt64(drafts.count) + 1, random))
        }
        bytes.reserveCapacity(bytes.count + drafts.reduce(0) { $0 + $1.length })
        var sealed: [(draft: FrameDraft, bytes: [UInt8])] = []
        for start in stride(from: 0, to: drafts.count, by: FrameBuilder.sealedAtOnce) {
            let batch = drafts[start..<min(start + FrameBuilder.sealedAtOnce, drafts.count)]
            // Each tag needs the one before: one thread chains the frames that are sealed while others seal the next.
            let next = Parallel.map(batch.count, atLeast: FrameBuilder.leastPerThread) { number in
                var sealed: [UInt8] = []
                sealed.reserveCapacity(batch[start + number].sealedLength)
                batch[start + number].seal(pending, offsets, keys, appendingTo: &sealed)
                return sealed
            } beside: {
                for (draft, bytes) in sealed { chain(draft, bytes, pending, keys) }
            }
            sealed = Array(zip(batch, next))
        }
        for (draft, bytes) in sealed { chain(draft, bytes, pending, keys) }
    }

    /// The operations of a frame, and the resulting sizes in bytes.
    private struct Plan {
        var range: Range<Int>
        var metadata = Layout.metadataHeadLength
        /// The size of the boxes.
        var values = 0

        /// The size of the metadata box.
        var metadataLength: Int { Padding.length(for: metadata, minimum: Layout.metadataMinimum) + Layout.tagLength }

        /// The size of the value area, with the zeros that round the size of the frame up to a multiple of 16 bytes.
        var valueLength: Int {
            let least = values == 0 ? Layout.idleValueLength : values
            return least + (16 - (Layout.frameOverhead + metadataLength + least) % 16) % 16
        }

        /// The size of the frame.
        var length: Int { Layout.frameOverhead + metadataLength + valueLength }
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

    /// The number of frames that are sealed while the frames before them are chained.
    private static let sealedAtOnce = 512

    /// The offsets of the values that the frames will have.
    ///
    /// - Returns: `nil` for an operation that has no value, or whose value stays in place.
    private mutating func locate(_ pending: [Pending], _ plans: [Plan], _ located: (Int, UInt64) -> Void) -> [UInt64?] {
        var offsets: [UInt64?] = []
        offsets.reserveCapacity(pending.count)
        var start = position.end
        for plan in plans {
            var end = start + Layout.frameOverhead + plan.metadataLength
            for index in plan.range {
                let offset = locate(pending[index], at: UInt64(end))
                end += pending[index].box.count
                offsets.append(offset)
                if let offset { located(index, offset) }
            }
            start += plan.length
        }
        return offsets
    }

    private func draft(_ plan: Plan, _ isCommit: Bool, _ sequence: UInt64, _ random: any RandomSource) -> FrameDraft {
        // A frame without values looks like one with a value.
        var rest = plan.values == 0 ? random.bytes(Layout.idleValueLength) : []
        rest.appendZeros(plan.valueLength - plan.values - rest.count)
        return FrameDraft(
            plan: plan, isCommit: isCommit, generation: generation, sequence: sequence,
            nonce: random.bytes(Layout.nonceLength), rest: rest)
    }

    /// A frame without the parts that need a key.
    private struct FrameDraft: Sendable {
        let plan: Plan
        let isCommit: Bool
        let generation: UInt64
        let sequence: UInt64
        let nonce: [UInt8]
        /// The end of the value area, after the boxes.
        let rest: [UInt8]

        var length: Int { plan.length }
        /// The length of the head and the metadata box.
        var sealedLength: Int { Layout.frameHeadLength + plan.metadataLength }

        /// Appends the head and the metadata box.
        func seal(
            _ pending: [Pending], _ offsets: [UInt64?], _ keys: borrowing GenerationKeys,
            appendingTo output: inout [UInt8]
        ) {
            let metadata = metadata(pending, offsets)
            var hash = KeyedHash(key: keys.digest)
            for index in plan.range where !pending[index].box.isEmpty { hash.update(pending[index].box) }
            hash.update(rest)
            let head = FrameHead(
                isCommit: isCommit, sequence: sequence, metadataLength: plan.metadataLength,
                valueLength: plan.valueLength, nonce: nonce, valueDigest: hash.digest().bytes.span.array(0..<32))
            head.append(to: &output)
            SecretBox.seal(
                metadata.span, nonce: nonce.span, key: keys.metadata, appendingTo: &output, isSecret: false)
        }

        /// The padded content of the metadata box.
        private func metadata(_ pending: [Pending], _ offsets: [UInt64?]) -> [UInt8] {
            var metadata: [UInt8] = []
            Padding.append(plan.metadata, minimum: Layout.metadataMinimum, to: &metadata) { metadata in
                FrameMetadata.appendHead(
                    generation: generation, sequence: sequence, operationCount: plan.range.count, to: &metadata)
                for index in plan.range {
                    let start = metadata.count
                    metadata += pending[index].operation
                    if let offset = offsets[index] { Operation.setOffset(offset, in: &metadata, at: start) }
                }
            }
            return metadata
        }
    }

    /// Appends a frame of which another thread has sealed the head and the metadata box.
    private mutating func chain(
        _ draft: FrameDraft, _ sealed: [UInt8], _ pending: [Pending], _ keys: borrowing GenerationKeys
    ) {
        let start = bytes.count
        bytes += sealed
        chain(draft, from: start, pending, keys)
    }

    /// Completes a frame, whose tag chains it to the one before.
    ///
    /// - Parameter start: of its head and its metadata box, with which `bytes` ends.
    private mutating func chain(
        _ draft: FrameDraft, from start: Int, _ pending: [Pending], _ keys: borrowing GenerationKeys
    ) {
        let tag = keys.frameTag(after: position.tag, bytes.span.extracting(start..<bytes.count))
        lastTagOffset = position.end + draft.sealedLength
        bytes.append(tag.bytes)
        for index in draft.plan.range { bytes += pending[index].box }
        bytes += draft.rest
        position = LogPosition(sequence: draft.sequence, end: position.end + draft.length, tag: tag)
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
