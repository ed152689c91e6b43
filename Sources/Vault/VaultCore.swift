// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

/// One open vault, shared by all who look at it: the mutex, and the queue in which changes of several threads meet.
///
/// One thread at a time leads: it carries out what waits in the queue, its own change and those of others, makes all of it durable with one
/// sync, and hands the lead to the first that came meanwhile. Everything below is only touched with the mutex held, which is what makes it
/// sendable.
final class VaultCore: @unchecked Sendable {
    private let engine: ItemEngine
    private let mutex = Mutex(())
    /// The thread that has the mutex; 0: none. A thread that finds itself here is inside a transaction.
    private let holder = Atomic<UInt>(0)
    private var isClosed = false
    private let queue = Mutex<Queue>(Queue())
    private var lastChange = Duration.zero
    private var isSettling = false
    /// One compaction at a time. Whoever waits for it holds no lock, and who runs one takes the mutex for its beginning and its end alone.
    /// It begins at 0, since Dispatch ends a process that lets go of one below where it began: a child may, that was forked meanwhile.
    private let compaction = DispatchSemaphore(value: 0)
    private var isCompactionDue = false

    init(_ store: VaultStore) {
        engine = ItemEngine(store)
        compaction.signal()
    }

    deinit {
        // One that is under way may have ended on this very thread: it is not waited for.
        guard !engine.store.isForked, compaction.wait(timeout: .now()) == .success else {
            settle(patience: nil)
            return
        }
        if engine.store.isWorthCompacting(isLeaving: true) { try? engine.store.compact() }
        compaction.signal()
        settle(patience: nil)
    }

    private struct Queue {
        /// The first one's thread leads.
        var waiting: [Change] = []
        var isLed = false
        /// How many threads were at it when the last changes became durable, and how long the next leader waits for as many.
        var expected = 1
        var patience = Duration.zero
        var isGathering = false
    }

    /// A change that waits; its thread waits with it. What becomes of it is written under the queue's lock.
    private final class Change: @unchecked Sendable {
        /// Nil once it was carried out: the closure must not outlive the call that made it. A thread that wakes before that leads.
        var run: ((ItemEngine, inout WriteSession) throws(VaultError) -> Void)?
        var failure: StorageError?
        private let turn = DispatchSemaphore(value: 0)

        init(_ run: @escaping (ItemEngine, inout WriteSession) throws(VaultError) -> Void) { self.run = run }

        func wait() { turn.wait() }

        func wait(atMost patience: Duration) { _ = turn.wait(timeout: .now() + patience / .seconds(1)) }

        func wake() { turn.signal() }
    }

    private var isInside: Bool { holder.load(ordering: .relaxed) == pthread_self() }

    /// Takes the mutex. What only looks may do so inside a transaction as well.
    private func exclusively(_ body: () -> Void) {
        if isInside { return body() }
        mutex.withLock { _ in holding(body) }
    }

    private func holding(_ body: () -> Void) {
        holder.store(pthread_self(), ordering: .relaxed)
        defer { holder.store(0, ordering: .relaxed) }
        body()
    }

    private func checkOutside() throws(VaultError) { if isInside { throw .insideTransaction } }

    func read<R>(_ body: (ItemEngine) throws(VaultError) -> R) throws(VaultError) -> R {
        try checkOutside()
        var result: Result<R, VaultError> = .failure(.closed)
        exclusively {
            do throws(VaultError) {
                guard !isClosed else { return }
                try stored { () throws(StorageError) in try engine.store.refresh() }
                result = .success(try body(engine))
            } catch {
                result = .failure(error)
            }
        }
        return try result.get()
    }

    /// As ``read(_:)``, and inside a transaction too, which then is what is looked at.
    func lookAt<R>(_ body: (ItemEngine) throws(VaultError) -> R) throws(VaultError) -> R {
        isInside ? try body(engine) : try read(body)
    }

    /// As ``read(_:)``; nil when somebody is at the vault, for whom one would have to wait.
    func readAtOnce<R>(_ body: (ItemEngine) throws(VaultError) -> R) throws(VaultError) -> R? {
        try checkOutside()
        var result: Result<R, VaultError>?
        _ = mutex.withLockIfAvailable { _ in
            holding {
                do throws(VaultError) {
                    guard !isClosed else { throw .closed }
                    try stored { () throws(StorageError) in try engine.store.refresh() }
                    result = .success(try body(engine))
                } catch {
                    result = .failure(error)
                }
            }
        }
        return try result?.get()
    }

