// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
public import VaultFormat

// The file written anew, in the next generation, and put in the place of the old one.

extension VaultStore {
    /// Writes the vault anew without what is dead.
    ///
    /// A large vault is copied while other processes go on writing; only what they wrote meanwhile is added with the
    /// lock held.
    ///
    /// - Throws: `.damaged`, before anything is replaced, when the source is; `.inputOutput`, with the old file in
    ///   place; `.indeterminate`.
    public func compact() throws(StorageError) { try compact(for: nil) }

    /// - Parameter recipient: where the handle looks for the result that this one is the twin of.
    fileprivate func compact(for recipient: HandoverSlot?) throws(StorageError) {
        do throws(StorageError) {
            if log.size > environment.lockFreeCopyLength, try compactBesideWriters(for: recipient) { return }
            try withWriterLock { () throws(StorageError) in try rewrite(for: recipient) }
        } catch {
            compaction.noteFailure(log)
            throw error
        }
    }

    /// Copies up to a durable commit without the lock, and takes it for the rest alone.
    ///
    /// - Returns: false when another process replaced the file meanwhile; nothing changed then.
    private func compactBesideWriters(for recipient: HandoverSlot?) throws(StorageError) -> Bool {
        // What is copied without the lock has to be durable: nobody can take it back then.
        var rewriter = try withWriterLock(repairing: true) { () throws(StorageError) in
            try makeRewriter(nextHeader(), in: location)
        }
        try rewriter.copyBesideWriters()
        var copied: Rewriter? = rewriter
        return try withWriterLock(repairing: true) { () throws(StorageError) in
            guard var rewriter = copied.take(), rewriter.isOf(log) else { return false }
            try rewriter.append(later: log.frames(after: rewriter.sourceTip))
            location.removeLeftovers()
            try replaceFile(with: rewriter, for: recipient)
            return true
        }
    }

    /// Whether the file holds more that is dead than alive, or too many frames, or the box of a secret that was
    /// replaced.
    ///
    /// - Parameter isLeaving: the vault is about to be closed or locked: superseded secrets go then.
    public func isWorthCompacting(isLeaving: Bool) -> Bool { compaction.isWorthIt(log, records, isLeaving: isLeaving) }

    /// Whether this handle has changed the file.
    public var hasWritten: Bool { compaction.isWriter }

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

    /// Writes the file anew without some of what is in it.
    ///
    /// - Parameter select: says what goes, from the newest state, while nobody else can write; nil gives up.
    public func purge(_ select: () -> Purge?) throws(StorageError) {
        try withWriterLock { () throws(StorageError) in
            guard let purged = select(), !purged.isEmpty || records.hasSuperseded else { return }
            try rewrite(purging: purged)
        }
    }

    /// Makes sure that a program that knows no clocks does not write to the vault.
    public func beginReplication() throws(StorageError) {
        try withWriterLock { () throws(StorageError) in
            if !header.isReplicated { try rewrite(features: Header.Feature.replication) }
        }
    }

    // MARK: The rewrite, under the writer lock

    /// - Parameters:
    ///   - slots: those of the new file; nil for the same.
    ///   - features: what the new file has beside those of the old one, of ``Header/Feature``.
    ///   - anchors: what this device has seen of a later state, above which the new file has to be.
    func rewrite(
        slots: [HeldSlot]? = nil, features: UInt32 = 0, above anchors: [Anchor] = [],
        purging purged: Purge = Purge(), for recipient: HandoverSlot? = nil
    ) throws(StorageError) {
        location.removeLeftovers()
        try checkEverything()
        var next = try nextHeader(slots: slots, above: anchors)
        next.requiredFeatures |= features
        let leavesOut = next.hasPassphrase != header.hasPassphrase || !purged.isEmpty
        var rewriter = try makeRewriter(next, in: location)
        try rewriter.copy(without: purged)
        try replaceFile(with: rewriter, for: recipient)
        // What was left out is still in the table.
        if leavesOut { log.lose() }
    }

