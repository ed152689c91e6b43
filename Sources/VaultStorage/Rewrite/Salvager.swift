// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

/// Takes all authentic data from a damaged file.
struct Salvager: ~Copyable {
    private let environment: VaultEnvironment
    private let header: Header
    let keys: VaultKeys
    private let generationKeys: GenerationKeys
    let device: DeviceSecret?
    private var parser: FrameParser
    var result = Salvage()
    /// By sequence number.
    private var frames: [UInt64: (isCommit: Bool, range: Range<Int>, operations: FrameOperations)] = [:]
    /// The chain tag of the previous frame, as stored in the file.
    private var lastTag: Digest
    /// The ranges of intact values, of frames with values that this device cannot open.
    private(set) var wholeValues: [Range<Int>] = []

    init(_ store: LockedStore, _ keys: consuming VaultKeys) throws(StorageError) {
        let file = try store.location.open(writable: false)
        let page = store.page
        let generationKeys: GenerationKeys
        do throws(CryptoError) {
            generationKeys = try GenerationKeys(root: keys.generationRoot, header: page.header)
        } catch { throw StorageError(error) }
        let device = try DeviceSecret.load(
            vaultID: page.header.vaultID, identification: keys.deviceIdentification,
            from: store.environment.stateDirectory,
            on: store.environment.fileSystem)
        let size = try attempt(.read, file.status()).size
        parser = FrameParser(file: file, size: size, generation: page.header.generation)
        (header, environment) = (page.header, store.environment)
        lastTag = Commit(genesisOf: page, keys: generationKeys).position.tag
        self.device = device
        self.generationKeys = generationKeys
        self.keys = keys
        result.isHeaderWhole = page.hasMAC(self.generationKeys)
    }

    // MARK: Reading

    var file: any VaultFile { parser.file }

    private var size: Int { parser.size }

    /// Looks for frames at every possible offset.
    mutating func scan(_ report: (Double) -> Void) throws(StorageError) {
        var (offset, reported) = (Layout.firstFrame, 0)
        while size - offset >= Layout.frameHeadLength {
            if offset >= reported {
                report(Double(offset) / Double(size))
                reported = offset + Salvager.reportLength
            }
            // The end of the last frame may be cut off.
            if let head = try parser.head(at: offset, isWhole: false), try take(head, at: offset) {
                offset += head.length
            } else {
                result.unreadableBytes += min(16, size - offset)
                offset += 16
            }
        }
    }

    private static let reportLength = 1 << 20

    /// - Returns: `false` if the key has not made such a frame.
    private mutating func take(_ head: FrameHead, at offset: Int) throws(StorageError) -> Bool {
        let start = offset + Layout.frameHeadLength
        guard size - start >= head.metadataLength, frames[head.sequence] == nil else { return false }
        let frame = try parser.frame(head, at: offset)
        guard let plain = frame.openMetadata(generationKeys) else { return false }
        let operations: FrameOperations
        do throws(StorageError) {
            operations = try FrameOperations(
                of: head, endingAt: frame.end, generation: header.generation, plain,
                isChained: frame.tag(after: lastTag, generationKeys) != nil)
        } catch {
            // Changes by a newer version must not be omitted silently.
            if case .unsupported = error { throw error }
            return false
        }
        if frames.isEmpty { result.lacksStart = !result.isHeaderWhole && offset > Layout.firstFrame }
        frames[head.sequence] = (head.isCommit, offset..<frame.end, operations)
        result.frames += 1
        lastTag = frame.storedTag
        let values = start + head.metadataLength + 32
        if values + head.valueLength <= size, operations.contains({ !isOwn($0) }),
            try parser.hasValues(head, at: offset, generationKeys)
        {
            wholeValues.append(values..<values + head.valueLength)
        }
        return true
    }

    /// Whether this device can open the value of an operation.
    private func isOwn(_ operation: Span<UInt8>) -> Bool {
        !Operation.protection(of: operation).isThisDeviceOnly || isOwn(Operation(checked: operation))
    }

