// SPDX-License-Identifier: Apache-2.0
internal import Vault
package import VaultFormat

/// The facts that an automatic sync needs about a vault, without a look at a remote.
package struct FleetOutlook: Equatable, Sendable {
    package let remotes: [RemoteURL]
    /// The number of devices that write logs.
    package let devices: Int
    /// The log of this device, whose hints are no news.
    package let ownLog: LogID?
    /// Whether there is anything to publish that can be published now.
    package let hasNews: Bool

    package init(remotes: [RemoteURL], devices: Int, ownLog: LogID?, hasNews: Bool) {
        (self.remotes, self.devices, self.ownLog, self.hasNews) = (remotes, devices, ownLog, hasNews)
    }

    /// The outlook of a vault without a fleet.
    package static let none = FleetOutlook(remotes: [], devices: 0, ownLog: nil, hasNews: false)
}

extension Fleet {
    /// - Returns: ``FleetOutlook/none`` for a vault without a fleet.
    package func outlook() throws(SyncError) -> FleetOutlook {
        let membership: Membership
        do throws(SyncError) { membership = try self.membership() } catch {
            guard error == .notJoined else { throw error }
            return .none
        }
        return FleetOutlook(
            remotes: membership.isFiltered ? [] : membership.remotes.map(\.url),
            devices: membership.state.logs.values.count { $0.end == nil }, ownLog: membership.state.log,
            hasNews: vault.isLocked ? false : try hasNews(membership))
    }

    private func hasNews(_ membership: Membership) throws(SyncError) -> Bool {
        guard membership.state.removals.isEmpty else { return true }
        let isUnstamped = try vaulted { () throws(VaultError) in try vault.readReplica { !$0.unstamped.isEmpty } }
        if isUnstamped { return true }
        let items = VaultItems(vault, membership.state, of: membership.identity.realmID, random: random)
        return try !items.pending(after: membership.state.through).isEmpty
    }

    /// Subscribes to the hints of a remote.
    ///
    /// - Returns: `nil` if the remote sends no hints.
    /// - Throws: `.noSuchRemote`
    package func watch(
        _ url: RemoteURL, _ hint: @escaping @Sendable (RecordHint) -> Void
    ) throws(SyncError) -> (any RecordWatch)? {
        let membership = try membership()
        guard let remote = membership.remotes.first(where: { $0.url == url }) else { throw .noSuchRemote }
        let store = try store(at: remote.access, realm: membership.identity.realmID)
        return try stored { () throws(RecordStoreError) in try store.watch(hint) }
    }
}
