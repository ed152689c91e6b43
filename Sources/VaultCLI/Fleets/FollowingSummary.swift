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

    /// What the last sync that mended the remote found wrong. Left out: nothing was, since the agent began.
    var mended: Mended?

    struct Mended: Encodable {
        /// The first finding; the rest are of the same sync.
        var first: AlarmOutput
        var count: UInt64
        /// Seconds.
        var ago: Int64
    }

    init(_ following: RemoteFollowing, _ names: DeviceNames) {
        (url, isWatched) = (following.url.text, following.isWatched)
        (heardAgo, nextIn) = (following.heard?.components.seconds, following.next?.components.seconds)
        error = following.failure.map { CommandError($0).message }
        mended = following.mended.map { mended in
            Mended(first: AlarmOutput(mended.alarm, names), count: mended.count, ago: mended.ago.components.seconds)
        }
    }

    var line: String {
        let heard = heardAgo.map { "synced \(Self.words($0)) ago" } ?? "not synced yet"
        let next = nextIn.map { "again in \(Self.words($0))" } ?? "under way"
        return "\(url.printable): \(error ?? heard), \(next)"
    }

    /// Nil: nothing was wrong.
    var mendedLine: String? {
        mended.map { mended in
            let more = mended.count == 1 ? "" : " (one of \(mended.count))"
            return "\(url.printable): \(Self.words(mended.ago)) ago, \(mended.first.message)\(more)"
        }
    }

    private static func words(_ seconds: Int64) -> String { StatusText.words(UInt32(clamping: seconds)) }
}
