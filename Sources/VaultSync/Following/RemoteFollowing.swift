// SPDX-License-Identifier: Apache-2.0

/// The state of automatic syncs with a remote.
package struct RemoteFollowing: Equatable, Sendable {
    /// The faults of a remote that a sync has found and mended.
    package struct Mended: Equatable, Sendable {
        /// The first of the findings.
        package let alarm: Alarm
        /// The number of findings, 1 or more.
        package let count: UInt64
        package let ago: Duration

        package init(_ alarm: Alarm, count: UInt64, ago: Duration) {
            (self.alarm, self.count, self.ago) = (alarm, count, ago)
        }
    }

    package let url: RemoteURL
    /// Whether the remote sends hints.
    package let isWatched: Bool
    /// The time since the last successful sync; `nil` if there was none since the program began.
    package let heard: Duration?
    /// The time until the next sync; `nil` while one is under way.
    package let next: Duration?
    /// The error of the last sync; `nil` if it succeeded.
    package let failure: SyncError?

    /// The faults that the last mending sync has found; `nil` if there was none since the program began.
    package let mended: Mended?

    package init(
        url: RemoteURL, isWatched: Bool, heard: Duration?, next: Duration?, failure: SyncError?, mended: Mended? = nil
    ) {
        (self.url, self.isWatched, self.heard, self.next) = (url, isWatched, heard, next)
        (self.failure, self.mended) = (failure, mended)
    }
}
