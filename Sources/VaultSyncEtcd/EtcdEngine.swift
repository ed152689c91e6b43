// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import SystemPackage
internal import VaultCrypto
package import VaultFormat
package import VaultSync

/// Remotes in etcd. Each has a connection that stays open between syncs.
package final class EtcdEngine: RemoteEngine {
    private struct Place: Hashable {
        let url: RemoteURL
        let realm: RealmID
        let files: [FilePath?]
    }

    /// The most cached stores: more than a process syncs with.
    private static let mostStores = 16

    private let stores = Mutex<[Place: (password: Secret?, store: EtcdRecordStore)]>([:])

    package init() {}

    package func store(at remote: RemoteAccess, realm: RealmID) throws(RecordStoreError) -> any RecordStore {
        let credentials = remote.credentials
        let place = Place(
            url: remote.url, realm: realm,
            files: [credentials.authorities, credentials.certificate, credentials.key])
        return try stores.withLock { stores throws(RecordStoreError) in
            if let known = stores[place], Self.isSame(known.password, credentials.password) { return known.store }
            let store = try EtcdRecordStore(remote, realm: realm)
            if stores.count >= Self.mostStores { stores = [:] }
            stores[place] = (credentials.password, store)
            return store
        }
    }

    package func realms(at remote: RemoteAccess) throws(RecordStoreError) -> [RealmID] {
        try EtcdRecordStore.realms(EtcdConnection(remote))
    }

    private static func isSame(_ a: Secret?, _ b: Secret?) -> Bool {
        guard let a, let b else { return a == nil && b == nil }
        return a.withBytes { a in b.withBytes { b in isEqualInConstantTime(a, b) } }
    }
}
