// SPDX-License-Identifier: Apache-2.0
internal import VaultSync

/// The state of an agent's background sync with one remote.
struct FollowingSummary: Encodable {
    var url: String
    /// Whether the remote notifies the agent of new records.
    var isWatched: Bool
    /// The seconds since the last successful sync; left out if there was none since the agent started.
    var heardAgo: Int64?
    /// The seconds until the next sync; left out while one is running.
    var nextIn: Int64?
    /// The reason why the last sync failed; left out if it succeeded.
    var error: String?

    /// The fault that the last repairing sync found in the remote; left out if there was none since the agent started.
    var mended: Mended?

    struct Mended: Encodable {
        /// The first finding; the others come from the same sync.
        var first: AlarmOutput
        var count: UInt64
        /// The seconds since then.
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

    /// The line for display; `nil` if no fault was found.
    var mendedLine: String? {
        mended.map { mended in
            let more = mended.count == 1 ? "" : " (one of \(mended.count))"
            return "\(url.printable): \(Self.words(mended.ago)) ago, \(mended.first.message)\(more)"
        }
    }

    private static func words(_ seconds: Int64) -> String { StatusText.words(UInt32(clamping: seconds)) }
}
