// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
internal import VaultCrypto
internal import VaultFormat

extension VaultStore {
    /// Writes what the vault holds now as another vault: whole or not at all, without what was deleted or replaced.
    ///
    /// Every byte of the source is checked and the copy read back before it gets its name. It is of the same
    /// generation, so that putting it in the vault's place without ``restore(_:to:replacing:environment:report:)``
    /// shows as a rollback.
    ///
    /// - Parameters:
    ///   - entries: who may open the copy; nil for all who may open the vault.
    ///   - replacing: whether a file at the path may be replaced.
    /// - Returns: how many items it holds.
    /// - Throws: `.alreadyExists`, with what is there untouched.
    public func backUp(to path: FilePath, entries: [SlotEntry]? = nil, replacing: Bool) throws(StorageError) -> Int {
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
            copy = try writeCopy(slots, in: target)
        } catch {
            guard case .damaged = error else { throw error }
            // A reader believes in damage when it is still there with all writers kept out.
            copy = try lock.keepingWritersOut { () throws(StorageError) in
                try reopen()
                return try writeCopy(slots, in: target)
            }
        }
        try copy.finish(at: target, replacing: replacing, anchoredBy: keys, environment)
        return itemCount
    }

    private func writeCopy(_ slots: [HeldSlot]?, in target: VaultLocation) throws(StorageError) -> NewFile {
        try log.check()
        var next = header
        next.fileSalt = environment.random.bytes(32)
        next.baseSequence = sequence
        if let slots { try next.set(slots) }
        return try write(next, in: target)
    }

    /// Puts a backup into the place of a vault, or where there is none.
    ///
    /// The backup is opened and every value of it, then written anew and read back; until then the old file stays where
    /// it is. A process that has the old one open goes on with the new one.
    ///
    /// - Parameters:
    ///   - replacing: whether a file at the path may be replaced.
    ///   - accepts: asked when the backup has not all that this device has seen of the vault at the path.
    ///   - report: hears how much is done, from 0 to 1.
    /// - Throws: `.alreadyExists`, `.rolledBack`, `.damaged`, with the old file in place.
    public static func restore(
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
            // Nobody is asked with the lock held; what was seen meanwhile has not been accepted.
            guard try backup.missing(commits, at: target, environment) == missing else { throw .rolledBack }
            target.removeLeftovers()
            let past = AnchorFiles(of: target, environment)?.found() ?? []
            var next = try backup.nextHeader(above: past.map(\.anchor))
            // What another process has open may be further than what this device wrote down.
            if let old = try? backup.sibling(in: target) {
                next.generation = max(next.generation, old.header.generation + 1)
                next.baseSequence = max(next.baseSequence, old.sequence)
            }
            try backup.write(next, in: target).finish(
                at: target, replacing: replacing, anchoredBy: backup.keys, environment)
        }
        return backup.itemCount
    }

    /// What this device has seen of a vault at a place, and this one does not have. Nil: nothing.
    ///
    /// - Parameter commits: those of this file, and before them the state that it began with.
    private func missing(
        _ commits: [Commit], at target: VaultLocation, _ environment: VaultEnvironment
    ) throws(StorageError) -> MissingState? {
        // Of a backup that nobody has written to since, all that came before it is one transaction.
        let newest = commits.count <= 2 ? commits[0].position.sequence : tip.position.sequence
        let anchors = AnchorFiles(of: target, environment)?.found() ?? []
        return try MissingState.of(anchors, vaultID: header.vaultID, keys, newest: newest) {
            (found) throws(StorageError) in
            try self.succession()?.passes(found) == true
        } isPassed: {
            $0.isPassed(by: commits, generation: self.header.generation)
        }
    }

    /// Everything that is alive as one transaction of a new file, read back, that has no name yet.
    private func write(_ header: Header, in target: VaultLocation) throws(StorageError) -> NewFile {
        var rewriter = try makeRewriter(header, in: target)
        let ofDevice = OwnRecord.ofDevice.flatMap { ownRecords(of: $0) }
        try rewriter.copy(without: Purge(items: Set(ofDevice.map(\.id))))
        return try rewriter.finish()
    }

    /// The vault at another place, opened with the keys of this one, while its writers are kept out.
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

    /// What people call an item: neither a tombstone nor the vault's settings.
    private var itemCount: Int {
        var count = 0
        records.forEach { _, itemClass, _ in if itemClass != nil { count += 1 } }
        return count
    }
}

extension NewFile {
    /// Makes the file durable under its name. What this device remembers under the name is of another file, and goes.
    ///
    /// - Parameters:
    ///   - keys: those of the new file.
    ///   - environment: of the target.
    consuming func finish(
        at target: VaultLocation, replacing: Bool, anchoredBy keys: borrowing VaultKeys, _ environment: VaultEnvironment
    ) throws(StorageError) {
        let anchors = AnchorFiles(of: target, environment)
        let (header, position) = (page.header, tip.position)
        // First: between the two an anchor that the new file cannot answer for would make it seem a stranger's. One
        // that it can keeps watch.
        let isOwn =
            anchors?.found().allSatisfy { $0.anchor.vaultID == header.vaultID && $0.isSigned(by: keys.anchor) } ?? true
        if !isOwn {
            // What can fail for long comes before anything is forgotten.
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
