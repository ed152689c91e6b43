// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import VaultFormat
package import VaultStorage
internal import VaultSystem

/// Opens the stores of the remotes whose URLs have one scheme.
package protocol RemoteEngine: Sendable {
    /// - Parameter realm: the fleet, or zeros for the mailboxes of devices that want to join.
    /// - Throws: `.unreachable` or `.refused`; an engine may leave these errors to the store's methods.
    func store(at remote: RemoteAccess, realm: RealmID) throws(RecordStoreError) -> any RecordStore

    /// Returns the fleets that have records there.
    func realms(at remote: RemoteAccess) throws(RecordStoreError) -> [RealmID]
}

/// The engines of a process, by the scheme of their URLs.
package struct RemoteEngines: Sendable {
    private let engines: [RemoteURL.Scheme: any RemoteEngine]
    /// The memory of this value and its copies.
    let looks = RecentLooks()
    let rosters = FollowedRosters()

    package init(_ engines: [RemoteURL.Scheme: any RemoteEngine]) { self.engines = engines }

    /// Engines for folders only.
    package init(folders environment: VaultEnvironment) { self.init([.file: FolderEngine(environment)]) }

    func store(at remote: RemoteAccess, realm: RealmID) throws(SyncError) -> any RecordStore {
        let engine = try engine(of: remote.url)
        return try stored { () throws(RecordStoreError) in try engine.store(at: remote, realm: realm) }
    }

    func realms(at remote: RemoteAccess) throws(SyncError) -> [RealmID] {
        let engine = try engine(of: remote.url)
        return try stored { () throws(RecordStoreError) in try engine.realms(at: remote) }
    }

    private func engine(of url: RemoteURL) throws(SyncError) -> any RemoteEngine {
        guard let engine = engines[url.scheme] else {
            throw .store(.refused("this program has no engine for \(url.scheme.rawValue)", hint: nil))
        }
        return engine
    }
}

/// Folders that devices share.
package struct FolderEngine: RemoteEngine {
    private let environment: VaultEnvironment

    package init(_ environment: VaultEnvironment) { self.environment = environment }

    package func store(at remote: RemoteAccess, realm: RealmID) throws(RecordStoreError) -> any RecordStore {
        DirectoryRecordStore(
            remote.url.folder, realm: realm, createsRoot: false, on: environment.fileSystem,
            random: environment.random)
    }

    package func realms(at remote: RemoteAccess) throws(RecordStoreError) -> [RealmID] {
        try DirectoryRecordStore.realms(below: remote.url.folder, on: environment.fileSystem)
    }
}

extension DirectoryRecordStore {
    /// Returns the fleets that have records in a folder.
    ///
    /// - Throws: `.unreachable` for a missing folder.
    package static func realms(
        below root: FilePath, on fileSystem: any VaultFileSystem
    ) throws(RecordStoreError) -> [RealmID] {
        var found: [RealmID] = []
        do throws(Errno) {
            let folder = try fileSystem.openDirectory(root)
            guard try folder.status(of: version)?.kind == .directory else { return [] }
            try folder.directory(version).forEachName { name in
                if let realm = Bytes16(text: name), realm != .zero { found.append(realm) }
            }
        } catch {
            if error == .noSuchFileOrDirectory || error == .notDirectory { throw .unreachable(root.string) }
            throw .inputOutput(error, root.string)
        }
        return found
    }
}
