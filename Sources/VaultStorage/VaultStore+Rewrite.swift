// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
public import VaultFormat

extension VaultStore {
    /// Writes the vault anew without what is dead, in the next generation, and puts it in the place of the old file.
    ///
    /// A large vault is copied while other processes go on writing; only what they wrote meanwhile is added with the lock held.
    ///
    /// - Throws: `.damaged`, before anything is replaced, when the source is; `.inputOutput`, with the old file in place; `.indeterminate`.
    public func compact() throws(StorageError) {
        try check()
        try checkWritable()
        do throws(StorageError) {
            if sizeSeen > environment.lockFreeCopyLength, try compactBesideWriters() { return }
            try lock.lock()
            defer { lock.unlock() }
            try catchUp(repairing: false)
            try rewrite()
        } catch {
            noteFailedCompaction()
            throw error
        }
    }

    /// Writes the file anew without some of what is in it.
    ///
    /// - Parameter select: says what goes, from the newest state, while nobody else can write.
    public func purge<E: Error>(
        _ select: () throws(E) -> Purge, converting convert: (StorageError) -> E
    ) throws(E) {
        do throws(StorageError) {
            try check()
            try checkWritable()
            try lock.lock()
        } catch {
            throw convert(error)
        }
        defer { lock.unlock() }
        do throws(StorageError) { try catchUp(repairing: false) } catch { throw convert(error) }
        let purged = try select()
        guard !purged.isEmpty || records.hasSuperseded else { return }
        do throws(StorageError) { try rewrite(purging: purged) } catch { throw convert(error) }
    }

    /// What a rewrite leaves out.
    public struct Purge: Sendable {
        public var items: Set<ItemID>
        /// Items whose older versions go.
        public var histories: Set<ItemID>

        public init(items: Set<ItemID> = [], histories: Set<ItemID> = []) {
            self.items = items
            self.histories = histories
        }

        var isEmpty: Bool { items.isEmpty && histories.isEmpty }
    }

    /// Whether the file holds more that is dead than alive, or too many frames, or the box of a secret that was replaced.
    ///
    /// - Parameter isLeaving: the vault is about to be closed or locked: superseded secrets go then.
    public func isWorthCompacting(isLeaving: Bool) -> Bool {
        let dead = sizeSeen - Layout.firstFrame - records.liveBytes
        let isMostlyDead = dead > 256 << 10 && dead * 2 > sizeSeen
        let hasManyFrames = tip.frames > frameThreshold && tip.frames * 2 > records.count
        let holdsSuperseded = isLeaving && records.hasSuperseded && sizeSeen < 4 << 20
        guard isWriter, isMostlyDead || hasManyFrames || holdsSuperseded else { return false }
        return isLeaving || sizeSeen > failedCompactionSize + failedCompactionSize / 2
    }

    /// A compaction was tried and did not come to its end: the next try waits until the file has grown by half.
    private func noteFailedCompaction() {
        failedCompactionSize = sizeSeen
        frameThreshold = max(VaultStore.leastFrameThreshold, tip.frames) * 2
    }

    /// A second handle, whose ``compact()`` may run while this one is used; then comes ``rejoin(_:after:)``.
    public func makeRewriter() throws(StorageError) -> VaultStore {
        do throws(StorageError) {
            try check()
            try checkWritable()
            return try VaultStore(rewritingFor: self)
        } catch {
            noteFailedCompaction()
            throw error
        }
    }

    /// Goes on with what a rewrite beside this handle has left.
    public func rejoin(_ rewriter: VaultStore, after failure: StorageError?) {
        discardedBytes += rewriter.discardedBytes
        // Both have one file and one directory: what a sync has lost of them is lost for both.
        if rewriter.isPoisoned { isPoisoned = true }
        if failure != nil { return noteFailedCompaction() }
        // The rewrite is done, whatever this look finds: the next one says it again.
        try? refresh()
    }

    // MARK: The rewrite