    func isOwn(_ operation: Operation) -> Bool {
        !operation.protection.isThisDeviceOnly
            || device?.identifier.span.elementsEqual(operation.deviceID.span) == true
    }

    /// The state that this device has seen of the vault and no frame includes; `nil` if none.
    func missing(in anchors: [FoundAnchor]) throws(StorageError) -> MissingState? {
        let newest = max(base, frames.filter(\.value.isCommit).keys.max() ?? 0)
        let generation = header.generation
        let succession = try succession()
        return try MissingState.of(anchors, vaultID: header.vaultID, keys, newest: newest) {
            (found) throws(StorageError) in
            try succession?.passes(found) == true
        } isPassed: {
            $0.generation <= generation && $0.sequence <= newest
        }
    }

    private func succession() throws(StorageError) -> Succession? {
        var values = ValueReader(file)
        for versions in histories(ofOwnRecords: true) {
            guard let last = versions.last, last.kind == .put, let value = last.value,
                OwnRecord.kind(of: last.attributes.bytes.span) == .succession,
                let bytes = try wholeBox(of: last, &values)
            else { continue }
            let key = try keys.itemKey(last.id, version: last.valueVersion, protection: last.protection, device: nil)
            let nonce = bytes.span.extracting(0..<Layout.nonceLength)
            let padded = try secured(
                SecretBox.open(
                    bytes.span.extracting(Layout.nonceLength..<Int(value.length)), nonce: nonce, key: key))
            let content = try? padded.withBytes { bytes throws(FormatError) in
                try Padding.content(of: bytes, minimum: Layout.valueMinimum)
            }
            if let content { return try Succession(padded.narrowed(to: content), of: last.id) }
        }
        return nil
    }

    /// The last sequence number before the frames. The keys do not depend on the header's value.
    private var base: UInt64 {
        let first = frames.keys.min().map { max($0, 1) - 1 }
        return result.isHeaderWhole ? min(header.baseSequence, first ?? .max) : first ?? 0
    }

    // MARK: Writing

    mutating func write(to target: VaultLocation, slotID: [UInt8]) throws(StorageError) -> Salvage {
        var next = header
        next.generation += 1
        next.fileSalt = environment.random.bytes(32)
        next.baseSequence = max(base, frames.keys.max() ?? 0)
        guard next.baseSequence < Header.sequenceLimit else { throw .damaged(.header(.outOfBounds(.frameSequence))) }
        // The other slots are not authenticated.
        if !result.isHeaderWhole { try next.set(header.heldSlots.filter { $0.slot.slotID == slotID }) }
        noteMissing()
        guard !frames.isEmpty || size <= Layout.firstFrame else {
            throw .damaged(result.isHeaderWhole ? .missingCommits(found: base, expected: base + 1) : .headerMAC)
        }
        target.removeLeftovers()
        var copy = try NewFile(next, root: keys.generationRoot, length: Layout.firstFrame, in: target, environment)
        try copyValues(of: histories().filter { !isOfDevice($0) }, to: &copy)
        try copy.finish()
        try copy.finish(at: target, replacing: false, anchoredBy: keys, environment)
        return result
    }

    /// Whether a record is this device's part of a fleet. A device that claims to have received items is never sent
    /// them again, and they may be lost here: the vault joins as a new device instead.
    private func isOfDevice(_ versions: [Operation]) -> Bool {
        guard let last = versions.last, last.itemClass == nil else { return false }
        return OwnRecord.ofDevice.contains(OwnRecord.kind(of: last.attributes.bytes.span))
    }

    private mutating func noteMissing() {
        let marked = (try? Marks(of: file, generation: header.generation, keys: generationKeys))?.highest?.sequence
        dropUnfinished(marked: marked ?? 0)
        let numbers = frames.keys.sorted()
        let last = max(numbers.last ?? 0, base, marked ?? 0)
        result.missingFrames = last - base - UInt64(numbers.count)
        result.missingItems = missingItems(numbers, last)
    }

