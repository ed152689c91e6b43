// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
package import SystemPackage
internal import Vault
package import VaultCrypto
internal import VaultFormat
internal import VaultStorage
package import VaultSync

/// A vault with automatic syncs. The methods are called on one thread, and may wait for remotes.
package protocol FollowedVault: Sendable {
    /// - Parameter isForced: whether there was an event other than a change of the file.
    /// - Returns: `nil` if nothing has changed since the last look.
    func outlook(isForced: Bool) -> FleetOutlook?

    func sync(with urls: Set<RemoteURL>, goesOn: @escaping @Sendable () -> Bool) -> SyncResult

    /// - Returns: `nil` if the remote sends no hints.
    func watch(
        _ url: RemoteURL, _ hint: @escaping @Sendable (RecordHint) -> Void
    ) throws(SyncError) -> (any RecordWatch)?
}

/// The newest commit that was seen.
package final class SeenCommit: Sendable {
    private let last = Mutex<UInt64?>(nil)

    package init() {}

    /// - Parameter sequence: the file's current sequence; `nil` if unreadable at the moment: the next commit shows
    ///   it.
    package func isNew(_ sequence: UInt64?) -> Bool {
        last.withLock { last in
            defer { last = sequence }
            return sequence == nil || last != sequence
        }
    }
}

/// An event of a follower.
package enum FollowerEvent: Sendable {
    case synced(SyncResult)
    /// Reported once, and not for each try.
    case lost(RemoteURL, SyncError)
    case back(RemoteURL)
}