    /// With the lock held: the whole rewrite.
    ///
    /// - Parameters:
    ///   - slots: those of the new file; nil for the same.
    ///   - anchors: what this device has seen of a later state, above which the new file has to be.
    func rewrite(slots: [HeldSlot]? = nil, above anchors: [Anchor] = [], purging purged: Purge = Purge()) throws(StorageError) {
        location.removeLeftovers()
        do throws(StorageError) { try checkEverything() } catch {
            // What was read and never durable may have gone since: start over before it is called damage.
            try reopen()
            try checkEverything()
        }
        let next = try nextHeader(slots: slots, above: anchors)
        var copy = try makeCopy(next, in: location)
        do throws(StorageError) {
            let layout = layOut(hasPassphrase: next.hasPassphrase, without: purged)
            try appendLive(layout, to: &copy)
            var readBack = ReadBack(layout, of: records)
            try copy.finish { (operation) throws(StorageError) in try readBack.take(operation) }
            try place(copy, try readBack.end())
        } catch {
            discard(copy.name, after: error)
            throw error
        }
        // What was left out is still in the table.
        guard next.hasPassphrase == header.hasPassphrase, purged.isEmpty else { return forgetFile() }
    }

    /// Copies up to a durable commit without the lock, and takes it for the rest alone.
    ///
    /// - Returns: false when another process replaced the file meanwhile; nothing changed then.
    private func compactBesideWriters() throws(StorageError) -> Bool {
        try catchUpLocked()
        let (snapshot, source) = (tip, identity)
        try checkEverything()
        var copy = try makeCopy(try nextHeader(), in: location)
        do throws(StorageError) {
            let layout = layOut(hasPassphrase: header.hasPassphrase)
            try appendLive(layout, to: &copy)
            var readBack = ReadBack(layout, of: records)
            try copy.settle { (operation) throws(StorageError) in try readBack.take(operation) }
            try lock.lock()
            defer { lock.unlock() }
            try catchUp(repairing: true)
            guard identity.isSameFile(as: source) else {
                try? location.directory.remove(copy.name)
                return false
            }
            readBack.goOn(with: try appendFrames(after: snapshot, to: &copy))
            try copy.finish { (operation) throws(StorageError) in try readBack.take(operation) }
            location.removeLeftovers()
            try place(copy, try readBack.end())
            return true
        } catch {
            discard(copy.name, after: error)
            throw error
        }
    }

    private func catchUpLocked() throws(StorageError) {
        try lock.lock()
        defer { lock.unlock() }
        try catchUp(repairing: true)
    }

    /// The header of the next generation.
    func nextHeader(slots: [HeldSlot]? = nil, above anchors: [Anchor] = []) throws(StorageError) -> Header {
        var next = header
        next.generation += 1
        next.fileSalt = environment.random.bytes(32)
        next.baseSequence = tip.position.sequence
        for anchor in anchors where anchor.vaultID == header.vaultID && isCredible(anchor) {
            next.generation = max(next.generation, anchor.generation + 1)
            next.baseSequence = max(next.baseSequence, anchor.sequence)
        }
        if let slots { try next.place(slots) }
        return next
    }

    /// Whoever could write anything into an anchor could else use up the numbers that a vault has.
    private func isCredible(_ anchor: Anchor) -> Bool {
        let most: UInt64 = 1 << 32
        return anchor.generation < header.generation + most && anchor.sequence < tip.position.sequence + most
    }

    func makeCopy(_ header: Header, in location: VaultLocation) throws(StorageError) -> RewriteCopy {
        try RewriteCopy(
            header: header, root: keys.generationRoot, length: Layout.firstFrame + records.liveBytes + 4096, in: location,
            environment: environment)
    }

    func discard(_ name: String, after error: StorageError, in location: VaultLocation? = nil) {
        if case .indeterminate = error { return }
        try? (location ?? self.location).directory.remove(name)
    }

    /// The settings, then the items by identifier, the older versions of each before the one that is current.
    ///
    /// - Parameter hasPassphrase: whether there will be a slot for one; items that are bound to it go without.
    func layOut(hasPassphrase: Bool, without purged: Purge = Purge()) -> [LiveRecord] {
        func stays(_ operation: Span<UInt8>) -> Bool {
            hasPassphrase || operation[2] != Protection.whenPasscodeSetThisDeviceOnly.rawValue
        }
        let isKept = { (version: Operation) in hasPassphrase || version.protection != .whenPasscodeSetThisDeviceOnly }
        var past = records.past.filter { !purged.histories.contains($0.key) }.keys.sorted()[...]
        var (settings, layout): ([LiveRecord], [LiveRecord]) = ([], [])
        layout.reserveCapacity(records.count + past.count)
        func append(past id: ItemID) {
            for (index, version) in (records.past[id] ?? []).enumerated() where isKept(version) { layout.append(.past(id, index)) }
        }
        for (id, place) in records.sortedPlaces {
            while let older = past.first, older <= id { append(past: past.removeFirst()) }
            guard records.read(place, stays) == true, !purged.items.contains(id) else { continue }
            let isSettings = records.read(place) { Operation.itemClass(of: $0) } == .settings
            if isSettings { settings.append(.current(place)) } else { layout.append(.current(place)) }
        }
        for id in past { append(past: id) }
        return settings + layout
    }

