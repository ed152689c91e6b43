// SPDX-License-Identifier: Apache-2.0

/// The delays of automatic syncs.
package struct SyncPace: Sendable {
    /// The delay from a commit to the sync that publishes it. A further commit extends the delay, up to
    /// ``longestAfterCommit``.
    package var afterCommit = Duration.milliseconds(200)
    package var longestAfterCommit = Duration.seconds(2)
    /// The delay from a hint to the sync that follows it.
    package var afterHint = Duration.milliseconds(50)
    /// The least time from a sync to one that only a hint causes: hints may be false.
    package var betweenHints = Duration.seconds(1)
    /// The share of each device in that time, so that hints alone cost a server at most 20 syncs a second.
    package var betweenHintsPerDevice = Duration.milliseconds(50)
    /// The upper bound of the time from a sync to one that only a hint causes.
    package var longestBetweenHints = Duration.seconds(15)
    /// The time between two looks at a folder, regardless of hints.
    package var folder = Duration.seconds(30)
    /// The time between two looks at a server.
    package var server = Duration.seconds(60)
    /// The delay of the next try while another process syncs the vault.
    package var whileBusy = Duration.seconds(1)
    /// The longest delay from the first failure to the next try; it doubles with each further failure.
    package var firstRetry = Duration.seconds(1)
    package var longestRetry = Duration.seconds(600)

    package init() {}

    func rest(devices: Int) -> Duration { max(betweenHints, min(betweenHintsPerDevice * devices, longestBetweenHints)) }

    func interval(_ url: RemoteURL) -> Duration { url.scheme == .file ? folder : server }

    /// - Parameter chance: 0..<1. Devices that lost a server at the same moment return at different times.
    func retry(after failures: Int, chance: Double) -> Duration {
        let longest = min(firstRetry * (1 << min(failures - 1, 30)), longestRetry)
        return longest / 2 + longest / 2 * chance
    }
}