    /// Drops an unfinished transaction at the end. A transaction that a mark names was finished; one followed by enough
    /// room for a final frame may have been.
    private mutating func dropUnfinished(marked: UInt64) {
        var end = size
        for number in frames.keys.sorted().reversed() where number > marked {
            guard let frame = frames[number], !frame.isCommit,
                end - frame.range.upperBound < Layout.frameLengths.lowerBound
            else { return }
            frames[number] = nil
            end = frame.range.lowerBound
        }
    }

    /// The number of items that lost frames may have contained.
    ///
    /// - Parameter last: the number of the last frame that existed.
    private func missingItems(_ numbers: [UInt64], _ last: UInt64) -> ClosedRange<Int> {
        // Earlier versions packed more items into a frame.
        let most = frames.values.map(\.operations.itemCount).max() ?? 0
        let limit = most > FrameBuilder.itemLimit ? Layout.operationLimit : FrameBuilder.itemLimit
        var created: Set<UInt64>?
        var (least, greatest, previous) = (0, 0, base)
        for next in numbers + [last + 1] {
            defer { previous = next }
            let count = next - previous - 1
            guard count > 0 else { continue }
            if let between = ordinals(between: previous, and: next) {
                if created == nil { created = Set(frames.values.flatMap(\.operations.ordinals)) }
                let missing = between.count { created?.contains($0) == false }
                (least, greatest) = (least + missing, greatest + missing)
            } else {
                greatest += Int(clamping: count) * limit
            }
        }
        return least...max(least, greatest)
    }

    /// The ordinals of the items added by lost frames, if the surrounding frames belong to the same transaction, which
    /// numbers its additions. Ordinals from a rewrite are no evidence, since it keeps them and sorts by identifier.
    private func ordinals(between previous: UInt64, and next: UInt64) -> Range<UInt64>? {
        guard let before = frames[previous], !before.isCommit, let after = frames[next],
            let last = before.operations.additions.max(), let first = after.operations.additions.min(),
            last >> 16 == first >> 16, last >> 16 > base, last < first
        else { return nil }
        return last + 1..<first
    }

    /// All versions of each item, in order; the settings first, then items by identifier.
    ///
    /// - Parameter onlyOwn: whether only the vault's own records are wanted, which have no class.
    private func histories(ofOwnRecords onlyOwn: Bool = false) -> [[Operation]] {
        var found: [Operation] = []
        for number in frames.keys.sorted() {
            frames[number]?.operations.forEach { bytes in
                guard !onlyOwn || Operation.itemClass(of: bytes) == nil else { return }
                found.append(Operation(checked: bytes))
            }
        }
        let order = found.indices.sorted {
            (found[$0].id, found[$0].version, $0) < (found[$1].id, found[$1].version, $1)
        }
        var histories: [[Operation]] = []
        for index in order {
            let operation = found[index]
            if histories.last?.last?.id != operation.id { histories.append([]) }
            let versions = histories.count - 1
            // A kept version occurs a second time, marked as such.
            if histories[versions].last?.version == operation.version { histories[versions].removeLast() }
            histories[versions].append(operation)
        }
        return histories.filter { $0[0].itemClass == nil } + histories.filter { $0[0].itemClass != nil }
    }
}

extension FrameOperations {
    fileprivate var ordinals: [UInt64] { map { Operation.ordinal(of: $0) } }

    /// The ordinals of the items that the frame adds.
    fileprivate var additions: [UInt64] {
        map { Operation.kind(of: $0) == .put && Operation.version(of: $0) == 1 ? Operation.ordinal(of: $0) : nil }
            .compactMap { $0 }
    }

    fileprivate var itemCount: Int { Set(map { Operation.id(of: $0) }).count }

    fileprivate func contains(_ isIt: (Span<UInt8>) -> Bool) -> Bool { map(isIt).contains(true) }

    private func map<T>(_ body: (Span<UInt8>) -> T) -> [T] {
        var all: [T] = []
        forEach { all.append(body($0)) }
        return all
    }
}