/// The automatic syncs of a vault according to a ``VaultSync/SyncSchedule``, on a thread of their own, so that no other
/// thread waits for a remote.
///
/// Unchecked: only the queue moves the timers.
package final class FleetFollower: @unchecked Sendable {
    /// The schedule, the watches and the pauses.
    ///
    /// Size: a turn reads and changes all of them, so one mutex guards them.
    private struct State {
        var schedule: SyncSchedule
        var remotes: [RemoteURL] = []
        /// The log that this device writes.
        var own: RecordStream?
        var failures: [RemoteURL: SyncError] = [:]
        /// The result of the last sync that mended anything, and its time.
        var mended: [RemoteURL: (alarm: Alarm, count: UInt64, time: Duration)] = [:]
        var watches: [RemoteURL: Watch] = [:]
        /// The numbers of watches that have ended by themselves, possibly before they were registered.
        var lost: Set<UInt64> = []
        var nextWatch: UInt64 = 0
        var looksAnew = true
        var isSyncing = false
        /// Whether a turn is queued: a remote with endless hints occupies only one place in the queue.
        var isWoken = false
        /// The number of requests to pause, and the semaphores of the callers that wait for the pause.
        var holds = 0
        var waiting: [DispatchSemaphore] = []
        var isEnded = false
    }

    private struct Watch {
        let number: UInt64
        /// `nil` if the remote sends no hints.
        let watch: (any RecordWatch)?
    }

    private let vault: any FollowedVault
    private let random: any RandomSource
    private let clock: any AgentClock
    private let tell: @Sendable (FollowerEvent) -> Void
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "vault.follower", qos: .utility)
    /// A timer by the wall clock, which continues while the machine sleeps, and one by a clock that is never set. The
    /// first one to fire counts.
    private let timers: [any DispatchSourceTimer]
    private let file = Mutex<(directory: FilePath?, watch: DirectoryWatch?)>((nil, nil))

    /// - Parameter tell: called on the follower's thread.
    package init(
        _ vault: any FollowedVault, pace: SyncPace = SyncPace(), random: any RandomSource,
        clock: any AgentClock = BootClock(), tell: @escaping @Sendable (FollowerEvent) -> Void
    ) {
        (self.vault, self.random, self.clock, self.tell) = (vault, random, clock, tell)
        state = Mutex(State(schedule: SyncSchedule(pace, at: clock.now)))
        timers = (0..<2).map { [queue] _ in DispatchSource.makeTimerSource(queue: queue) }
        for timer in timers { timer.setEventHandler { [weak self] in self?.turn() } }
        wait(nil)
        for timer in timers { timer.activate() }
    }

    deinit { for timer in timers { timer.cancel() } }

    /// - Parameter directory: the directory of the vault's file.
    package func begin(watching directory: FilePath) {
        file.withLock { $0.directory = directory }
        wake()
    }

    /// Ends the syncs. Returns when the last action has ended, or after `patience`: a remote may hang.
    package func end(patience: Duration) {
        file.withLock { $0 = (nil, nil) }
        state.withLock { $0.isEnded = true }
        let done = DispatchSemaphore(value: 0)
        queue.async {
            let watches = self.state.withLock { state in
                defer { state.watches = [:] }
                return state.watches.values.compactMap(\.watch)
            }
            for watch in watches { watch.end() }
            done.signal()
        }
        _ = done.wait(timeout: .now() + .milliseconds(Int(patience / .milliseconds(1))))
    }

    // MARK: Events

    private func noteCommit() {
        state.withLock { $0.schedule.noteCommit(at: clock.now) }
        wake()
    }

    /// Notes that the vault was locked or unlocked.
    package func noteLockState() {
        state.withLock { state in
            state.looksAnew = true
            state.schedule.noteLockState(at: clock.now)
        }
        wake()
    }

    /// Notes a sync that a person has requested.
    package func note(_ result: SyncResult) {
        note(result, of: [])
        wake()
    }

    /// Runs the body without an automatic sync beside it, since a person's request comes first. A sync that does not
    /// end within a few seconds is not waited for.
    package func givingWay<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        let quiet = DispatchSemaphore(value: 0)
        let waits = state.withLock { state in
            state.holds += 1
            if state.isSyncing { state.waiting.append(quiet) }
            return state.isSyncing
        }
        if waits { _ = quiet.wait(timeout: .now() + .seconds(5)) }
        defer {
            state.withLock { $0.holds -= 1 }
            wake()
        }
        return try body()
    }

    private func wake() {
        let isFirst = state.withLock { state in
            defer { state.isWoken = true }
            return !state.isWoken
        }
        if isFirst { queue.async { [weak self] in self?.turn() } }
    }

    // MARK: Actions

    private func turn() {
        state.withLock { $0.isWoken = false }
        while true {
            let now = clock.now
            let step = state.withLock { state -> SyncSchedule.Step in
                guard !state.isEnded, state.holds == 0 else { return .wait(nil) }
                let step = state.schedule.step(at: now)
                if case .sync = step { state.isSyncing = true }
                return step
            }
            switch step {
            case .look: look()
            case .sync(let urls): sync(urls)
            case .wait(let time):
                return wait(time)
            }
        }
    }

    /// - Parameter time: the time until the next turn; `nil` waits for the next event.
    private func wait(_ time: Duration?) {
        let interval = time.map { DispatchTimeInterval.milliseconds(Int(max($0, .zero) / .milliseconds(1)) + 1) }
        timers[0].schedule(wallDeadline: interval.map { .now() + $0 } ?? .distantFuture)
        timers[1].schedule(deadline: interval.map { .now() + $0 } ?? .distantFuture)
    }

    /// Watches the directory for commits. The directory may be created after the agent's start.
    private func listen() {
        file.withLock { file in
            guard let directory = file.directory, file.watch == nil else { return }
            file.watch = DirectoryWatch(directory) { [weak self] in self?.noteCommit() }
        }
    }

    private func look() {
        // Done first, so that no commit is missed in between.
        listen()
        let isForced = state.withLock { state in
            defer { state.looksAnew = false }
            return state.looksAnew
        }
        guard let outlook = vault.outlook(isForced: isForced) else { return }
        let dropped = state.withLock { state in
            (state.remotes, state.own) = (outlook.remotes, outlook.ownLog.map { RecordStream(.log, $0) })
            state.schedule.noteLook(
                outlook.remotes, devices: outlook.devices, hasNews: outlook.hasNews, at: clock.now)
            let gone = state.watches.keys.filter { !outlook.remotes.contains($0) }
            return gone.compactMap { state.watches.removeValue(forKey: $0)?.watch }
        }
        for watch in dropped { watch.end() }
    }

    private func sync(_ urls: Set<RemoteURL>) {
        let result = vault.sync(with: urls) { [weak self] in self?.goesOn ?? false }
        tell(.synced(result))
        note(result, of: urls)
        for outcome in result.outcomes where outcome.error == nil { watch(outcome.url) }
        let waiting = state.withLock { state in
            state.isSyncing = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for quiet in waiting { quiet.signal() }
    }

    /// - Parameter urls: the remotes of the sync; each counts as tried.
    private func note(_ result: SyncResult, of urls: Set<RemoteURL>) {
        var errors: [RemoteURL: SyncError?] = [:]
        for url in urls { errors[url] = .some(result.failure ?? .vault(.cancelled)) }
        for outcome in result.outcomes { errors[outcome.url] = .some(outcome.error) }
        for outcome in result.outcomes {
            guard let alarm = outcome.notes.first else { continue }
            let count = UInt64(outcome.notes.count)
            state.withLock { $0.mended[outcome.url] = (alarm, count, clock.now) }
        }
        for (url, error) in errors {
            let turn = state.withLock { state in
                let turn = state.schedule.noteEnd(of: url, Self.ending(error), at: clock.now, chance: chance)
                switch Self.ending(error) {
                case .synced: state.failures[url] = nil
                case .failed: state.failures[url] = error
                case .busy, .cut: break
                }
                if error == .vault(.locked) {
                    // The keys are gone, so the vault is looked at again.
                    state.looksAnew = true
                    state.schedule.noteCommit(at: clock.now)
                }
                return turn
            }
            switch (turn, error) {
            case (.lost?, let error?): tell(.lost(url, error))
            case (.back?, _): tell(.back(url))
            default: break
            }
        }
    }

    /// Whether a current sync is to continue.
    private var goesOn: Bool { state.withLock { !$0.isEnded && $0.holds == 0 } }

    private static func ending(_ error: SyncError?) -> SyncSchedule.Ending {
        switch error {
        case nil: .synced
        case .busy?, .overtaken?, .vault(.locked)?: .busy
        case .vault(.cancelled)?: .cut
        default: .failed
        }
    }

    private var chance: Double {
        let bytes = random.bytes(4)
        return Double(bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }) / 4_294_967_296
    }

    // MARK: Hints

    /// Subscribes to the hints of a remote that was just reached.
    private func watch(_ url: RemoteURL) {
        let number = state.withLock { state -> UInt64? in
            guard state.watches[url] == nil, !state.isEnded, state.remotes.contains(url) else { return nil }
            state.nextWatch += 1
            return state.nextWatch
        }
        guard let number else { return }
        let watch: (any RecordWatch)?
        do throws(SyncError) {
            watch = try vault.watch(url) { [weak self] hint in self?.hear(hint, of: url, number) }
        } catch {
            // The next successful sync with the remote tries again.
            return
        }
        let isLost = state.withLock { state in
            guard state.lost.remove(number) == nil else { return true }
            state.watches[url] = Watch(number: number, watch: watch)
            // Covers changes between the sync and the subscription, for which there was no hint.
            if watch != nil { state.schedule.noteHint(of: url, at: clock.now) }
            return false
        }
        if isLost { watch?.end() }
    }

    private func hear(_ hint: RecordHint, of url: RemoteURL, _ number: UInt64) {
        let lost = state.withLock { state -> (any RecordWatch)? in
            switch hint {
            case .appended(let stream, _) where stream.kind == .blob || stream == state.own:
                // The entry that names a large value announces it.
                return nil
            case .appended, .changed:
                state.schedule.noteHint(of: url, at: clock.now)
                return nil
            case .lost:
                state.schedule.noteHint(of: url, at: clock.now)
                guard state.watches[url]?.number == number else {
                    state.lost.insert(number)
                    return nil
                }
                return state.watches.removeValue(forKey: url)?.watch
            }
        }
        // The watch's own thread delivers this hint, and could not wait for itself.
        if let lost { queue.async { lost.end() } }
        wake()
    }

    // MARK: Status

    /// The state of each remote, in the order of the vault's remotes.
    package var following: [RemoteFollowing] {
        let now = clock.now
        return state.withLock { state in
            state.remotes.map { url in
                let times = state.schedule.times(of: url)
                return RemoteFollowing(
                    url: url, isWatched: state.watches[url]?.watch != nil,
                    heard: (times?.heard).map { now - $0 }, next: (times?.next).map { max($0 - now, .zero) },
                    failure: state.failures[url],
                    mended: state.mended[url].map {
                        RemoteFollowing.Mended($0.alarm, count: $0.count, ago: now - $0.time)
                    })
            }
        }
    }
}