    func change<R>(_ body: (ItemEngine, inout WriteSession) throws(VaultError) -> R) throws(VaultError) -> R {
        try checkOutside()
        var result: Result<R, VaultError>?
        let failure = withoutActuallyEscaping(body) { body in
            let change = Change { (engine, session: inout WriteSession) throws(VaultError) in
                do throws(VaultError) { result = .success(try body(engine, &session)) } catch {
                    result = .failure(error)
                    throw error
                }
            }
            let (leads, gatherer) = queue.withLock { queue in
                queue.waiting.append(change)
                defer { queue.isLed = true }
                return (!queue.isLed, queue.isGathering && queue.waiting.count == queue.expected ? queue.waiting.first : nil)
            }
            gatherer?.wake()
            if !leads { change.wait() }
            if queue.withLock({ _ in change.run != nil }) { lead(change) }
            return change.failure
        }
        // First: what this change found may have been the work of another that was taken back with it.
        if let failure { throw VaultError(failure) }
        if case .failure(let error)? = result { throw error }
        guard let result else { throw .closed }
        return try result.get()
    }

    private func lead(_ own: Change) {
        gather(own)
        let batch = queue.withLock { queue in
            defer { queue.waiting = [] }
            return queue.waiting
        }
        let start = ContinuousClock.now
        exclusively { carryOut(batch) }
        let next = queue.withLock { queue in
            for change in batch { change.run = nil }
            queue.isLed = !queue.waiting.isEmpty
            queue.expected = batch.count + queue.waiting.count
            queue.patience = (ContinuousClock.now - start) / 4
            return queue.waiting.first
        }
        // First, so that the disk does not wait.
        next?.wake()
        for change in batch.dropFirst() { change.wake() }
    }

    /// Threads whose changes have just become durable are likely to be back with more: a little patience saves them, and all others, a sync.
    private func gather(_ own: Change) {
        let patience = queue.withLock { queue in
            queue.isGathering = queue.waiting.count < queue.expected
            return queue.isGathering ? queue.patience : nil
        }
        guard let patience else { return }
        own.wait(atMost: patience)
        queue.withLock { $0.isGathering = false }
    }

    private func carryOut(_ batch: [Change]) {
        guard !isClosed else { return }
        do throws(StorageError) {
            try engine.store.write { session in
                for change in batch {
                    // A change that fails takes itself back and leaves the others alone; its thread hears why.
                    do throws(VaultError) {
                        try session.transaction { (session: inout WriteSession) throws(VaultError) in try change.run?(engine, &session) }
                    } catch { continue }
                }
            }
            if engine.store.isWorthCompacting(isLeaving: false) { compactSoon() }
        } catch {
            for change in batch { change.failure = error }
        }
        settleSoon()
    }

    func manage<R>(_ body: (VaultStore) throws(StorageError) -> R) throws(VaultError) -> R {
        try checkOutside()
        var result: Result<R, StorageError>?
        exclusively {
            guard !isClosed else { return }
            do throws(StorageError) { result = .success(try body(engine.store)) } catch { result = .failure(error) }
        }
        guard let result else { throw .closed }
        do throws(StorageError) { return try result.get() } catch { throw VaultError(error) }
    }

    /// Writes the file anew without what `select` finds in its newest state.
    func purge(_ select: (ItemEngine) throws(VaultError) -> VaultStore.Purge) throws(VaultError) -> VaultStore.Purge {
        try checkOutside()
        var result: Result<VaultStore.Purge, VaultError> = .success(VaultStore.Purge())
        exclusively {
            do throws(VaultError) {
                guard !isClosed else { throw .closed }
                try stored { () throws(StorageError) in
                    try engine.store.purge {
                        do throws(VaultError) { result = .success(try select(engine)) } catch { result = .failure(error) }
                        return try? result.get()
                    }
                }
            } catch {
                result = .failure(error)
            }
        }
        return try result.get()
    }

    var vaultID: [UInt8] { looking { $0.header.vaultID } }

    var discardedBytes: Int { looking { $0.discardedBytes } }

    private func looking<R: Sendable>(_ body: (VaultStore) -> R) -> R {
        isInside ? body(engine.store) : mutex.withLock { _ in body(engine.store) }
    }

