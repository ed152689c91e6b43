// SPDX-License-Identifier: Apache-2.0

/// When a device that syncs by itself looks at its vault, and when it syncs with which remote: a value that is told
/// what happened, and says what comes next. Times are of one clock that never goes back.
package struct SyncSchedule: Sendable {
    /// What is to be done.
    package enum Step: Equatable, Sendable {
        /// A look at the vault: which remotes it has, and whether there is anything to tell.
        case look
        case sync(Set<RemoteURL>)
        /// Nothing, for so long; nil: until something happens.
        case wait(Duration?)
    }

    /// What a sync with a remote came to.
    package enum Ending: Equatable, Sendable {
        /// It went through, whatever was found.
        case synced
        /// Another process syncs the vault.
        case busy
        /// It was not wanted any more.
        case cut
        case failed
    }

    /// What is worth telling a person.
    package enum Turn: Equatable, Sendable {
        /// A remote that could be reached, or was never tried, cannot be.
        case lost
        case back
    }

    private struct Remote {
        /// Nil: a sync is under way, and nothing has asked for another one since it began.
        var due: Duration?
        var failures = 0
        var lastEnd: Duration?
        /// When it was heard of last.
        var heard: Duration?

        mutating func advance(to time: Duration) { due = min(due ?? time, time) }
    }

    private let pace: SyncPace
    private var remotes: [RemoteURL: Remote] = [:]
    /// From a sync to the next one that a hint alone asks for.
    private var rest: Duration
    private var lookDue: Duration?
    /// The first commit since the last look.
    private var firstCommit: Duration?

    /// The first step is a look.
    package init(_ pace: SyncPace = SyncPace(), at now: Duration) { 
        (self.pace, lookDue) = (pace, now)
        rest = pace.rest(devices: 1)
    }

    // MARK: What happens

    /// The vault's file was changed, by any process.
    package mutating func noteCommit(at now: Duration) {
        let first = firstCommit ?? now
        firstCommit = first
        lookDue = min(now + pace.afterCommit, first + pace.longestAfterCommit)
    }

    /// The vault was looked at.
    ///
    /// - Parameters:
    ///   - urls: of its remotes; those that are new are synced with at once.
    ///   - devices: of its fleet; the more there are, the longer hints wait.
    ///   - hasNews: whether there is anything to tell. A remote that cannot be reached hears of it with its next try.
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

    /// A remote says that there may be something new.
    package mutating func noteHint(of url: RemoteURL, at now: Duration) {
        guard var remote = remotes[url] else { return }
        let soonest = remote.lastEnd.map { $0 + rest } ?? now
        remote.advance(to: max(now + pace.afterHint, soonest))
        remotes[url] = remote
    }

    /// The vault was locked or unlocked: what was in the way of a sync may be gone, and a person is there.
    package mutating func noteLockState(at now: Duration) {
        lookDue = now
        firstCommit = nil
        for url in remotes.keys { remotes[url]?.due = now }
    }

    /// A sync has ended, also one that a person has asked for.
    ///
    /// - Parameter chance: 0..<1, drawn anew.
    package mutating func noteEnd(
        of url: RemoteURL, _ ending: Ending, at now: Duration, chance: Double
    ) -> Turn? {
        guard var remote = remotes[url] else { return nil }
        defer { remotes[url] = remote }
        let failures = remote.failures
        switch ending {
        case .synced:
            (remote.failures, remote.heard, remote.lastEnd) = (0, now, now)
            // What was asked for while it was under way may have come too late for it.
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

    // MARK: What is to be done

    /// A look or a sync counts as begun.
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

    /// When a remote was heard of last, and when the next try is due; nil: it is under way.
    package func times(of url: RemoteURL) -> (heard: Duration?, next: Duration?)? {
        remotes[url].map { ($0.heard, $0.due) }
    }
}
