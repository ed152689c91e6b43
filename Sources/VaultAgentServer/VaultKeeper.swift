// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultStorage
internal import VaultSync

/// The vault of an agent, and when it is locked.
///
/// Every use looks at the limits first, so that nothing is served late; the timer only wipes what nobody asks for any
/// more.
final class VaultKeeper: Sendable {
    private struct State {
        /// Nil: it was never unlocked, or its keys are of no use any more.
        var vault: Vault?
        var isUnlocked = false
        /// How often it was locked: keys that were being derived meanwhile are not taken.
        var locks: UInt64 = 0
        /// How often it became locked or unlocked.
        var turns: UInt64 = 0
        var isClosed = false
        /// Whether what is being done is to be done quickly: the agent ends.
        var isEnding = false
        /// Whether entries of other devices wait for the next unlock.
        var hasFetched = false
        var unlockedAt = Duration.zero
        var lastUse = Duration.zero
        /// Wrong passphrases in a row, and when the next may be tried.
        var failures = 0
        /// As a client has set it for this unlock; nil: as the settings have it.
        var idleLimit: Duration?
        var notBefore = Duration.zero
    }

    let settings: AgentSettings
    /// Of the fleet's remotes, with the connections that are open.
    let engines: RemoteEngines
    private let state = Mutex(State())
    /// One derivation at a time: guessing is no faster with many connections.
    private let unlocking = Mutex(())
    /// Told before keys are derived.
    let willUnlock = Mutex<(@Sendable () -> Void)?>(nil)
    /// Told when the vault has become unlocked.
    let didUnlock = Mutex<(@Sendable () -> Void)?>(nil)
    /// Told of every lock, and whether it came by itself: no client has asked for it.
    let didLock = Mutex<(@Sendable (_ isByItself: Bool) -> Void)?>(nil)

    /// What syncs the vault unasked; nil: nothing does.
    let follower = Mutex<FleetFollower?>(nil)
    /// The looks at the remotes that were begun last.
    let checks = Mutex<RemoteChecks?>(nil)
    /// What the vault has asked owners for, and when. The newest such wish alone is waited with.
    let joining = Mutex<(wish: JoinWish, since: Duration)?>(nil)

    init(_ settings: AgentSettings) {
        (self.settings, engines) = (settings, settings.engines ?? .all(settings.environment))
    }

    var idleLimit: Duration { state.withLock { $0.idleLimit } ?? settings.idleLimit }

    func setIdleLimit(_ limit: Duration) { state.withLock { $0.idleLimit = limit } }

    // MARK: Use

    /// Runs a request on the vault, as a caller that belongs to the groups.
    func use<R>(_ groups: AccessGroups, _ body: (Vault) throws(VaultError) -> R) throws(VaultError) -> R {
        lockIfDue()
        return try useAtOnce(groups, body)
    }

    /// As ``use(_:_:)``, when it was looked whether it is time to lock.
    ///
    /// - Parameter counts: whether it keeps the vault open.
    func useAtOnce<R>(
        _ groups: AccessGroups, counts: Bool = true, _ body: (Vault) throws(VaultError) -> R
    ) throws(VaultError) -> R {
        if counts { state.withLock { $0.lastUse = settings.clock.now } }
        return try useUnasked(groups, body)
    }

    /// Runs what nobody has asked for, and what keeps no vault open.
    func useUnasked<R>(_ groups: AccessGroups, _ body: (Vault) throws(VaultError) -> R) throws(VaultError) -> R {
        guard let vault = state.withLock(\.vault) else { throw .locked }
        do throws(VaultError) { return try body(vault.withAccessGroups(groups)) } catch {
            guard error.makesKeysUseless else { throw error }
            settings.report("the vault has to be unlocked again: \(error)")
            let isDropped = state.withLock { state in
                guard state.vault === vault else { return false }
                (state.vault, state.isUnlocked) = (nil, false)
                return true
            }
            // Another thread that has the handle has no keys with it.
            if isDropped { try? vault.lock() }
            throw error == .storage(.rekeyed) ? .locked : error
        }
    }

    // MARK: Locking

    /// - Throws: `.storage(.wrongPassphrase)` and what opening a vault throws. A wrong passphrase makes the next
    ///   attempt wait.
    func unlock(with secret: UnlockingSecret) throws(VaultError) {
        willUnlock.withLock { $0 }?()
        try attempt { () throws(VaultError) in try takeKeys(with: secret) }
        didUnlock.withLock { $0 }?()
    }

    /// Whether a secret opens the vault, which stays as it is.
    ///
    /// - Throws: as ``unlock(with:)``, and as slowly.
    func check(_ secret: UnlockingSecret) throws(VaultError) {
        try attempt { () throws(VaultError) in
            guard let vault = state.withLock(\.vault) else { throw .locked }
            try vault.check(secret)
            state.withLock { $0.failures = 0 }
        }
    }

    private func attempt(_ body: () throws(VaultError) -> Void) throws(VaultError) {
        var result: Result<Void, VaultError> = .success(())
        unlocking.withLock { _ in
            let wait = state.withLock { $0.notBefore } - settings.clock.now
            if wait > .zero { settings.clock.sleep(for: wait) }
            do throws(VaultError) { try attemptAtOnce(body) } catch { result = .failure(error) }
        }
        try result.get()
    }

