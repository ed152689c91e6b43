// SPDX-License-Identifier: Apache-2.0

/// How a program that syncs by itself stands with a remote.
package struct RemoteFollowing: Equatable, Sendable {
    package let url: RemoteURL
    /// Whether the remote tells of new records unasked.
    package let isWatched: Bool
    /// How long ago a sync last went through; nil: none has, since the program began.
    package let heard: Duration?
    /// Until the next look at it or try; nil: one is under way.
    package let next: Duration?
    /// Why it could not be synced with; nil: it could.
    package let failure: SyncError?

    package init(url: RemoteURL, isWatched: Bool, heard: Duration?, next: Duration?, failure: SyncError?) {
        (self.url, self.isWatched, self.heard, self.next, self.failure) = (url, isWatched, heard, next, failure)
    }
}
