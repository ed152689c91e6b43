// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import VaultCrypto
internal import VaultStorage

/// One open vault, shared by all who look at it: the mutex, and the queue in which changes of several threads meet.
///
/// One thread at a time leads: it carries out what waits in the queue, its own change and those of others, makes all of it durable with one
/// sync, and hands the lead to the first that came meanwhile. Everything below is only touched with the mutex held, which is what makes it
/// sendable.
final class VaultCore: @unchecked Sendable {
    private let engine: ItemEngine
    private let mutex = Mutex(())
    private let queue = Mutex<Queue>(Queue())
    private var lastChange = Duration.zero
    private var isSettling = false
    /// Held over a whole compaction, which waits for no other lock of this vault while it works.
    private let compaction = Mutex(())
    private var isCompactionDue = false

    init(_ store: VaultStore) { engine = ItemEngine(store) }

    deinit { settle(isLeaving: true) }

    private struct Queue {
        var waiting: [Change] = []
        var isLed = false
    }

    /// A change that waits; its thread waits with it. What becomes of it is written under the queue's lock.
    private final class Change: @unchecked Sendable {
        /// Nil once it was carried out: the closure must not outlive the call that made it. A thread that wakes before that leads.
        var run: ((ItemEngine) throws(VaultError) -> Void)?
        var failure: StorageError?
        private let turn = DispatchSemaphore(value: 0)

        init(_ run: @escaping (ItemEngine) throws(VaultError) -> Void) { self.run = run }

        func wait() { turn.wait() }

        func wake() { turn.signal() }
    }

    func read<R>(_ body: (ItemEngine) throws(VaultError) -> R) throws(VaultError) -> R {
        var result: Result<R, VaultError> = .failure(.itemNotFound)
        mutex.withLock { _ in
            do throws(VaultError) {
                try stored { () throws(StorageError) in try engine.store.refresh() }
                result = .success(try body(engine))
            } catch {
                result = .failure(error)
            }
        }
        return try result.get()
    }

    func change<R>(_ body: (ItemEngine) throws(VaultError) -> R) throws(VaultError) -> R {
        var result: Result<R, VaultError>?
        let failure = withoutActuallyEscaping(body) { body in
            let change = Change { engine throws(VaultError) in
                do throws(VaultError) { result = .success(try body(engine)) } catch {
                    result = .failure(error)
                    throw error
                }
            }
            let leads = queue.withLock { queue in
                queue.waiting.append(change)
                defer { queue.isLed = true }
                return !queue.isLed
            }
            if !leads { change.wait() }
            if queue.withLock({ _ in change.run != nil }) { lead() }
            return change.failure
        }
        // First: what this change found may have been the work of another that was taken back with it.
        if let failure { throw VaultError(failure) }
        if case .failure(let error)? = result { throw error }
        guard let result else { throw .storage(.poisoned) }
        return try result.get()
    }

    private func lead() {
        let batch = queue.withLock { queue in
            defer { queue.waiting = [] }
            return queue.waiting
        }
        mutex.withLock { _ in carryOut(batch) }
        let next = queue.withLock { queue in
            for change in batch { change.run = nil }
            queue.isLed = !queue.waiting.isEmpty
            return queue.waiting.first
        }
        // First, so that the disk does not wait.
        next?.wake()
        for change in batch.dropFirst() { change.wake() }
    }

    private func carryOut(_ batch: [Change]) {
        do throws(StorageError) {
            try engine.store.write {
                for change in batch {
                    // A change that fails takes itself back and leaves the others alone; its thread hears why.
                    do throws(VaultError) {
                        try engine.store.transaction { () throws(VaultError) in try change.run?(engine) }
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
        var result: Result<R, StorageError> = .failure(.poisoned)
        mutex.withLock { _ in
            do throws(StorageError) { result = .success(try body(engine.store)) } catch { result = .failure(error) }
        }
        do throws(StorageError) { return try result.get() } catch { throw VaultError(error) }
    }

    var discardedBytes: Int { mutex.withLock { _ in engine.store.discardedBytes } }

    // MARK: Compaction

    /// Writes the file anew without what is dead. Other threads go on reading and writing meanwhile, and then find the new file in its place.
    func compact() throws(VaultError) {
        var result: Result<Void, VaultError> = .success(())
        compaction.withLock { _ in
            do throws(VaultError) { try compactBesideOthers() } catch { result = .failure(error) }
        }
        try result.get()
    }

    private func compactBesideOthers() throws(VaultError) {
        let rewriter = try manage { store throws(StorageError) in try store.makeRewriter() }
        do throws(StorageError) { try rewriter.compact() } catch {
            mutex.withLock { _ in engine.store.noteFailedCompaction() }
            throw VaultError(error)
        }
        // The rewrite is done, whatever this look finds: the next one says it again.
        try? manage { store throws(StorageError) in try store.refresh() }
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
        DispatchQueue.global(qos: .utility).async { [self] in
            try? compact()
            mutex.withLock { _ in isCompactionDue = false }
        }
    }

    // MARK: Idleness

    func close() {
        // One that is under way is not cut off by the end of the process.
        compaction.withLock { _ in }
        mutex.withLock { _ in _ = settle(isLeaving: true) }
    }

    /// As ``close()``, but waits for nobody: neither for another thread nor for another writer.
    func closeAtOnce() {
        guard !engine.store.isForked else { return }
        _ = mutex.withLockIfAvailable { _ in
            engine.store.patience = .zero
            settle(isLeaving: true)
        }
    }

    /// Returns false when another writer was in the way of what is only done in passing.
    @discardableResult
    private func settle(isLeaving: Bool) -> Bool {
        guard !engine.store.isForked else { return true }
        if isLeaving, engine.store.isWorthCompacting(isLeaving: true) { try? engine.store.compact() }
        do throws(StorageError) { try engine.store.settleMarks(patience: isLeaving ? nil : .zero) } catch { return error != .busy }
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
            mutex.withLock { _ in
                let idle = self.engine.store.uptime - self.lastChange
                if idle < .seconds(1) {
                    self.wait(.milliseconds(1001 - Int(idle / .milliseconds(1))))
                } else if self.settle(isLeaving: false) {
                    self.isSettling = false
                } else {
                    self.wait(.seconds(1))
                }
            }
        }
    }
}
