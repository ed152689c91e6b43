// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultFleet
internal import VaultStorage
internal import VaultSync

/// The vault of an agent, with its locking.
///
/// Every use checks the limits first, so that nothing is served late; the timer only wipes the keys of an unused vault.
final class VaultKeeper: Sendable {
    private struct State {
        /// `nil` if the vault was never unlocked, or its keys have become useless.
        var vault: Vault?
        var isUnlocked = false
        /// The number of locks: keys derived during a lock are dropped.
        var locks: UInt64 = 0
        /// The number of changes between locked and unlocked.
        var turns: UInt64 = 0
        var isClosed = false
        /// Whether current work is to end quickly, since the agent ends.
        var isEnding = false
        /// Whether entries of other devices wait for the next unlock.
        var hasFetched = false
        var unlockedAt = Duration.zero
        var lastUse = Duration.zero
        /// The number of consecutive wrong passphrases; ``notBefore`` is the time of the next try.
        var failures = 0
        /// The limit that a client has set for this unlock; `nil` for that of the settings.
        var idleLimit: Duration?
        var notBefore = Duration.zero
    }

    let settings: AgentSettings
    /// The engines of the remotes, with their open connections.
    let engines: RemoteEngines
    private let state = Mutex(State())
    /// Serializes key derivations: many connections do not make guessing faster.
    private let unlocking = Mutex(())
    /// Called before keys are derived.
    let willUnlock = Mutex<(@Sendable () -> Void)?>(nil)
    /// Called when the vault has become unlocked.
    let didUnlock = Mutex<(@Sendable () -> Void)?>(nil)
    /// Called after every lock; the argument tells whether no client has requested it.
    let didLock = Mutex<(@Sendable (_ isByItself: Bool) -> Void)?>(nil)

    /// The automatic syncs; `nil` without them.
    let follower = Mutex<FleetFollower?>(nil)
    /// The latest checks of the remotes.
    let checks = Mutex<RemoteChecks?>(nil)
    let fleetHost: FleetHost

    init(_ settings: AgentSettings) {
        (self.settings, engines) = (settings, settings.engines ?? .all(settings.environment))
        fleetHost = FleetHost(isAgent: true) { settings.clock.now }
    }

    var idleLimit: Duration { state.withLock { $0.idleLimit } ?? settings.idleLimit }

    func setIdleLimit(_ limit: Duration) { state.withLock { $0.idleLimit = limit } }

    // MARK: Use

    /// Runs a request on the vault for a caller with these groups.
    func use<R>(_ groups: AccessGroups, _ body: (Vault) throws(VaultError) -> R) throws(VaultError) -> R {
        lockIfDue()
        return try useAtOnce(groups, body)
    }

    /// Runs a search after a check of the limits. One that finds nothing does not keep the vault open: programs look
    /// for what they never stored, for as long as they run.
    func searchAtOnce<R>(_ groups: AccessGroups, _ body: (Vault) throws(VaultError) -> R) throws(VaultError) -> R {
        let found = try useUnasked(groups, body)
        state.withLock { $0.lastUse = settings.clock.now }
        return found
    }

    /// Does the work of ``use(_:_:)`` after a check of the limits.
    ///
    /// - Parameter counts: whether the request keeps the vault open.
    func useAtOnce<R>(
        _ groups: AccessGroups, counts: Bool = true, _ body: (Vault) throws(VaultError) -> R
    ) throws(VaultError) -> R {
        if counts { state.withLock { $0.lastUse = settings.clock.now } }
        return try useUnasked(groups, body)
    }

    /// Runs work that no client has requested, and that does not keep the vault open.
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
            // Another thread with this handle must not keep the keys.
            if isDropped { try? vault.lock() }
            throw error == .storage(.rekeyed) ? .locked : error
        }
    }

    // MARK: Locking

    /// - Throws: `.storage(.wrongPassphrase)`, and the errors of opening a vault. A wrong passphrase delays the next
    ///   attempt.
    func unlock(with secret: UnlockingSecret) throws(VaultError) {
        willUnlock.withLock { $0 }?()
        try attempt { () throws(VaultError) in try takeKeys(with: secret) }
        didUnlock.withLock { $0 }?()
    }

    /// Checks whether a secret opens the vault, which stays unchanged.
    ///
    /// - Throws: the errors of ``unlock(with:)``, with the same delay.
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

    /// Derives the keys, and keeps them unless the vault was locked meanwhile.
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

    /// Returns `false` if the vault was locked since `locks` was read, or the agent ends.
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

    /// Locks the vault. The keys are wiped on return. The next unlock uses the same vault object.
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
        // A lock of a locked vault triggers no sync.
        if isTurn { follower.withLock { $0 }?.noteLockState() }
        didLock.withLock { $0 }?(isByItself)
    }

    /// - Returns: the time until the next possible lock; `nil` if there is none.
    @discardableResult
    func lockIfDue() -> Duration? {
        guard let left = timeLeft else { return nil }
        if left > .zero { return left }
        settings.report("locked, since nobody has used it or for as long as it may be open")
        lock(isByItself: true)
        return nil
    }

    /// Whether the next use would lock the vault first.
    var isLockDue: Bool { timeLeft.map { $0 <= .zero } ?? false }

    /// The time until an automatic lock; `nil` if the vault is locked or has no limit.
    private var timeLeft: Duration? {
        let (isUnlocked, unlockedAt, lastUse) = state.withLock { ($0.isUnlocked, $0.unlockedAt, $0.lastUse) }
        guard isUnlocked else { return nil }
        let now = settings.clock.now
        let idleLimit = idleLimit
        let idle = idleLimit > .zero ? lastUse + idleLimit - now : nil
        let maximum = settings.maximum > .zero ? unlockedAt + settings.maximum - now : nil
        return [idle, maximum].compactMap { $0 }.min()
    }

    /// The state that the next use would find, without any wait.
    var lockState: AgentStatus.State {
        let (exists, isUnlocked) = state.withLock { ($0.vault != nil, $0.isUnlocked) }
        return !exists ? .new : isUnlocked && timeLeft ?? .seconds(1) > .zero ? .unlocked : .locked
    }

    /// The time until the lock in whole seconds, rounded up.
    var locksIn: UInt32? {
        timeLeft.map { UInt32(clamping: max(0, (($0 + .milliseconds(999)) / .seconds(1)).rounded(.down))) }
    }

    // MARK: Syncing

    /// Whether a current sync is to continue.
    var goesOn: Bool { state.withLock { !$0.isEnding } }

    /// The number of changes between locked and unlocked.
    var lockTurns: UInt64 { state.withLock { $0.turns } }

    /// Makes a current sync end after its next record.
    func end() { state.withLock { $0.isEnding = true } }

    func noteFetched() { state.withLock { $0.hasFetched = true } }

    /// - Returns: whether there was a note since the last call.
    func takeFetched() -> Bool {
        state.withLock { state in
            defer { state.hasFetched = false }
            return state.hasFetched
        }
    }

    /// Closes the file in order, and drops the keys.
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
    /// Whether the handle that threw this error has become useless.
    fileprivate var makesKeysUseless: Bool {
        switch self {
        case .storage(.rekeyed), .storage(.poisoned), .storage(.forked), .storage(.rolledBack): true
        default: false
        }
    }
}
