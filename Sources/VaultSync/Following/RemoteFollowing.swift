// SPDX-License-Identifier: Apache-2.0

/// How a program that syncs by itself stands with a remote.
package struct RemoteFollowing: Equatable, Sendable {
    /// What a sync found wrong with the remote, and mended.
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
    /// Whether the remote tells of new records unasked.
    package let isWatched: Bool
    /// How long ago a sync last went through; nil: none has, since the program began.
    package let heard: Duration?
    /// Until the next look at it or try; nil: one is under way.
    package let next: Duration?
    /// Why it could not be synced with; nil: it could.
    package let failure: SyncError?

    /// By the last sync that mended anything; nil: none has, since the program began.
    package let mended: Mended?

    package init(
        url: RemoteURL, isWatched: Bool, heard: Duration?, next: Duration?, failure: SyncError?, mended: Mended? = nil
    ) {
        (self.url, self.isWatched, self.heard, self.next) = (url, isWatched, heard, next)
        (self.failure, self.mended) = (failure, mended)
    }
}
