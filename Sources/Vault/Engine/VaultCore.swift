// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

/// One open vault, shared by all who look at it.
final class VaultCore: Sendable {
    private final class Opened {
        let engine: ItemEngine<VaultStore>
        var isClosed = false
        var lastChange = Duration.zero
        /// Whether the marks are brought up to date once nobody changes anything any more.
        var isSettling = false
        var isCompactionDue = false
        /// While there are readers of changes.
        var watch: DirectoryWatch?

        init(_ engine: ItemEngine<VaultStore>) { self.engine = engine }

        var store: VaultStore { engine.records }

        func check() throws(VaultError) { if isClosed { throw .closed } }

        func refresh() throws(VaultError) {
            try check()
            try stored(store.refresh())
            tellChanges()
        }

        var feed: ChangeFeed { engine.observer.feed }

        /// Tells those who asked for it what has changed.
        func tellChanges() {
            guard feed.hasReaders else { return }
            feed.publish(store.sequence) { record in (try? store.isAbsentHere(record)) ?? false }
        }
    }

    private let opened: Guarded<Opened>
    private let process = ForkMark.process
    private let queue = CommitQueue<Change>()
    private let background: any Background
    /// One compaction at a time. A thread that waits for it holds no lock, and the one that runs it takes the vault for
    /// its beginning and its end alone. It begins at 0, since Dispatch ends a process that lets go of one below where
    /// it began: a child may, that was forked meanwhile.
    private let compaction = DispatchSemaphore(value: 0)

    init(_ store: sending VaultStore) {
        background = store.background
        opened = Guarded(Opened(ItemEngine(store)))
        compaction.signal()
    }

    deinit {
        guard !isForked else { return }
        // One that is under way may have ended on this very thread: it is not waited for.
        let isAlone = compaction.wait(timeout: .now()) == .success
        opened.withLock { opened in
            if isAlone, opened.store.isWorthCompacting(isLeaving: true) { try? opened.store.compact() }
            _ = VaultCore.settle(opened.store, patience: nil)
        }
        if isAlone { compaction.signal() }
    }

    // MARK: Reading and changing

    /// What several threads bring to one commit.
    ///
    /// Unchecked: the thread that leads has it while the one that brought it waits.
    private final class Change: @unchecked Sendable {
        let body: (ItemEngine<VaultStore>, inout WriteSession) throws(VaultError) -> Void
        /// First: what the change found may have been the work of another that was taken back with it.
        var failure: VaultError?

        init(_ body: @escaping (ItemEngine<VaultStore>, inout WriteSession) throws(VaultError) -> Void) {
            self.body = body
        }
    }

    /// Whether this is a child of the process that opened the vault, in which a thread that holds something may not be
    /// there.
    private var isForked: Bool { process != ForkMark.process }

    private func checkOutside() throws(VaultError) { if opened.isHeldHere { throw .insideTransaction } }

    func read<R>(_ body: (ItemEngine<VaultStore>) throws(VaultError) -> R) throws(VaultError) -> R {
        try checkOutside()
        return try opened.withLock { (opened) throws(VaultError) in try VaultCore.read(opened, body) }
    }

    /// As ``read(_:)``; nil when another thread has the vault, and would have to be waited for.
    func readAtOnce<R>(_ body: (ItemEngine<VaultStore>) throws(VaultError) -> R) throws(VaultError) -> R? {
        try checkOutside()
        return try opened.withLockIfAvailable { (opened) throws(VaultError) in try VaultCore.read(opened, body) }
    }

    /// As ``read(_:)``, and inside a transaction too, which then is what is looked at.
    func lookAt<R>(_ body: (ItemEngine<VaultStore>) throws(VaultError) -> R) throws(VaultError) -> R {
        guard opened.isHeldHere else { return try read(body) }
        return try opened.look { (opened) throws(VaultError) in try body(opened.engine) }
    }

    private static func read<R>(_ opened: Opened, _ body: (ItemEngine<VaultStore>) throws(VaultError) -> R)
        throws(VaultError) -> R
    {
        try opened.refresh()
        return try body(opened.engine)
    }

