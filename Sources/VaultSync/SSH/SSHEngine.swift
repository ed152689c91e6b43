// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
package import VaultFormat

/// Folders of servers that the user's own `ssh` reaches, with `vault remote serve` at the other end.
///
/// Each remote has one connection for all its realms. The connection stays open as long as this value, and is opened
/// again after a failure.
package final class SSHEngine: RemoteEngine {
    private let links = Mutex<[RemoteURL: ServedLink]>([:])
    private let patience: Duration

    /// - Parameter patience: how long the server may be silent.
    package init(patience: Duration = RecordServer.patience) { self.patience = patience }

    package func store(at remote: RemoteAccess, realm: RealmID) throws(RecordStoreError) -> any RecordStore {
        ServedRecordStore(try link(to: remote.url), realm: realm)
    }

    package func realms(at remote: RemoteAccess) throws(RecordStoreError) -> [RealmID] {
        try link(to: remote.url).realms().filter { $0 != .zero }
    }

    private func link(to url: RemoteURL) throws(RecordStoreError) -> ServedLink {
        let command = try SSHCommand(url)
        return links.withLock { links in
            if let link = links[url] { return link }
            let link = ServedLink { [patience] () throws(RecordStoreError) in
                let (pipes, process) = try SSHProcess.start(command, patience: patience)
                return try ServedConnection(pipes, with: process)
            }
            links[url] = link
            return link
        }
    }
}
