// SPDX-License-Identifier: Apache-2.0
internal import VaultSync

/// How an agent that syncs unasked stands with a remote.
struct FollowingSummary: Encodable {
    var url: String
    /// Whether the remote tells of new records unasked.
    var isWatched: Bool
    /// Seconds since a sync last went through. Left out: none has, since the agent began.
    var heardAgo: Int64?
    /// Seconds until the next look or try. Left out: one is under way.
    var nextIn: Int64?
    /// Why there was no sync. Left out: there was.
    var error: String?

    init(_ following: RemoteFollowing) {
        (url, isWatched) = (following.url.text, following.isWatched)
        (heardAgo, nextIn) = (following.heard?.components.seconds, following.next?.components.seconds)
        error = following.failure.map { CommandError($0).message }
    }

    var line: String {
        let heard = heardAgo.map { "synced \(Self.words($0)) ago" } ?? "not synced yet"
        let next = nextIn.map { "again in \(Self.words($0))" } ?? "under way"
        return "\(url.printable): \(error ?? heard), \(next)"
    }

    private static func words(_ seconds: Int64) -> String { StatusText.words(UInt32(clamping: seconds)) }
}
