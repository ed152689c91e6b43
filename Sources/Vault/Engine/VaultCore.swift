// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

/// An open vault, shared by all its users.
final class VaultCore: Sendable {
    private final class Opened {
        let engine: ItemEngine
        var isClosed = false
        var lastChange = Duration.zero
        /// Whether the marks are to be updated once no more changes arrive.
        var isSettling = false
        var isCompactionDue = false
        /// Set while there are readers of changes.
        var watch: DirectoryWatch?

        init(_ engine: ItemEngine) { self.engine = engine }

        var store: VaultStore { engine.records }

        func check() throws(VaultError) { if isClosed { throw .closed } }

        func refresh() throws(VaultError) {
            try check()
            try stored(store.refresh())
            tellChanges()
        }

        var feed: ChangeFeed { engine.observer.feed }

        /// Publishes changes to subscribers.
        func tellChanges() {
            guard feed.hasReaders else { return }
            feed.publish(store.sequence) { record in (try? store.isAbsentHere(record)) ?? false }
        }
    }

    private let opened: Guarded<Opened>
    private let process = ForkMark.process
    private let queue = CommitQueue<Change>()
    private let background: any Background
    /// Admits a single compaction at a time. A waiting thread holds no lock, and the running one holds the vault only
    /// at its beginning and end. The semaphore starts at 0, since Dispatch aborts a process that releases one below its
    /// initial value, as a child forked meanwhile might.
    private let compaction = DispatchSemaphore(value: 0)

    init(_ store: sending VaultStore) {
        background = store.background
        opened = Guarded(Opened(ItemEngine(store)))
        compaction.signal()
    }

    deinit {
        guard !isForked else { return }
        // A running compaction may have released the core on this very thread, so it is not waited for.
        let isAlone = compaction.wait(timeout: .now()) == .success
        opened.withLock { opened in
            if isAlone, opened.store.isWorthCompacting(isLeaving: true) { try? opened.store.compact() }
            _ = VaultCore.settle(opened.store, patience: nil)
        }
        if isAlone { compaction.signal() }
    }

    // MARK: Reading and changing

    /// A change that shares a commit with those of other threads.
    ///
    /// Unchecked: the leading thread has it while the thread that brought it waits.
    private final class Change: @unchecked Sendable {
        let body: (ItemEngine, inout WriteSession) throws(VaultError) -> Void
        /// Takes precedence: the change may have seen the work of another change that was rolled back with it.
        var failure: VaultError?

        init(_ body: @escaping (ItemEngine, inout WriteSession) throws(VaultError) -> Void) { self.body = body }
    }

    /// Whether this is a child of the process that opened the vault, in which a thread that holds a lock may not exist.
    private var isForked: Bool { process != ForkMark.process }

    private func checkOutside() throws(VaultError) { if opened.isHeldHere { throw .insideTransaction } }

    func read<R>(_ body: (ItemEngine) throws(VaultError) -> R) throws(VaultError) -> R {
        try checkOutside()
        return try opened.withLock { (opened) throws(VaultError) in try VaultCore.read(opened, body) }
    }

    /// As ``read(_:)``, but returns `nil` instead of waiting if another thread holds the vault.
    func readAtOnce<R>(_ body: (ItemEngine) throws(VaultError) -> R) throws(VaultError) -> R? {
        try checkOutside()
        return try opened.withLockIfAvailable { (opened) throws(VaultError) in try VaultCore.read(opened, body) }
    }

    /// As ``read(_:)``, and also inside a transaction, whose uncommitted state is then read.
    func lookAt<R>(_ body: (ItemEngine) throws(VaultError) -> R) throws(VaultError) -> R {
        guard opened.isHeldHere else { return try read(body) }
        return try opened.look { (opened) throws(VaultError) in try body(opened.engine) }
    }

    private static func read<R>(_ opened: Opened, _ body: (ItemEngine) throws(VaultError) -> R)
        throws(VaultError) -> R
    {
        try opened.refresh()
        return try body(opened.engine)
    }

    func change<R>(_ body: (ItemEngine, inout WriteSession) throws(VaultError) -> R) throws(VaultError) -> R {
        try checkOutside()
        var result: Result<R, VaultError> = .failure(.closed)
        let failure = withoutActuallyEscaping(body) { body in
            let change = Change { (engine, session: inout WriteSession) throws(VaultError) in
                do throws(VaultError) { result = .success(try body(engine, &session)) } catch {
                    result = .failure(error)
                    throw error
                }
            }
            queue.run(change) { batch in opened.withLock { carryOut(batch, in: $0) } }
            return change.failure
        }
        if let failure { throw failure }
        return try result.get()
    }

