// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
package import VaultFormat
package import VaultSync

/// Databases of PostgreSQL. Connections stay open between syncs.
package final class PostgresEngine: RemoteEngine {
    private struct Place: Hashable {
        let url: RemoteURL
        let realm: RealmID
    }

    private let patience: PostgresPatience
    private let lines = Mutex<[Place: PostgresLine]>([:])

    package init(_ patience: PostgresPatience = PostgresPatience()) { self.patience = patience }

    package func store(at remote: RemoteAccess, realm: RealmID) throws(RecordStoreError) -> any RecordStore {
        PostgresRecordStore(remote, realm: realm, line(to: remote, realm), patience)
    }

    package func realms(at remote: RemoteAccess) throws(RecordStoreError) -> [RealmID] {
        // A joining device looks here first, and then for the mailbox in the realm of zeros.
        try line(to: remote, .zero).use(remote, patience) { connection, _ throws(PostgresError) in
            var realms: [RealmID] = []
            try connection.exchangeAll([.statement(.realms, []), .end]) { _, row throws(PostgresError) in
                guard realms.count < Self.mostRealms else { throw .malformed }
                let realm = try row.name(0)
                if realm != .zero { realms.append(realm) }
            }
            return realms
        }
    }

    private static let mostRealms = 1 << 16

    private func line(to remote: RemoteAccess, _ realm: RealmID) -> PostgresLine {
        lines.withLock { lines in
            let place = Place(url: remote.url, realm: realm)
            if let line = lines[place], line.isFor(remote.credentials) { return line }
            let line = PostgresLine(remote.credentials)
            lines[place] = line
            return line
        }
    }
}
