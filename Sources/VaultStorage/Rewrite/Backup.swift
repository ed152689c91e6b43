// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
internal import VaultCrypto
internal import VaultFormat
internal import VaultSystem

extension VaultStore {
    /// Writes the current contents as another vault: whole or not at all, without data that no history keeps.
    ///
    /// Every byte of the source is checked, and the copy is read back before it is named. The copy has the same
    /// generation, so that putting it in the vault's place without ``restore(_:to:replacing:environment:report:)`` is
    /// detected as a rollback.
    ///
    /// - Parameters:
    ///   - entries: the key slots of the copy; `nil` for those of the vault.
    ///   - replacing: whether a file at the path may be replaced.
    ///   - withHistory: whether the copy has older versions, deleted items and the names of deleted items.
    /// - Returns: the number of items in the copy.
    /// - Throws: `.alreadyExists`, with the existing file untouched.
    package func backUp(
        to path: FilePath, entries: [SlotEntry]? = nil, replacing: Bool, withHistory: Bool = true
    ) throws(StorageError) -> Int {
        try check()
        let target = try VaultLocation(ofNew: path, on: environment.fileSystem)
        let existing = try attempt(.open, target.directory.status(of: target.name))
        if let existing {
            guard replacing, existing.kind == .regular else { throw .alreadyExists }
        }
        guard target.path != location.path else { throw .alreadyExists }
        let slots = try entries.map { entries throws(StorageError) in try makeSlots(entries) }
        target.removeLeftovers()
        let copy: NewFile
        do throws(StorageError) {
            try refresh()
            copy = try writeCopy(slots, withHistory, in: target)
        } catch {
            guard case .damaged = error else { throw error }
            // Damage is only reported if it persists while no writer is active.
            copy = try lock.keepingWritersOut { () throws(StorageError) in
                try reopen()
                return try writeCopy(slots, withHistory, in: target)
            }
        }
        try copy.finish(at: target, replacing: replacing, anchoredBy: keys, environment)
        return itemCount
    }

    private func writeCopy(
        _ slots: [HeldSlot]?, _ withHistory: Bool, in target: VaultLocation
    ) throws(StorageError) -> NewFile {
        try log.check()
        var next = header
        next.fileSalt = environment.random.bytes(32)
        next.baseSequence = sequence
        if let slots { try next.set(slots) }
        return try write(next, without: withHistory ? Purge() : past, in: target)
    }

    /// Everything that is deleted or replaced: older versions, also of deleted items, and the records by which
    /// replication remembers deleted items. The values between which a person has to choose are neither.
    private var past: Purge {
        var past = Purge(histories: Set(records.past.keys))
        for (id, place) in records.sortedPlaces {
            let isDeleted = records.read(place) { operation in
                EncodedAttributes.isTombstone(operation.extracting(Operation.attributes(of: operation)))
            }
            if isDeleted == true { past.items.insert(id) }
        }
        return past
    }

    /// Restores a backup to a path, replacing a vault that is there.
    ///
    /// The backup and every value of it are opened, then written to a new file and read back; until then the old file
    /// stays in place. A process that has the old one open continues with the new one.
    ///
    /// - Parameters:
    ///   - replacing: whether a file at the path may be replaced.
    ///   - accepts: called if the backup lacks some of the state that this device has seen of the vault at the path.
    ///   - report: called with the progress, from 0 to 1.
    /// - Throws: `.alreadyExists`, `.rolledBack`, `.damaged`, with the old file in place.
    package static func restore(
        _ backup: VaultStore, to path: FilePath, replacing: Bool, environment: VaultEnvironment,
        accepts: (MissingState) -> Bool, report: (Double) -> Void
    ) throws(StorageError) -> Int {
        try createDirectory(of: path, on: environment.fileSystem)
        let target = try VaultLocation(path, on: environment.fileSystem)
        let existing = try attempt(.open, target.directory.status(of: target.name))
        if let existing {
            guard replacing, existing.kind == .regular else { throw .alreadyExists }
            guard !backup.log.isNamed(existing) else { throw .alreadyExists }
        }
        let commits = try backup.log.check()
        let missing = try backup.missing(commits, at: target, environment)
        if let missing, !accepts(missing) { throw .rolledBack }
        try backup.openEveryValue(report)
        let lock = WriterLock(target, clock: environment.clock, patience: environment.patience)
        try lock.holding { () throws(StorageError) in
            // The lock is not held while a person is asked; state seen meanwhile has not been accepted.
            guard try backup.missing(commits, at: target, environment) == missing else { throw .rolledBack }
            target.removeLeftovers()
            let past = AnchorFiles(of: target, environment)?.found() ?? []
            var next = try backup.nextHeader(above: past.map(\.anchor))
            // A file that another process has open may be ahead of this device's record.
            if let old = try? backup.sibling(in: target) {
                next.generation = max(next.generation, old.header.generation + 1)
                next.baseSequence = max(next.baseSequence, old.sequence)
            }
            try backup.write(next, in: target).finish(
                at: target, replacing: replacing, anchoredBy: backup.keys, environment)
        }
        return backup.itemCount
    }