    /// As the other `change`, for a task.
    func change<R: Sendable>(
        _ body: @escaping @Sendable (ItemEngine, inout WriteSession) throws(VaultError) -> R
    ) async throws(VaultError) -> R {
        let outcome = Outcome<R>()
        let change = Change { (engine, session: inout WriteSession) throws(VaultError) in
            try outcome.carryOut { () throws(VaultError) in try body(engine, &session) }
        }
        await outcome.whenDone { done in
            queue.run(
                change, on: .leaders, carryOut: { batch in self.opened.withLock { self.carryOut(batch, in: $0) } },
                then: done)
        }
        if let failure = change.failure { throw failure }
        return try outcome.get()
    }

    private func carryOut(_ batch: [Change], in opened: Opened) {
        guard !opened.isClosed else {
            for change in batch { change.failure = .closed }
            return
        }
        let (engine, store) = (opened.engine, opened.store)
        do throws(StorageError) {
            try store.write { session in
                for change in batch {
                    // A change that fails rolls itself back and leaves the others alone; its thread gets the error.
                    do throws(VaultError) {
                        try session.transaction { (session: inout WriteSession) throws(VaultError) in
                            try change.body(engine, &session)
                        }
                    } catch { continue }
                }
            }
            if store.isWorthCompacting(isLeaving: false) { compactSoon(opened) }
        } catch { for change in batch { change.failure = VaultError(error) } }
        opened.tellChanges()
        settleSoon(opened)
    }

    func manage<R>(_ body: (VaultStore) throws(StorageError) -> R) throws(VaultError) -> R {
        try checkOutside()
        return try opened.withLock { (opened) throws(VaultError) in
            try opened.check()
            defer { opened.tellChanges() }
            return try stored(body(opened.store))
        }
    }

    /// Rewrites the file without the items that `select` finds in its newest state.
    func purge(_ select: (ItemEngine) throws(VaultError) -> VaultStore.Purge) throws(VaultError)
        -> VaultStore.Purge
    {
        try checkOutside()
        return try opened.withLock { (opened) throws(VaultError) in
            try opened.check()
            defer { opened.tellChanges() }
            var selected: Result<VaultStore.Purge, VaultError> = .success(VaultStore.Purge())
            do throws(StorageError) {
                try opened.store.purge {
                    do throws(VaultError) { selected = .success(try select(opened.engine)) } catch {
                        selected = .failure(error)
                    }
                    return try? selected.get()
                }
            } catch { throw VaultError(error) }
            return try selected.get()
        }
    }

    var vaultID: [UInt8] { opened.look { $0.store.header.vaultID } }

    var discardedBytes: Int { opened.look { $0.store.discardedBytes } }

    var isLocked: Bool { opened.look { $0.store.isLocked } }

    // MARK: Locking

    /// Wipes the keys at once, then removes expired items and replaced values from the file.
    func lock() throws(VaultError) {
        try manage { store throws(StorageError) in store.lockKeys() }
        tell(.locked)
        removeExpired()
        try? compact { $0.store.isWorthCompacting(isLeaving: true) }
    }

    func unlock(with secret: UnlockingSecret, if isWanted: () -> Bool) throws(VaultError) {
        let locked = try manage { store throws(StorageError) in try store.lockedStore() }
        let keys = try stored(locked.unlock(with: secret))
        var unlocked: UnlockedKeys? = consume keys
        try manage { store throws(StorageError) in
            guard isWanted() else { throw .locked }
            // Always present: the body is called once.
            if let keys = unlocked.take() { try store.unlockKeys(keys) }
        }
        tell(.unlocked)
    }

    /// Derives keys and wipes them again.
    func check(_ secret: UnlockingSecret) throws(VaultError) {
        let locked = try manage { store throws(StorageError) in try store.lockedStore() }
        let keys = try stored(locked.unlock(with: secret))
        var derived: UnlockedKeys? = consume keys
        try manage { store throws(StorageError) in
            // Always present: the body is called once.
            if let keys = derived.take() { try store.checkKeys(keys) }
        }
    }

    func close() {
        // A transaction cannot close its own vault.
        guard !opened.isHeldHere else { return }
        removeExpired()
        try? compact { $0.store.isWorthCompacting(isLeaving: true) }
        opened.withLock { opened in
            _ = VaultCore.settle(opened.store, patience: nil)
            opened.isClosed = true
            opened.feed.end(opened.store.sequence)
            opened.watch = nil
        }
    }

    /// As ``close()``, but waits neither for another thread nor for another writer, and at most a second for a running
    /// compaction.
    func closeAtOnce() {
        guard !opened.isHeldHere, !isForked else { return }
        let isAlone = compaction.wait(timeout: .now() + 1) == .success
        _ = opened.withLockIfAvailable { opened in
            opened.store.patience = .zero
            if isAlone, opened.store.isWorthCompacting(isLeaving: true) { try? opened.store.compact() }
            _ = VaultCore.settle(opened.store, patience: .zero)
        }
        if isAlone { compaction.signal() }
    }

