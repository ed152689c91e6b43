// SPDX-License-Identifier: Apache-2.0

/// The schedule of a device's automatic syncs and looks at its vault. The value receives events and returns the next
/// step. All times are of one clock that never goes back.
package struct SyncSchedule: Sendable {
    /// The next action.
    package enum Step: Equatable, Sendable {
        /// A look at the vault, for its remotes and its unpublished items.
        case look
        case sync(Set<RemoteURL>)
        /// A wait of this length; `nil` waits for the next event.
        case wait(Duration?)
    }

    /// The end of a sync with a remote.
    package enum Ending: Equatable, Sendable {
        /// The sync was complete, whatever it found.
        case synced
        /// Another process syncs the vault.
        case busy
        /// The sync was cancelled.
        case cut
        case failed
    }

    /// A change that a person should learn of.
    package enum Turn: Equatable, Sendable {
        /// A remote that was reachable, or was never tried, is not reachable.
        case lost
        case back
    }

    private struct Remote {
        /// `nil` while a sync is under way and no event has asked for another since it began.
        var due: Duration?
        var failures = 0
        var lastEnd: Duration?
        /// The end of the last successful sync.
        var heard: Duration?

        mutating func advance(to time: Duration) { due = min(due ?? time, time) }
    }

    private let pace: SyncPace
    private var remotes: [RemoteURL: Remote] = [:]
    /// The least time from a sync to one that only a hint causes.
    private var rest: Duration
    private var lookDue: Duration?
    /// The first commit since the last look.
    private var firstCommit: Duration?

    /// The first step is a look.
    package init(_ pace: SyncPace = SyncPace(), at now: Duration) {
        (self.pace, lookDue) = (pace, now)
        rest = pace.rest(devices: 1)
    }

    // MARK: Events

    /// Notes a change of the vault's file by any process.
    package mutating func noteCommit(at now: Duration) {
        let first = firstCommit ?? now
        firstCommit = first
        lookDue = min(now + pace.afterCommit, first + pace.longestAfterCommit)
    }

    /// Notes the result of a look at the vault.
    ///
    /// - Parameters:
    ///   - urls: the vault's remotes; new ones are synced with at once.
    ///   - devices: the number of devices of the fleet; hints wait longer the more there are.
    ///   - hasNews: whether anything is unpublished. An unreachable remote receives it with its next try.
    package mutating func noteLook(_ urls: [RemoteURL], devices: Int, hasNews: Bool, at now: Duration) {
        rest = pace.rest(devices: devices)
        let known = remotes
        remotes = [:]
        for url in urls {
            var remote = known[url] ?? Remote(due: now)
            if hasNews, remote.failures == 0 { remote.advance(to: now) }
            remotes[url] = remote
        }
    }

    /// Notes a remote's hint that something may be new.
    package mutating func noteHint(of url: RemoteURL, at now: Duration) {
        guard var remote = remotes[url] else { return }
        let soonest = remote.lastEnd.map { $0 + rest } ?? now
        remote.advance(to: max(now + pace.afterHint, soonest))
        remotes[url] = remote
    }

    /// Notes that the vault was locked or unlocked: an obstacle to a sync may be gone, and a person is present.
    package mutating func noteLockState(at now: Duration) {
        lookDue = now
        firstCommit = nil
        for url in remotes.keys { remotes[url]?.due = now }
    }

    /// Notes the end of a sync, including one that a person has requested.
    ///
    /// - Parameter chance: a fresh random number, 0..<1.
    package mutating func noteEnd(of url: RemoteURL, _ ending: Ending, at now: Duration, chance: Double) -> Turn? {
        guard var remote = remotes[url] else { return nil }
        defer { remotes[url] = remote }
        let failures = remote.failures
        switch ending {
        case .synced:
            (remote.failures, remote.heard, remote.lastEnd) = (0, now, now)
            // The sync may have missed changes that were announced while it was under way.
            if let due = remote.due { remote.due = max(due, now + rest) }
            remote.advance(to: now + pace.interval(url))
            return failures > 0 ? .back : nil
        case .busy: remote.due = now + pace.whileBusy
        case .cut: remote.due = now + pace.afterHint
        case .failed:
            remote.failures += 1
            remote.lastEnd = now
            remote.due = now + pace.retry(after: remote.failures, chance: chance)
            return failures == 0 ? .lost : nil
        }
        return nil
    }

    // MARK: The next step

    /// Returns the next step. A returned look or sync counts as begun.
    package mutating func step(at now: Duration) -> Step {
        if let lookDue, lookDue <= now {
            (self.lookDue, firstCommit) = (nil, nil)
            return .look
        }
        let due = remotes.filter { $0.value.due.map { $0 <= now } ?? false }.keys
        guard due.isEmpty else {
            for url in due { remotes[url]?.due = nil }
            return .sync(Set(due))
        }
        return .wait(([lookDue] + remotes.values.map(\.due)).compactMap { $0 }.min().map { $0 - now })
    }

    /// Returns the time of the last successful sync with a remote, and the time of the next, which is `nil` while one
    /// is under way.
    package func times(of url: RemoteURL) -> (heard: Duration?, next: Duration?)? {
        remotes[url].map { ($0.heard, $0.due) }
    }
}