    /// The state that this device has seen of a vault at a place and this one lacks; `nil` if none.
    ///
    /// - Parameter commits: all commits of this file, preceded by its initial state.
    private func missing(
        _ commits: [Commit], at target: VaultLocation, _ environment: VaultEnvironment
    ) throws(StorageError) -> MissingState? {
        // In a backup without later writes, everything earlier is a single transaction.
        let newest = commits.count <= 2 ? commits[0].position.sequence : tip.position.sequence
        let anchors = AnchorFiles(of: target, environment)?.found() ?? []
        return try MissingState.of(anchors, vaultID: header.vaultID, keys, newest: newest) {
            (found) throws(StorageError) in
            try self.succession()?.passes(found) == true
        } isPassed: {
            $0.isPassed(by: commits, generation: self.header.generation)
        }
    }

    /// Everything live but some of it, as one transaction of a new file that is read back and not named yet.
    private func write(
        _ header: Header, without purged: Purge = Purge(), in target: VaultLocation
    ) throws(StorageError) -> NewFile {
        var rewriter = try makeRewriter(header, in: target)
        var purged = purged
        purged.items.formUnion(OwnRecord.ofDevice.flatMap { ownRecords(of: $0) }.map(\.id))
        try rewriter.copy(without: purged)
        return try rewriter.finish()
    }

    /// The vault at another place, opened with the keys of this one while its writers are excluded.
    private func sibling(in target: VaultLocation) throws(StorageError) -> VaultStore {
        var environment = environment
        environment.remembersStates = false
        environment.patience = .zero
        let copied = try secured(keys.lockedCopy())
        let page = try HeaderPage(of: try target.open(writable: false))
        guard page.header.vaultID == header.vaultID else { throw .rekeyed }
        return try VaultStore(target, page: page, keys: copied, environment: environment)
    }

    private func openEveryValue(_ report: (Double) -> Void) throws(StorageError) {
        for place in 0..<records.end {
            if place % 64 == 0 { report(Double(place) / Double(records.end)) }
            if let operation = records[place], try !isForeign(operation) { _ = try openValue(of: operation) }
        }
        for operation in records.past.values.joined() where try !isForeign(operation) {
            _ = try openValue(of: operation)
        }
    }

    /// The number of items as users count them: without the vault's own records and those of deleted items.
    private var itemCount: Int {
        var count = 0
        records.forEach { _, itemClass, attributes in
            if itemClass != nil, !EncodedAttributes.isTombstone(attributes) { count += 1 }
        }
        return count
    }
}

extension NewFile {
    /// Makes the file durable under its name and removes anchors of another file at the path.
    ///
    /// - Parameters:
    ///   - keys: those of the new file.
    ///   - environment: of the target.
    consuming func finish(
        at target: VaultLocation, replacing: Bool, anchoredBy keys: borrowing VaultKeys, _ environment: VaultEnvironment
    ) throws(StorageError) {
        let anchors = AnchorFiles(of: target, environment)
        let (header, position) = (page.header, tip.position)
        // Done first: in between, an anchor that the new file cannot satisfy would make it seem another vault. An
        // anchor that it satisfies stays, for protection.
        let isOwn =
            anchors?.found().allSatisfy { $0.anchor.vaultID == header.vaultID && $0.isSigned(by: keys.anchor) } ?? true
        if !isOwn {
            // The slow step, which can fail, comes before any anchor is removed.
            try attempt(.synchronize, file.synchronize())
            try attempt(.remove, anchors?.removeAll())
        }
        try finish(replacing: replacing)
        guard let anchors, let _ = try? anchors.removeAll() else { return }
        for name in anchors.names {
            let anchor = Anchor(
                of: header.vaultID, generation: header.generation, at: position, resolvedName: anchors.resolved)
            try? anchors.replace(name, with: anchor, keys: keys, environment.random)
        }
    }
}