    // MARK: Changes

    /// - Parameter sequence: the commit that the reader knows; `nil` for the newest.
    func subscribe(
        _ buffer: ChangeBuffer, _ queries: [ParsedQuery], from sequence: UInt64?
    ) throws(VaultError) -> UInt64 {
        try opened.look { (opened) throws(VaultError) in
            try opened.check()
            if opened.watch == nil {
                // The watch starts before the read, so that later changes are noticed. A directory that cannot be
                // watched is read whenever this process calls the vault.
                opened.watch = opened.store.watch { [weak self] in self?.lookAgain() }
            }
            do throws(VaultError) { if !opened.store.isWriting { try opened.refresh() } } catch {
                if !opened.feed.hasReaders { opened.watch = nil }
                throw error
            }
            if let sequence, sequence < opened.store.sequence {
                buffer.offer(ItemChange(.many, sequence: opened.store.sequence))
            }
            return opened.feed.add(buffer, queries)
        }
    }

    func unsubscribe(_ reader: UInt64) {
        opened.look { opened in
            opened.feed.remove(reader)
            if !opened.feed.hasReaders { opened.watch = nil }
        }
    }

    var hasReaders: Bool { opened.look { $0.feed.hasReaders } }

    /// Called when something changed in the vault's directory.
    private func lookAgain() {
        guard !isForked else { return }
        opened.withLock { opened in
            guard opened.feed.hasReaders, !opened.isClosed else { return }
            do throws(VaultError) { try opened.refresh() } catch {
                guard opened.feed.fail(error, opened.store.sequence) else { return }
                // The failure may be temporary, with no event to announce its end.
                background.run(after: .seconds(1)) { [weak self] in self?.lookAgain() }
            }
        }
    }

    private func tell(_ kind: ItemChange.Kind) { opened.withLock { $0.feed.publish(kind, $0.store.sequence) } }

    // MARK: Compaction

    /// Rewrites the file without dead data. Other threads continue to read and write meanwhile, and then find the new
    /// file in place.
    func compact() throws(VaultError) { try compact { _ in true } }

    /// - Parameter isWanted: called while the vault is held and no other compaction is running.
    private func compact(if isWanted: (Opened) -> Bool) throws(VaultError) {
        try checkOutside()
        // A child inherits the semaphore's state at the fork, perhaps in the middle of a compaction.
        guard !isForked else { throw VaultError(.forked) }
        compaction.wait()
        defer { compaction.signal() }
        var wanted: Compactor?
        try opened.withLock { (opened) throws(VaultError) in
            try opened.check()
            guard isWanted(opened) else { return }
            wanted = try stored(opened.store.makeCompactor())
        }
        guard let compactor = wanted.take() else { return }
        var failure: StorageError?
        do throws(StorageError) { try compactor.compact() } catch { failure = error }
        opened.withLock { opened in
            opened.store.rejoin(compactor, after: failure)
            opened.tellChanges()
        }
        if let failure { throw VaultError(failure) }
    }

    /// Tries a compaction; a failure does not fail the change, and a later change tries again.
    private func compactSoon(_ opened: Opened) {
        guard !opened.isCompactionDue else { return }
        // Dispatch has no threads in a forked child.
        guard ForkMark.process == 1 else {
            try? opened.store.compact()
            return
        }
        opened.isCompactionDue = true
        background.run(after: .zero) { [weak self] in
            try? self?.compact { opened in
                opened.isCompactionDue = false
                return opened.store.isWorthCompacting(isLeaving: false)
            }
        }
    }

    // MARK: Idleness

    /// Updates the marks. Returns `false` if another writer was busy, since this is only optional work.
    private static func settle(_ store: VaultStore, patience: Duration?) -> Bool {
        guard !store.isForked else { return true }
        do throws(StorageError) { try store.settleMarks(patience: patience) } catch { return error != .busy }
        return true
    }

    /// Updates both marks after a second without a change, so that any truncation of the file is detected.
    private func settleSoon(_ opened: Opened) {
        opened.lastChange = opened.store.uptime
        // Dispatch has no threads in a forked child.
        guard !opened.isSettling, ForkMark.process == 1 else { return }
        opened.isSettling = true
        settle(in: .seconds(1))
    }

    private func settle(in delay: Duration) {
        background.run(after: delay) { [weak self] in
            guard let self else { return }
            self.opened.withLock { opened in
                let idle = opened.store.uptime - opened.lastChange
                if idle < .seconds(1) {
                    self.settle(in: .milliseconds(1001) - idle)
                } else if VaultCore.settle(opened.store, patience: .zero) {
                    opened.isSettling = false
                } else {
                    self.settle(in: .seconds(1))
                }
            }
        }
    }
}