    private func attemptAtOnce(_ body: () throws(VaultError) -> Void) throws(VaultError) {
        do throws(VaultError) {
            try body()
        } catch {
            if error == .storage(.wrongPassphrase) {
                state.withLock { state in
                    state.failures += 1
                    state.notBefore = settings.clock.now + min(.milliseconds(100) * state.failures, .seconds(10))
                }
            }
            throw error
        }
    }

    /// Derives the keys, and takes them unless it was locked meanwhile.
    private func takeKeys(with secret: UnlockingSecret) throws(VaultError) {
        let (vault, locks) = state.withLock { ($0.vault, $0.locks) }
        if let vault {
            do throws(VaultError) {
                return try vault.unlock(with: secret) { self.begin(vault, unless: locks) }
            } catch {
                guard error.makesKeysUseless else { throw error }
                state.withLock { if $0.vault === vault { $0.isUnlocked = false } }
            }
        }
        let locked = try settings.lockedVault()
        let opened = try locked.unlock(with: secret, accessGroups: ["*"])
        guard begin(opened, unless: locks) else {
            try? opened.lock()
            throw .locked
        }
        try? vault?.lock()
    }

    /// Returns false when the vault was locked since `locks` were counted, or the agent ends.
    private func begin(_ vault: Vault, unless locks: UInt64) -> Bool {
        state.withLock { state in
            guard state.locks == locks, !state.isClosed else { return false }
            state.vault = vault
            state.turns += state.isUnlocked ? 0 : 1
            state.isUnlocked = true
            state.unlockedAt = settings.clock.now
            state.lastUse = state.unlockedAt
            state.failures = 0
            return true
        }
    }

    /// Returns when the keys are wiped. The next unlock finds the vault as it is.
    func lock(isByItself: Bool = false) {
        let (vault, isTurn) = state.withLock { state in
            let isTurn = state.isUnlocked
            state.locks += 1
            state.turns += isTurn ? 1 : 0
            state.isUnlocked = false
            state.idleLimit = nil
            return (state.vault, isTurn)
        }
        try? vault?.lock()
        // A client that locks what is locked sends nobody to the remotes.
        if isTurn { follower.withLock { $0 }?.noteLockState() }
        didLock.withLock { $0 }?(isByItself)
    }

    /// - Returns: how long until there may be something to lock; nil while there is not.
    @discardableResult
    func lockIfDue() -> Duration? {
        guard let left = timeLeft else { return nil }
        if left > .zero { return left }
        settings.report("locked, since nobody has used it or for as long as it may be open")
        lock(isByItself: true)
        return nil
    }

    /// Whether the next use will lock it first.
    var isLockDue: Bool { timeLeft.map { $0 <= .zero } ?? false }

    /// Until it locks by itself; nil: it is locked, or does not.
    private var timeLeft: Duration? {
        let (isUnlocked, unlockedAt, lastUse) = state.withLock { ($0.isUnlocked, $0.unlockedAt, $0.lastUse) }
        guard isUnlocked else { return nil }
        let now = settings.clock.now
        let idleLimit = idleLimit
        let idle = idleLimit > .zero ? lastUse + idleLimit - now : nil
        let maximum = settings.maximum > .zero ? unlockedAt + settings.maximum - now : nil
        return [idle, maximum].compactMap { $0 }.min()
    }

    /// What the next use would find. Nothing is waited for.
    var lockState: AgentStatus.State {
        let (exists, isUnlocked) = state.withLock { ($0.vault != nil, $0.isUnlocked) }
        return !exists ? .new : isUnlocked && timeLeft ?? .seconds(1) > .zero ? .unlocked : .locked
    }

    /// Whole seconds, rounded up.
    var locksIn: UInt32? {
        timeLeft.map { UInt32(clamping: max(0, (($0 + .milliseconds(999)) / .seconds(1)).rounded(.down))) }
    }

    // MARK: Syncing

    /// Whether a sync that is under way is to be finished.
    var goesOn: Bool { state.withLock { !$0.isEnding } }

    /// How often it became locked or unlocked.
    var lockTurns: UInt64 { state.withLock { $0.turns } }

    /// A sync that is under way ends after the next record.
    func end() { state.withLock { $0.isEnding = true } }

    func noteFetched() { state.withLock { $0.hasFetched = true } }

    /// - Returns: whether there was a note since the last call.
    func takeFetched() -> Bool {
        state.withLock { state in
            defer { state.hasFetched = false }
            return state.hasFetched
        }
    }

    /// Brings the file in order and lets the keys go.
    func close() {
        let vault = state.withLock { state in
            defer { (state.vault, state.isUnlocked, state.isClosed) = (nil, false, true) }
            return state.vault
        }
        try? vault?.lock()
        vault?.close()
    }
}

extension UInt32 {
    fileprivate init(clamping seconds: Double) { self = seconds >= 4_294_967_295 ? .max : UInt32(seconds) }
}

extension VaultError {
    /// Whether the handle that threw it can do nothing more.
    fileprivate var makesKeysUseless: Bool {
        switch self {
        case .storage(.rekeyed), .storage(.poisoned), .storage(.forked), .storage(.rolledBack): true
        default: false
        }
    }
}
