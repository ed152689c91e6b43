// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import VaultFormat

/// The positions up to which a process has lately read the logs of servers without surprise.
///
/// A sync asks for the last record of each log without news again, since another record there would be a fork.
/// Automatic syncs do so once an hour, so that a change does not cost a question for each device.
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

    /// - Parameter ends: `nil` after a fault: the next sync looks at everything again.
    func note(_ ends: [RecordStream: UInt64]?, at url: RemoteURL, _ realm: RealmID) {
        looks.withLock { looks in
            let place = Place(url: url, realm: realm)
            let known = looks[place].flatMap { $0.since + Self.lifetime > .now ? $0.since : nil }
            looks[place] = ends.map { Look(ends: $0, since: known ?? .now) }
        }
    }
}

/// The rosters that a process has followed, so that a sync need not open every record of the mirror's again.
final class FollowedRosters: Sendable {
    private let rosters = Mutex<[RealmID: Roster]>([:])

    subscript(realm: RealmID) -> Roster? {
        get { rosters.withLock { $0[realm] } }
        set { rosters.withLock { $0[realm] = newValue } }
    }
}
