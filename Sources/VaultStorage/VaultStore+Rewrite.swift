// SPDX-License-Identifier: Apache-2.0
public import SystemPackage
public import VaultCrypto
internal import VaultFormat

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
            try rewrite(slots: header.slots)
        } catch {
            failedCompactionSize = sizeSeen
            throw error
        }
    }

    /// Replaces the slot of a passphrase by one for another; no value is opened.
    ///
    /// - Parameters:
    ///   - current: opens the slot that is replaced.
    ///   - cost: nil keeps the slot's own, or ``KeyDerivationCost/moderate`` where that is below what a new vault may have.
    public func changePassphrase(
        from current: Passphrase, to new: Passphrase, cost: KeyDerivationCost?
    ) throws(StorageError) {
        try check()
        try checkWritable()
        // The derivations take long, and the lock is never held over one.
        let before = header.slots
        if let cost { try environment.checkMemory(for: cost.memoryBytes) }
        var replaced: Int?
        var vaultKey: SecretBytes?
        for (index, slot) in before.enumerated() where slot.kind == .passphrase && vaultKey == nil {
            if case .argon2id(_, let memoryBytes) = slot.stretching { try environment.checkMemory(for: memoryBytes) }
            vaultKey = try slot.open(current.secret.bytes, vaultID: header.vaultID)
            if vaultKey != nil { replaced = index }
        }
        guard let replaced, let key = vaultKey.take() else { throw .wrongPassphrase }
        let fresh: KeySlot
        do throws(CryptoError) {
            fresh = try KeySlot.sealing(
                key, for: .passphrase(new), cost: cost ?? before[replaced].cost ?? .moderate, vaultID: header.vaultID,
                name: before[replaced].name,
                random: environment.random)
        } catch {
            throw StorageError(error)
        }
        try lock.lock()
        defer { lock.unlock() }
        try catchUp(repairing: false)
        // Another process may have changed the slots meanwhile; its passphrase is then no longer this one.
        guard let index = header.slots.firstIndex(of: before[replaced]) else { throw .wrongPassphrase }
        var slots = header.slots
        slots[index] = fresh
        try rewrite(slots: slots)
    }

    /// Compacts if the file holds more that is dead than alive, or too many frames, or the box of a secret that was replaced.
    ///
    /// - Parameter isLeaving: the vault is about to be closed or locked: superseded secrets go then.
    public func compactIfWorthwhile(isLeaving: Bool) throws(StorageError) {
        let dead = sizeSeen - Layout.firstFrame - records.liveBytes
        let isMostlyDead = dead > 256 << 10 && dead * 2 > sizeSeen
        let hasManyFrames = tip.frames > frameThreshold && tip.frames * 2 > records.count
        let holdsSuperseded = isLeaving && records.hasSuperseded && sizeSeen < 4 << 20
        guard isWriter, isMostlyDead || hasManyFrames || holdsSuperseded else { return }
        guard isLeaving || sizeSeen > failedCompactionSize + failedCompactionSize / 2 else { return }
        frameThreshold = max(frameThreshold, tip.frames) * 2
        try compact()
    }

    // MARK: The rewrite

    /// With the lock held: the whole rewrite.
    func rewrite(slots: [KeySlot]) throws(StorageError) {
        location.removeLeftovers()
        do throws(StorageError) { try checkEverything() } catch {
            // What was read and never durable may have gone since: start over before it is called damage.
            try reopen()
            try checkEverything()
        }
        var copy = try makeCopy(slots: slots)
        do throws(StorageError) {
            try appendLive(to: &copy)
            try copy.finish()
            try place(copy.file, copy.name)
        } catch {
            discard(copy.name, after: error)
            throw error
        }
    }

    /// Copies up to a durable commit without the lock, and takes it for the rest alone.
    ///
    /// - Returns: false when another process replaced the file meanwhile; nothing changed then.
    private func compactBesideWriters() throws(StorageError) -> Bool {
        try catchUpLocked()
        let (snapshot, source) = (tip, identity)
        try checkEverything()
        var copy = try makeCopy(slots: header.slots)
        do throws(StorageError) {
            try appendLive(to: &copy)
            try copy.settle()
            try lock.lock()
            defer { lock.unlock() }
            try catchUp(repairing: true)
            guard identity.isSameFile(as: source) else {
                try? location.directory.remove(copy.name)
                return false
            }
            try appendFrames(after: snapshot, to: &copy)
            try copy.finish()
            location.removeLeftovers()
            try place(copy.file, copy.name)
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

    private func makeCopy(slots: [KeySlot]) throws(StorageError) -> RewriteCopy {
        var next = Header(
            vaultID: header.vaultID, generation: header.generation + 1, fileSalt: environment.random.bytes(32),
            baseSequence: tip.position.sequence, slots: slots)
        next.minor = header.minor
        next.optionalFeatures = header.optionalFeatures
        next.annex = header.annex
        return try RewriteCopy(
            header: next, root: keys.generationRoot, length: Layout.firstFrame + records.liveBytes + 4096, in: location,
            environment: environment)
    }

    private func discard(_ name: String, after error: StorageError) {
        if case .indeterminate = error { return }
        try? location.directory.remove(name)
    }

    private func appendLive(to copy: inout RewriteCopy) throws(StorageError) {
        var past = records.past.sorted { ($0.id, $0.version) < ($1.id, $1.version) }[...]
        for place in records.sortedPlaces {
            guard let operation = records[place] else { continue }
            // Older versions lie before the one that is current.
            while let older = past.first, older.id <= operation.id { try appendLive(past.removeFirst(), to: &copy) }
            try appendLive(operation, to: &copy)
        }
        for older in past { try appendLive(older, to: &copy) }
    }

    private func appendLive(_ operation: Operation, to copy: inout RewriteCopy) throws(StorageError) {
        try copy.append(operation, box: try box(of: operation))
    }

    /// Adds what was committed since, a frame for a frame: the sequence number may not fall behind the one that others have seen.
    private func appendFrames(after snapshot: Commit, to copy: inout RewriteCopy) throws(StorageError) {
        var reader = LogReader(file: file, size: tip.position.end, generation: header.generation)
        var frames: [FrameOperations] = []
        let collect = { (operations: FrameOperations, _: UInt64) throws(StorageError) in frames.append(operations) }
        _ = try reader.walk(from: snapshot, highest: tip.position, depth: .everything, keys: generationKeys, apply: collect)
        for operations in frames {
            try copy.endFrame()
            try operations.forEach { (operation) throws(StorageError) in
                try appendLive(Operation(checked: operation), to: &copy)
            }
        }
    }

    /// Every frame's values, and every box that will be copied: damage is never laundered.
    func checkEverything() throws(StorageError) {
        guard let highest = try readMarks().highest else { throw .damaged(.marks) }
        let genesis = LogPosition(sequence: header.baseSequence, end: Layout.firstFrame, tag: generationKeys.genesisTag(page.bytes.span))
        var reader = LogReader(file: file, size: tip.position.end, generation: header.generation)
        let start = Commit(position: genesis, tagOffset: 0, count: 0, frames: 0)
        let ignore = { (_: FrameOperations, _: UInt64) throws(StorageError) in }
        let commits = try reader.walk(
            from: start, highest: highest, through: tip.position.sequence, depth: .everything, keys: generationKeys, apply: ignore)
        guard (commits.last ?? start).position == tip.position else {
            throw .damaged(.missingCommits(found: (commits.last ?? start).position.sequence, expected: tip.position.sequence))
        }
    }

    /// Renames, makes the name durable, and goes on with the new file.
    private func place(_ copy: any VaultFile, _ temporaryName: String) throws(StorageError) {
        try attempt(.rename) { () throws(Errno) in
            try location.directory.place(copy, temporaryName: temporaryName, as: location.name, replacing: true)
        }
        hasCommitted = false
        do throws(Errno) { try location.directory.synchronize() } catch {
            isPoisoned = true
            throw .indeterminate(error)
        }
        failedCompactionSize = 0
        // The rewrite is done, whatever becomes of reading it again; the next call reads it in any case.
        do throws(StorageError) { try reopen() } catch {
            forgetFile()
            return
        }
        isNameDurable = true
        frameThreshold = max(VaultStore.leastFrameThreshold, tip.frames * 2)
    }

    // MARK: Creation

    /// Makes an empty vault where there is no file.
    ///
    /// - Parameter path: its directory is made, mode 0700, when it does not exist.
    /// - Throws: `.alreadyExists`, with what is there untouched.
    public static func create(
        at path: FilePath, unlockedBy secret: UnlockingSecret, cost: KeyDerivationCost, environment: VaultEnvironment
    ) throws(StorageError) -> VaultStore {
        let fileSystem = environment.fileSystem
        try createDirectory(of: path, on: fileSystem)
        let location = try VaultLocation(path, on: fileSystem)
        // A look before the derivation; the rename below decides.
        guard try attempt(.open, { () throws(Errno) in try location.directory.status(of: location.name) }) == nil else {
            throw .alreadyExists
        }
        let random = environment.random
        var header = Header(vaultID: random.bytes(16), generation: 1, fileSalt: random.bytes(32), baseSequence: 0, slots: [])
        if case .passphrase = secret { try environment.checkMemory(for: cost.memoryBytes) }
        let keys = try makeKeys(for: secret, cost: cost, header: &header, random: random)
        let generationKeys = try secured { () throws(CryptoError) in try GenerationKeys(root: keys.generationRoot, header: header) }
        let page = HeaderPage(sealing: header, keys: generationKeys)
        let genesis = LogPosition(sequence: 0, end: Layout.firstFrame, tag: generationKeys.genesisTag(page.bytes.span))
        var bytes = page.bytes
        for _ in Layout.markOffsets {
            bytes += Marks.encode(genesis, generation: 1, clean: true, keys: generationKeys)
            bytes.appendZeros(Layout.markAreaLength - CommitMark.length)
        }
        guard bytes.count <= fileSystem.fileSizeLimit else { throw .inputOutput(.fileTooLarge, .write) }
        let name = location.temporaryName(random)
        do throws(Errno) {
            let file = try location.directory.createTemporary(name)
            do throws(Errno) {
                try file.writeAll(bytes.span, at: 0)
                guard try file.read(bytes.count, at: 0) == bytes else { throw .ioError }
                // For a delete on a full disk; a disk that is that full already may do without.
                try? file.reserve(VaultStore.reserve, at: bytes.count)
                try file.synchronize()
                try location.directory.place(file, temporaryName: name, as: location.name, replacing: false)
            } catch {
                try? location.directory.remove(name)
                throw error
            }
        } catch {
            throw error == .fileExists ? .alreadyExists : .inputOutput(error, .write)
        }
        do throws(Errno) { try location.directory.synchronize() } catch { throw .indeterminate(error) }
        do throws(StorageError) {
            let store = try VaultStore(location, page: page, keys: keys, environment: environment)
            store.isNameDurable = true
            return store
        } catch {
            // The vault is made, and cannot be read.
            if case .inputOutput(let errno, _) = error { throw .indeterminate(errno) }
            throw error
        }
    }
}

extension VaultStore {
    /// Makes the directory that the vault will be in, also where the path is a symbolic link to nothing yet.
    private static func createDirectory(of path: FilePath, on fileSystem: any VaultFileSystem) throws(StorageError) {
        for _ in 0..<2 {
            let resolved = (try? fileSystem.resolve(path)) ?? path
            let directory = resolved.removingLastComponent()
            guard !directory.isEmpty else { return }
            try attempt(.createDirectory) { () throws(Errno) in try fileSystem.createDirectories(directory) }
        }
    }

    /// Draws the vault key and puts a slot for the secret into the header.
    private static func makeKeys(
        for secret: UnlockingSecret, cost: KeyDerivationCost, header: inout Header, random: any RandomSource
    ) throws(StorageError) -> VaultKeys {
        do throws(CryptoError) {
            let vaultKey = try random.secret(32)
            let name =
                switch secret {
                case .passphrase: "passphrase"
                case .keyFile: "key file"
                }
            header.slots = [
                try KeySlot.sealing(vaultKey, for: secret, cost: cost, vaultID: header.vaultID, name: name, random: random)
            ]
            return try VaultKeys(vaultKey: vaultKey, vaultID: header.vaultID)
        } catch {
            throw StorageError(error)
        }
    }

    /// What a verification looked at.
    public struct Verification: Equatable, Sendable {
        public var items = 0
        public var values = 0
        /// Values that were opened, and not only checked for changed bytes.
        public var opened = 0
        public var commits = 0
        /// Items that are sealed under another device's secret; their bytes are checked, but nobody can open them here.
        public var foreign = 0
        /// Bytes behind the last commit, of one that was never finished.
        public var unfinishedBytes = 0
        /// Of the two commit marks: 1 when a crash tore one, or somebody changed it. The next change makes it whole.
        public var invalidMarks = 0
    }

    /// Checks every byte of the file, and when `deep` opens every value.
    ///
    /// - Throws: the first damage found.
    public func verify(deep: Bool) throws(StorageError) -> Verification {
        try check()
        return try withWritersKeptOut { () throws(StorageError) in try verified(deep: deep) }
    }

    private func verified(deep: Bool) throws(StorageError) -> Verification {
        try reopen()
        try checkEverything()
        var result = Verification()
        result.commits = tip.count
        result.unfinishedBytes = sizeSeen - tip.position.end
        result.invalidMarks = try readMarks().found.count { $0 == nil }
        for place in 0..<records.end {
            guard let operation = records[place] else { continue }
            result.items += 1
            guard operation.value != nil else { continue }
            result.values += 1
            _ = try box(of: operation)
            if try isForeign(operation) { result.foreign += 1 } else if deep, try openValue(of: operation) != nil { result.opened += 1 }
        }
        return result
    }
}
