// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import VaultFormat

/// Up to where a process has read the logs of servers lately, and found what it knew.
///
/// With each sync a device asks again for the last record of every log that has nothing new, since another one there
/// would be a fork. Syncs that come by themselves do so hourly: a change costs them no question for each device.
final class RecentLooks: Sendable {
    private struct Place: Hashable {
        let url: RemoteURL
        let realm: RealmID
    }

    private struct Look {
        var ends: [RecordStream: UInt64]
        let since: ContinuousClock.Instant
    }

    private static let lifetime = Duration.seconds(3600)
    private let looks = Mutex<[Place: Look]>([:])

    func ends(at url: RemoteURL, _ realm: RealmID) -> [RecordStream: UInt64] {
        looks.withLock { looks in
            guard let look = looks[Place(url: url, realm: realm)], look.since + Self.lifetime > .now else { return [:] }
            return look.ends
        }
    }

    /// - Parameter ends: nil: something was wrong, and all of it is looked at again.
    func note(_ ends: [RecordStream: UInt64]?, at url: RemoteURL, _ realm: RealmID) {
        looks.withLock { looks in
            let place = Place(url: url, realm: realm)
            let known = looks[place].flatMap { $0.since + Self.lifetime > .now ? $0.since : nil }
            looks[place] = ends.map { Look(ends: $0, since: known ?? .now) }
        }
    }
}
