// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultCrypto
package import VaultFormat

// Rewriting of the file as the next generation, which replaces the old file.

extension VaultStore {
    /// Rewrites the vault without dead data.
    ///
    /// A large vault is copied while other processes continue to write; only their writes in the meantime are added
    /// under the lock.
    ///
    /// - Throws: `.damaged`, before anything is replaced, if the source is damaged; `.inputOutput`, with the old file
    ///   in place; `.indeterminate`.
    package func compact() throws(StorageError) { try compact(for: nil) }

    /// - Parameter recipient: receives the result for the handle whose twin this one is.
    fileprivate func compact(for recipient: HandoverSlot?) throws(StorageError) {
        do throws(StorageError) {
            if log.size > environment.lockFreeCopyLength, try compactBesideWriters(for: recipient) { return }
            try withWriterLock { () throws(StorageError) in try rewrite(for: recipient) }
        } catch {
            compaction.noteFailure(log)
            throw error
        }
    }

    /// Copies up to a durable commit without the lock, and takes the lock only for the rest.
    ///
    /// - Returns: `false` if another process replaced the file meanwhile; nothing has changed then.
    private func compactBesideWriters(for recipient: HandoverSlot?) throws(StorageError) -> Bool {
        // State copied without the lock must be durable, so that it cannot be rolled back.
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

    /// Whether the file contains more dead than live data, too many frames, or the box of a replaced secret.
    ///
    /// - Parameter isLeaving: whether the vault is about to be closed or locked, when superseded secrets are removed.
    package func isWorthCompacting(isLeaving: Bool) -> Bool { compaction.isWorthIt(log, records, isLeaving: isLeaving) }

    /// Whether this handle has changed the file.
    package var hasWritten: Bool { compaction.isWriter }

    /// The parts that a rewrite leaves out.
    package struct Purge: Sendable {
        package var items: Set<ItemID>
        /// Items whose older versions are removed.
        package var histories: Set<ItemID>

        package init(items: Set<ItemID> = [], histories: Set<ItemID> = []) {
            self.items = items
            self.histories = histories
        }

        var isEmpty: Bool { items.isEmpty && histories.isEmpty }
    }

    /// Rewrites the file without some of its contents.
    ///
    /// - Parameter select: selects the removals from the newest state, while no other process can write; `nil` cancels.
    package func purge(_ select: () -> Purge?) throws(StorageError) {
        try withWriterLock { () throws(StorageError) in
            guard let purged = select(), !purged.isEmpty || records.hasSuperseded else { return }
            try rewrite(purging: purged)
        }
    }

    /// Makes sure that programs which do not support clocks no longer write to the vault.
    package func beginReplication() throws(StorageError) {
        try withWriterLock { () throws(StorageError) in
            if !header.isReplicated { try rewrite(features: Header.Feature.replication) }
        }
    }

    // MARK: The rewrite, under the writer lock

    /// - Parameters:
    ///   - slots: those of the new file; `nil` for the same.
    ///   - features: of ``Header/Feature``, in addition to those of the old file.
    ///   - anchors: later states that this device has seen, which the new file must exceed.
    func rewrite(
        slots: [HeldSlot]? = nil, features: UInt32 = 0, above anchors: [Anchor] = [],
        purging purged: Purge = Purge(), for recipient: HandoverSlot? = nil
    ) throws(StorageError) {
        location.removeLeftovers()
        func copy() throws(StorageError) -> Rewriter {
            var next = try nextHeader(slots: slots, above: anchors)
            next.requiredFeatures |= features
            var rewriter = try makeRewriter(next, in: location)
            try rewriter.copyChecked(without: purged)
            return rewriter
        }
        let rewriter: Rewriter
        do throws(StorageError) { rewriter = try copy() } catch {
            // Data that was read but not durable may have vanished: the handle starts over before reporting damage.
            guard case .damaged = error else { throw error }
            try reopen()
            rewriter = try copy()
        }
        let leavesOut = rewriter.hasPassphrase != header.hasPassphrase || !purged.isEmpty
        try replaceFile(with: rewriter, for: recipient)
        // The table still contains what was left out.
        if leavesOut { log.lose() }
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

    /// Otherwise an attacker who can write to an anchor could exhaust the vault's numbers.
    private func isCredible(_ anchor: Anchor) -> Bool {
        let most: UInt64 = 1 << 32
        return anchor.generation < header.generation + most && anchor.sequence < sequence + most
    }

    func makeRewriter(_ header: Header, in target: VaultLocation) throws(StorageError) -> Rewriter {
        try Rewriter(
            log.snapshot(records, root: keys.generationRoot), header, root: keys.generationRoot, in: target, environment
        )
    }

    /// Replaces the file by the new one and continues with it.
    ///
    /// - Parameter recipient: of the handle that continues instead of this one.
    private func replaceFile(with rewriter: consuming Rewriter, for recipient: HandoverSlot?) throws(StorageError) {
        // If two handles shared the table, a change would copy it.
        if recipient != nil { records = RecordTable() }
        let handover: Handover
        do throws(StorageError) { handover = try rewriter.finish(after: tip.position, health, for: recipient) } catch {
            // The next read restores the records that were released above.
            if recipient != nil { log.lose() }
            throw error
        }
        owesMarks = false
        moveAnchors(to: handover.tip.position, generation: handover.page.header.generation)
        // The rewrite is complete even if continuing fails: the next read starts over.
        guard recipient == nil, (try? goOn(with: handover)) == true else { return log.lose() }
        log.noteNameIsDurable()
    }

    /// - Returns: `false` if the records are not those from which the file was made; they are unusable then.
    func goOn(with handover: Handover) throws(StorageError) -> Bool {
        guard tip.position == handover.source, records.move(to: handover.moved) else { return false }
        records.hasClocks = handover.page.header.isReplicated
        log = try Log(written: handover.file, handover.page, upTo: handover.tip, root: keys.generationRoot, health)
        noteDurable()
        compaction.noteSuccess(log)
        return true
    }
}

/// Rewrites a vault's file while its handle is in use.
///
/// Uses a twin of the handle, which opens no values and so has only the keys that a locked vault has.
package struct Compactor: ~Copyable {
    private let twin: VaultStore
    private let recipient: HandoverSlot

    init(for store: VaultStore) throws(StorageError) {
        twin = try VaultStore(twinOf: store)
        recipient = store.handovers
    }

    /// As ``VaultStore/compact()``.
    package func compact() throws(StorageError) { try twin.compact(for: recipient) }

    fileprivate var discardedBytes: Int { twin.discardedBytes }
}

extension VaultStore {
    /// Makes a compactor that rewrites the file while this handle is in use; call ``rejoin(_:after:)`` afterwards.
    package func makeCompactor() throws(StorageError) -> Compactor {
        do throws(StorageError) {
            try checkWritable()
            return try Compactor(for: self)
        } catch {
            compaction.noteFailure(log)
            throw error
        }
    }

    /// Continues with the file that the compactor wrote.
    package func rejoin(_ compactor: borrowing Compactor, after failure: StorageError?) {
        discardedBytes += compactor.discardedBytes
        if failure != nil { return compaction.noteFailure(log) }
        // The rewrite is complete whatever this read finds; the next one reports its error again.
        try? refresh()
    }
}