    func change<R>(_ body: (ItemEngine<VaultStore>, inout WriteSession) throws(VaultError) -> R) throws(VaultError) -> R
    {
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
        _ body: @escaping @Sendable (ItemEngine<VaultStore>, inout WriteSession) throws(VaultError) -> R
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
                    // A change that fails takes itself back and leaves the others alone; its thread hears why.
                    do throws(VaultError) {
                        try session.transaction { (session: inout WriteSession) throws(VaultError) in
                            try change.body(engine, &session)
                        }
                    } catch { continue }
                }
            }
            if store.isWorthCompacting(isLeaving: false) { compactSoon(opened) }
        } catch {
            for change in batch { change.failure = VaultError(error) }
        }
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

    /// Writes the file anew without what `select` finds in its newest state.
    func purge(_ select: (ItemEngine<VaultStore>) throws(VaultError) -> VaultStore.Purge) throws(VaultError)
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

    /// Wipes the keys at once, and then removes what they had opened and was replaced.
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
            // It is there: the body is called once.
            if let keys = unlocked.take() { try store.unlockKeys(keys) }
        }
        tell(.unlocked)
    }

    /// Derives keys, and wipes them again.
    func check(_ secret: UnlockingSecret) throws(VaultError) {
        let locked = try manage { store throws(StorageError) in try store.lockedStore() }
        let keys = try stored(locked.unlock(with: secret))
        var derived: UnlockedKeys? = consume keys
        try manage { store throws(StorageError) in
            // It is there: the body is called once.
            if let keys = derived.take() { try store.checkKeys(keys) }
        }
    }

    func close() {
        // A transaction cannot end what it is a part of.
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

    /// As ``close()``, but waits neither for another thread nor for another writer, and for a compaction that is under
    /// way a second at most.
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

    /// - Parameter sequence: the commit that the reader knows; nil: the newest.
    func subscribe(
        _ buffer: ChangeBuffer, _ queries: [ParsedQuery], from sequence: UInt64?
    ) throws(VaultError) -> UInt64 {
        try opened.look { (opened) throws(VaultError) in
            try opened.check()
            if opened.watch == nil {
                // Before the look: what comes behind it is hinted at. A directory that cannot be watched is looked at
                // whenever this process does something.
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

    /// Something happened in the vault's directory.
    private func lookAgain() {
        guard !isForked else { return }
        opened.withLock { opened in
            guard opened.feed.hasReaders, !opened.isClosed else { return }
            do throws(VaultError) { try opened.refresh() } catch {
                guard opened.feed.fail(error, opened.store.sequence) else { return }
                // It may have been for a moment, after which nothing happens that would be a hint.
                background.run(after: .seconds(1)) { [weak self] in self?.lookAgain() }
            }
        }
    }

    private func tell(_ kind: ItemChange.Kind) {
        opened.withLock { $0.feed.publish(kind, $0.store.sequence) }
    }

    // MARK: Compaction

    /// Writes the file anew without what is dead. Other threads go on reading and writing meanwhile, and then find the
    /// new file in its place.
    func compact() throws(VaultError) { try compact { _ in true } }

    /// - Parameter isWanted: asked with the vault held, once no other compaction is under way.
    private func compact(if isWanted: (Opened) -> Bool) throws(VaultError) {
        try checkOutside()
        // A child has the semaphore as it was when its parent forked, perhaps in the middle of a compaction.
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

    /// Worth a try, and no reason for a change to fail: the next one comes at a later change.
    private func compactSoon(_ opened: Opened) {
        guard !opened.isCompactionDue else { return }
        // In a forked child Dispatch has no threads.
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

    /// Returns false when another writer was in the way of what is only done in passing.
    private static func settle(_ store: VaultStore, patience: Duration?) -> Bool {
        guard !store.isForked else { return true }
        do throws(StorageError) { try store.settleMarks(patience: patience) } catch { return error != .busy }
        return true
    }

    /// After a second without a change both marks are brought up to date, so that any truncation of the file would
    /// show.
    private func settleSoon(_ opened: Opened) {
        opened.lastChange = opened.store.uptime
        // In a forked child Dispatch has no threads.
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