    func appendLive(_ layout: [LiveRecord], to copy: inout RewriteCopy) throws(StorageError) {
        var boxes = BoxReader(file: file)
        var last: ValueLocation?
        for record in layout {
            guard let operation = record.encoded(in: records) else { continue }
            let value = Operation.value(of: operation.span)
            // Versions of an item that share a value go on sharing it.
            try copy.append(operation, box: value == last ? [] : try boxes.box(of: operation.span))
            last = value
        }
    }

    /// Adds what was committed since, a frame for a frame: the sequence number may not fall behind the one that others have seen.
    private func appendFrames(after snapshot: Commit, to copy: inout RewriteCopy) throws(StorageError) -> [[UInt8]] {
        var reader = LogReader(file: file, size: tip.position.end, generation: header.generation)
        var frames: [FrameOperations] = []
        let collect = { (operations: FrameOperations, _: UInt64) throws(StorageError) in frames.append(operations) }
        _ = try reader.walk(from: snapshot, highest: tip.position, depth: .everything, keys: generationKeys, apply: collect)
        var boxes = BoxReader(file: file)
        var added: [[UInt8]] = []
        for operations in frames {
            try copy.endFrame()
            try operations.forEach { (operation) throws(StorageError) in
                added.append(operation.array(operation.indices))
                try copy.append(added[added.count - 1], box: try boxes.box(of: operation))
            }
        }
        return added
    }

    /// Every frame's values, which covers every box that will be copied: damage is never laundered.
    ///
    /// - Returns: the commits of the file, and before them the state that it began with.
    @discardableResult
    func checkEverything() throws(StorageError) -> [Commit] {
        guard let highest = try readMarks().highest else { throw .damaged(.marks) }
        let genesis = LogPosition(sequence: header.baseSequence, end: Layout.firstFrame, tag: generationKeys.genesisTag(page.bytes.span))
        var reader = LogReader(file: file, size: tip.position.end, generation: header.generation)
        let start = Commit(position: genesis, tagOffset: 0, count: 0, frames: 0)
        let ignore = { (_: FrameOperations, _: UInt64) throws(StorageError) in }
        let commits =
            try [start]
            + reader.walk(
                from: start, highest: highest, through: tip.position.sequence, depth: .integrity, keys: generationKeys, apply: ignore)
        let last = commits[commits.count - 1].position
        guard last == tip.position else { throw .damaged(.missingCommits(found: last.sequence, expected: tip.position.sequence)) }
        return commits
    }

    /// Renames, makes the name durable, and goes on with the new file.
    private func place(_ copy: borrowing RewriteCopy, _ moved: MovedValues) throws(StorageError) {
        let identity = try attempt(.open) { [file = copy.file] () throws(Errno) in try file.status() }
        let rewritten = Rewritten(
            file: copy.file, identity: identity, page: copy.page, source: tip.position, tip: copy.tip, moved: moved)
        if let recipient {
            // Two handles with one table would make a second one of it.
            forgetRecords()
            // Before the rename: from then on the other handle looks for it.
            recipient.offer(rewritten)
        }
        try putInPlace(copy)
        moveAnchors(to: copy.tip.position, generation: copy.page.header.generation)
        guard recipient == nil else { return forgetFile() }
        // The rewrite is done, whatever becomes of reading it again; the next call reads it in any case.
        do throws(StorageError) { if try !goOn(with: rewritten) { try reopen() } } catch { return forgetFile() }
        isNameDurable = true
    }

    /// Renames, and makes the name durable.
    func putInPlace(_ copy: borrowing RewriteCopy) throws(StorageError) {
        do throws(Errno) {
            try location.directory.place(copy.file, temporaryName: copy.name, as: location.name, replacing: true)
        } catch {
            recipient?.withdraw()
            throw .inputOutput(error, .rename)
        }
        hasCommitted = false
        do throws(Errno) { try location.directory.synchronize() } catch {
            isPoisoned = true
            recipient?.withdraw()
            throw .indeterminate(error)
        }
    }
}
