// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultStorage

/// The remotes of a vault.
extension Fleet {
    /// Adds a remote. A known remote gets the new credentials, if there are any.
    package func addRemote(_ url: RemoteURL, credentials: RemoteCredentials = RemoteCredentials()) throws(SyncError) {
        let remote = RemoteAccess(url, credentials)
        let membership = try membership()
        guard !membership.isFiltered else { throw .isFiltered }
        if membership.remotes.contains(where: { $0.url == url }) { return try show(credentials, at: url) }
        let others = try engines.realms(at: remote).filter { $0 != membership.identity.realmID }
        guard others.isEmpty else { throw .remoteInUse }
        try add(remote)
    }

    /// Changes the credentials of a remote; a missing one stays. So does the state, which a sync may store meanwhile.
    private func show(_ credentials: RemoteCredentials, at remote: RemoteURL) throws(SyncError) {
        let url = remote.text
        guard !credentials.isEmpty else { return }
        try vaulted { () throws(VaultError) in
            try vault.changeReplica { changes throws(VaultError) in
                let known = try changes.table.ownRecords(.remote).first { $0.says["url"] == url }
                guard var says = known?.says else { return }
                says.merge(credentials.attributes) { $1 }
                try changes.putOwn(.remote, says) { $0["url"] == url }
                try Self.put(credentials.password, of: url, &changes)
            }
        }
    }

    private static func put(_ password: Secret?, of url: String, _ changes: inout ReplicaChanges) throws(VaultError) {
        guard let password else { return }
        try changes.putOwn(
            .password, ["url": url], value: password, protection: .afterFirstUnlockThisDeviceOnly
        ) { $0["url"] == url }
    }

    package func removeRemote(_ url: RemoteURL) throws(SyncError) {
        guard try membership().remotes.contains(where: { $0.url == url }) else { throw .noSuchRemote }
        try vaulted { () throws(VaultError) in
            try vault.changeReplica { changes throws(VaultError) in
                for kind in [OwnRecord.remote, .password] {
                    try changes.removeOwn(kind) { $0["url"] == url.text }
                }
            }
        }
    }

    func add(_ remote: RemoteAccess) throws(SyncError) {
        let state = try secured { () throws(CryptoError) in
            Secret(try SecretBytes(copying: RemoteState().encoded().span))
        }
        let url = remote.url.text
        let says = remote.credentials.attributes.merging(["url": url]) { $1 }
        try vaulted { () throws(VaultError) in
            try vault.changeReplica { changes throws(VaultError) in
                try changes.putOwn(.remote, says, value: state) { $0["url"] == url }
                try Self.put(remote.credentials.password, of: url, &changes)
            }
        }
    }
}