    // MARK: Compaction

    /// Writes the file anew without what is dead. Other threads go on reading and writing meanwhile, and then find the new file in its place.
    func compact() throws(VaultError) { try compact { _ in true } }

    /// - Parameter isWanted: asked with the mutex held, once no other compaction is under way.
    private func compact(if isWanted: (VaultStore) -> Bool) throws(VaultError) {
        // A child has the semaphore as it was when its parent forked, perhaps in the middle of a compaction.
        guard !engine.store.isForked else { throw VaultError(.forked) }
        compaction.wait()
        defer { compaction.signal() }
        var wanted: Compactor?
        try manage { store throws(StorageError) in if isWanted(store) { wanted = try store.makeCompactor() } }
        guard let compactor = wanted.take() else { return }
        var failure: StorageError?
        do throws(StorageError) { try compactor.compact() } catch { failure = error }
        exclusively { engine.store.rejoin(compactor, after: failure) }
        if let failure { throw VaultError(failure) }
    }

    /// Worth a try, and no reason for a change to fail: the next one comes at a later change.
    private func compactSoon() {
        guard !isCompactionDue else { return }
        // In a forked child Dispatch has no threads.
        guard ForkMark.process == 1 else {
            try? engine.store.compact()
            return
        }
        isCompactionDue = true
        DispatchQueue.global(qos: .utility).async { [weak self] in
            try? self?.compact { store in
                self?.isCompactionDue = false
                return store.isWorthCompacting(isLeaving: false)
            }
        }
    }

    // MARK: Idleness

    /// Wipes the keys at once, and then removes what they had opened and was replaced.
    func lock() throws(VaultError) {
        try manage { store throws(StorageError) in store.lockKeys() }
        try? compact { $0.isWorthCompacting(isLeaving: true) }
    }

    func unlock(with secret: UnlockingSecret, if isWanted: () -> Bool) throws(VaultError) {
        let locked = try manage { store throws(StorageError) in try store.lockedStore() }
        let keys: UnlockedKeys
        do throws(StorageError) { keys = try locked.unlock(with: secret) } catch { throw VaultError(error) }
        var unlocked: UnlockedKeys? = consume keys
        try manage { store throws(StorageError) in
            guard isWanted() else { throw .locked }
            // It is there: the body is called once.
            if let keys = unlocked.take() { try store.unlockKeys(keys) }
        }
    }

    var isLocked: Bool { looking { $0.isLocked } }

    func close() {
        // A transaction cannot end what it is a part of.
        guard !isInside else { return }
        try? compact { $0.isWorthCompacting(isLeaving: true) }
        exclusively {
            settle(patience: nil)
            isClosed = true
        }
    }

    /// As ``close()``, but waits neither for another thread nor for another writer, and for a compaction that is under way a second at most.
    func closeAtOnce() {
        guard !engine.store.isForked else { return }
        let isAlone = compaction.wait(timeout: .now() + 1) == .success
        _ = mutex.withLockIfAvailable { _ in
            engine.store.patience = .zero
            if isAlone, engine.store.isWorthCompacting(isLeaving: true) { try? engine.store.compact() }
            return settle(patience: .zero)
        }
        if isAlone { compaction.signal() }
    }

    /// Returns false when another writer was in the way of what is only done in passing.
    @discardableResult
    private func settle(patience: Duration?) -> Bool {
        guard !engine.store.isForked else { return true }
        do throws(StorageError) { try engine.store.settleMarks(patience: patience) } catch { return error != .busy }
        return true
    }

    /// After a second without a change both marks are brought up to date, so that any truncation of the file would show.
    private func settleSoon() {
        lastChange = engine.store.uptime
        // In a forked child Dispatch has no threads.
        guard !isSettling, ForkMark.process == 1 else { return }
        isSettling = true
        wait(.seconds(1))
    }

    private func wait(_ delay: DispatchTimeInterval) {
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay) { [weak self] in
            guard let self else { return }
            exclusively {
                let idle = self.engine.store.uptime - self.lastChange
                if idle < .seconds(1) {
                    self.wait(.milliseconds(1001 - Int(idle / .milliseconds(1))))
                } else if self.settle(patience: .zero) {
                    self.isSettling = false
                } else {
                    self.wait(.seconds(1))
                }
            }
        }
    }
}