    /// What was read and never durable may have gone since: the handle starts over before that is called damage.
    func checkEverything() throws(StorageError) {
        do throws(StorageError) { try log.check() } catch {
            try reopen()
            try log.check()
        }
    }

    /// The header of the next generation.
    func nextHeader(slots: [HeldSlot]? = nil, above anchors: [Anchor] = []) throws(StorageError) -> Header {
        var next = header
        next.generation += 1
        next.fileSalt = environment.random.bytes(32)
        next.baseSequence = sequence
        for anchor in anchors where anchor.vaultID == header.vaultID && isCredible(anchor) {
            next.generation = max(next.generation, anchor.generation + 1)
            next.baseSequence = max(next.baseSequence, anchor.sequence)
        }
        if let slots { try next.set(slots) }
        return next
    }

    /// An attacker who can write into an anchor could else use up the numbers that a vault has.
    private func isCredible(_ anchor: Anchor) -> Bool {
        let most: UInt64 = 1 << 32
        return anchor.generation < header.generation + most && anchor.sequence < sequence + most
    }

    func makeRewriter(_ header: Header, in target: VaultLocation) throws(StorageError) -> Rewriter {
        try Rewriter(
            log.snapshot(records, root: keys.generationRoot), header, root: keys.generationRoot, in: target, environment
        )
    }

    /// Puts the new file in its place, and goes on with it.
    ///
    /// - Parameter recipient: of the handle that goes on in the place of this one.
    private func replaceFile(with rewriter: consuming Rewriter, for recipient: HandoverSlot?) throws(StorageError) {
        // Two handles with one table would make a second one of it.
        if recipient != nil { records = RecordTable() }
        let handover: Handover
        do throws(StorageError) { handover = try rewriter.finish(after: tip.position, health, for: recipient) } catch {
            // The next look finds the records again that were let go above.
            if recipient != nil { log.lose() }
            throw error
        }
        owesMarks = false
        moveAnchors(to: handover.tip.position, generation: handover.page.header.generation)
        // The rewrite is done, whatever becomes of going on with it: the next look starts over.
        guard recipient == nil, (try? goOn(with: handover)) == true else { return log.lose() }
        log.noteNameIsDurable()
    }

    /// - Returns: false when the records are not those that the file was made of; they are of no use then.
    func goOn(with handover: Handover) throws(StorageError) -> Bool {
        guard tip.position == handover.source, records.move(to: handover.moved) else { return false }
        records.hasClocks = handover.page.header.isReplicated
        log = try Log(written: handover.file, handover.page, upTo: handover.tip, root: keys.generationRoot, health)
        noteDurable()
        compaction.noteSuccess(log)
        return true
    }
}

/// Writes a vault's file anew while its handle is used.
///
/// It has a twin of the handle, which opens no values and so has none of the keys that a locked vault has not.
public struct Compactor: ~Copyable {
    private let twin: VaultStore
    private let recipient: HandoverSlot

    init(for store: VaultStore) throws(StorageError) {
        twin = try VaultStore(twinOf: store)
        recipient = store.handovers
    }

    /// As ``VaultStore/compact()``.
    public func compact() throws(StorageError) { try twin.compact(for: recipient) }

    fileprivate var discardedBytes: Int { twin.discardedBytes }
}

extension VaultStore {
    /// What writes the file anew while this handle is used; ``rejoin(_:after:)`` comes then.
    public func makeCompactor() throws(StorageError) -> Compactor {
        do throws(StorageError) {
            try checkWritable()
            return try Compactor(for: self)
        } catch {
            compaction.noteFailure(log)
            throw error
        }
    }

    /// Goes on with what was written beside this handle.
    public func rejoin(_ compactor: borrowing Compactor, after failure: StorageError?) {
        discardedBytes += compactor.discardedBytes
        if failure != nil { return compaction.noteFailure(log) }
        // The rewrite is done, whatever this look finds: the next one says it again.
        try? refresh()
    }
}
