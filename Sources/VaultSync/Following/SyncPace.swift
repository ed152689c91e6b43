// SPDX-License-Identifier: Apache-2.0

/// How soon a device that syncs by itself does so after what.
package struct SyncPace: Sendable {
    /// From a commit to the sync that tells of it. A further commit puts that off, up to ``longestAfterCommit``.
    package var afterCommit = Duration.milliseconds(200)
    package var longestAfterCommit = Duration.seconds(2)
    /// From a hint to the sync that looks what came.
    package var afterHint = Duration.milliseconds(50)
    /// From one sync to one that a hint alone asks for, at least: hints may be lies.
    package var betweenHints = Duration.seconds(1)
    /// The share of each device in that time, so that hints alone cost a server at most 20 syncs a second.
    package var betweenHintsPerDevice = Duration.milliseconds(50)
    /// The longest time from a hint to the sync that follows it.
    package var longestBetweenHints = Duration.seconds(15)
    /// From one look at a folder to the next, hints or not.
    package var folder = Duration.seconds(30)
    /// From one look at a server to the next.
    package var server = Duration.seconds(60)
    /// Until the next try while another process syncs the vault.
    package var whileBusy = Duration.seconds(1)
    /// From the first failure to the next try, at most; twice as long after each further failure.
    package var firstRetry = Duration.seconds(1)
    package var longestRetry = Duration.seconds(600)

    package init() {}

    func rest(devices: Int) -> Duration {
        max(betweenHints, min(betweenHintsPerDevice * devices, longestBetweenHints))
    }

    func interval(_ url: RemoteURL) -> Duration { url.scheme == .file ? folder : server }

    /// - Parameter chance: 0..<1. Devices that lost a server at one moment do not all come back at one moment.
    func retry(after failures: Int, chance: Double) -> Duration {
        let longest = min(firstRetry * (1 << min(failures - 1, 30)), longestRetry)
        return longest / 2 + longest / 2 * chance
    }
}
