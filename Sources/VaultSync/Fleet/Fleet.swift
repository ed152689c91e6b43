// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SystemPackage
package import Vault
internal import VaultCrypto
internal import VaultFormat
package import VaultStorage

/// A vault's membership in a fleet, with the operations that a person requests.
///
/// Size: each operation is an extension in a file of its own; the membership itself is in the vault's records.
package final class Fleet {
    let vault: Vault
    let environment: VaultEnvironment
    let engines: RemoteEngines
    let stateDirectory: FilePath
    private let patience: Duration
    /// Whether syncs are automatic and periodic. One without news is recorded at most every ten minutes.
    package var isUnasked = false
    static let restOfUnasked: UInt64 = 600_000

    /// - Parameters:
    ///   - environment: the vault's environment; its state directory contains the mirror.
    ///   - engines: the engines of the remotes; `nil` reaches only folders.
    ///   - patience: the longest wait for another sync of the vault, such as an agent's automatic one.
    /// - Throws: `.vault(.storage(.noStateDirectory))`
    package init(
        _ vault: Vault, environment: VaultEnvironment = .system, engines: RemoteEngines? = nil,
        patience: Duration = .zero
    ) throws(SyncError) {
        guard let state = environment.stateDirectory else { throw .vault(.storage(.noStateDirectory)) }
        (self.vault, self.environment, stateDirectory) = (vault, environment, state)
        self.engines = engines ?? RemoteEngines(folders: environment)
        self.patience = patience
    }

    var random: any RandomSource { environment.random }

    // MARK: The vault's records

    /// The vault's records about its membership.
    struct Membership {
        var identity: Identity
        let deviceName: String
        var state: ReplicaState
        let isFiltered: Bool
        var remotes: [KnownRemote]
    }

    struct KnownRemote {
        let access: RemoteAccess
        var state: RemoteState

        var url: RemoteURL { access.url }
    }

    package var isJoined: Bool {
        get throws(SyncError) {
            try vaulted { () throws(VaultError) in
                try vault.readReplica { table throws(VaultError) in try !table.ownRecords(.identity).isEmpty }
            }
        }
    }

    /// - Throws: `.notJoined`
    func membership() throws(SyncError) -> Membership {
        let (identities, remotes, passwords) = try vaulted { () throws(VaultError) in
            try vault.readReplica { table throws(VaultError) in
                (try table.ownRecords(.identity), try table.ownRecords(.remote), try table.ownRecords(.password))
            }
        }
        guard let says = identities.first?.says, let value = identities.first?.value, let realm = Fleet.realm(of: says),
            let found = try vaulted({ () throws(VaultError) in
                try vault.readReplica { table throws(VaultError) in try table.replicaState(of: realm) }
            })
        else { throw .notJoined }
        var known: [KnownRemote] = []
        for remote in remotes {
            // A URL that only a later version can parse stays unchanged in the vault.
            guard let url = remote.says["url"], let place = try? RemoteURL(url) else { continue }
            let credentials = RemoteCredentials(
                attributes: remote.says, password: passwords.first { $0.says["url"] == url }?.value)
            var state = remote.value.flatMap { RemoteState($0.withBytes { $0.array }) } ?? RemoteState()
            state.saysRemoved = remote.says[Fleet.removed] != nil
            known.append(KnownRemote(access: RemoteAccess(place, credentials), state: state))
        }
        return Membership(
            identity: try Identity(realm, value: value), deviceName: says["device"] ?? "", state: found.state,
            isFiltered: found.isFiltered, remotes: known)
    }

    private static func realm(of says: [String: String]) -> RealmID? { says["realm"].flatMap { Bytes16(text: $0) } }

    func save(_ identity: Identity, deviceName: String) throws(SyncError) {
        let value = try identity.value()
        try vaulted { () throws(VaultError) in
            try vault.changeReplica { changes throws(VaultError) in
                try changes.putOwn(
                    .identity, ["realm": identity.realmID.text, "device": deviceName], value: value,
                    protection: .afterFirstUnlockThisDeviceOnly)
            }
        }
    }

    private static let removed = "removed"

    /// Stores a remote's state after a sync. A remote that was removed meanwhile stays removed, and one that was added
    /// anew keeps its new credentials.
    func update(_ remote: RemoteAccess, _ state: RemoteState) throws(SyncError) {
        let value = try secured { () throws(CryptoError) in Secret(try SecretBytes(copying: state.encoded().span)) }
        let url = remote.url.text
        try vaulted { () throws(VaultError) in
            try vault.changeReplica { changes throws(VaultError) in
                let known = try changes.table.ownRecords(.remote).first { $0.says["url"] == url }
                guard var says = known?.says else { return }
                says[Fleet.removed] = state.saysRemoved ? "1" : nil
                try changes.putOwn(.remote, says, value: value) { $0["url"] == url }
            }
        }
    }

    // MARK: Stores

    func store(at remote: RemoteAccess, realm: RealmID) throws(SyncError) -> any RecordStore {
        try engines.store(at: remote, realm: realm)
    }

    private var mirrorDirectory: (RealmID) -> FilePath {
        { [stateDirectory] realm in stateDirectory.appending(realm.text + ".mirror") }
    }

    func mirrorStore(of realm: RealmID, isDurable: Bool = true) -> any RecordStore {
        DirectoryRecordStore(
            mirrorDirectory(realm), realm: realm, createsRoot: true, on: environment.fileSystem, random: random,
            isDurable: isDurable)
    }

    func mirror(of realm: RealmID) throws(SyncError) -> Mirror {
        try Mirror(mirrorStore(of: realm), cache: mirrorStore(of: realm, isDurable: false))
    }

    /// Runs the body while no other process syncs a vault of the realm.
    ///
    /// - Throws: `.busy` if another sync outlasts the patience.
    func alone<R>(_ realm: RealmID, _ body: () throws(SyncError) -> R) throws(SyncError) -> R {
        let lock: any VaultFile
        do throws(Errno) {
            let path = mirrorDirectory(realm)
            try environment.fileSystem.createDirectories(path)
            lock = try environment.fileSystem.openDirectory(path).openOrCreate(".lock")
            let end = ContinuousClock.now + patience
            while try !lock.tryLock(exclusive: true) {
                guard ContinuousClock.now < end else { throw Errno.resourceTemporarilyUnavailable }
                usleep(20_000)
            }
        } catch {
            throw error == .resourceTemporarilyUnavailable
                ? .busy : .store(.inputOutput(error, mirrorDirectory(realm).string))
        }
        defer { lock.unlock() }
        return try body()
    }

    /// Runs the body alone, with the membership as of then: another process may have synced the vault until now.
    ///
    /// - Throws: `.isFiltered`, before anything is sent or taken.
    func alone<R>(_ body: (Membership) throws(SyncError) -> R) throws(SyncError) -> R {
        let identities = try vaulted { () throws(VaultError) in
            try vault.readReplica { table throws(VaultError) in try table.ownRecords(.identity) }
        }
        guard let realm = identities.first.flatMap({ Fleet.realm(of: $0.says) }) else { throw .notJoined }
        return try alone(realm) { () throws(SyncError) in
            let membership = try membership()
            guard !membership.isFiltered else { throw .isFiltered }
            return try body(membership)
        }
    }

    /// Makes a replica of the vault's current state.
    func replica(_ membership: Membership) throws(SyncError) -> Replica<VaultItems> {
        let items = VaultItems(vault, membership.state, of: membership.identity.realmID, random: random)
        var policy = ReplicaPolicy()
        // Where a folder is copied file by file, records arrive one by one.
        policy.withheldAfter = 86_400_000
        if isUnasked { policy.equalInterval = Fleet.restOfUnasked }
        return try Replica(
            items, membership.state, identity: membership.identity, mirror: mirror(of: membership.identity.realmID),
            policy: policy, roster: engines.rosters[membership.identity.realmID], random: random, clock: wallClock)
    }

    /// The environment's clock, which is read for each stamp.
    var wallClock: WallClock { { [clock = environment.clock] in clock.stamp } }

    // MARK: Status

    package func status() throws(SyncError) -> FleetStatus {
        let membership = try membership()
        let replica = try replica(membership)
        let state = membership.state
        let conflicts = try vaulted { () throws(VaultError) in try vault.conflictCount() }
        var alarms = state.suspects.map { Alarm(.withheld, nil, 0, $0.key) }
        for (log, known) in state.logs where known.differsSince > 0 {
            alarms.append(Alarm(.diverged, log, 0, "the same records, and other items"))
        }
        return FleetStatus(
            realmID: membership.identity.realmID, deviceName: membership.deviceName,
            remotes: membership.remotes.map {
                FleetStatus.Remote(url: $0.url, lastSync: $0.state.lastSync == 0 ? nil : Fleet.time($0.state.lastSync))
            },
            isFiltered: membership.isFiltered, pending: try untold(replica), conflicts: conflicts,
            isRemoved: membership.remotes.contains(where: \.state.saysRemoved),
            removals: state.removals.compactMap { replica.roster.device($0)?.name }.sorted(),
            lastEqual: state.equalAt == 0 ? nil : Fleet.time(state.equalAt), devices: devices(replica),
            alarms: alarms)
    }

    /// Returns the number of items that were changed here and are not published.
    func untold(_ replica: Replica<VaultItems>) throws(SyncError) -> Int {
        let unknown = try vaulted { () throws(VaultError) in try vault.readReplica { $0.unstamped.count } }
        return try replica.items.pending(after: replica.state.through).count + unknown
    }

    /// Converts milliseconds since 1970 to seconds since 2001.
    static func time(_ milliseconds: UInt64) -> Double { Double(milliseconds) / 1000 - 978_307_200 }

    func devices(_ replica: Replica<VaultItems>) -> [FleetDevice] {
        let silent = Set(replica.member.silentDevices.map(\.id))
        return replica.roster.devices.filter { $0.role != .recovery }.map { device in
            fleetDevice(device, replica, isSilent: silent.contains(device.id))
        }
    }

    func fleetDevice(_ device: RosterDevice, _ replica: Replica<VaultItems>, isSilent: Bool = false) -> FleetDevice {
        let last = replica.state.logs.values.filter { $0.device == device.id }.compactMap { $0.head?.hlc }.max()
        return FleetDevice(
            id: device.id, name: device.name, role: device.role, isThis: device.id == replica.deviceID,
            lastHeard: last.map { Fleet.time($0 >> 16) }, isSilent: isSilent)
    }

    /// Returns the text that two people compare to find out whether their devices agree: a hash of the roster, the
    /// heads of the open logs and the items.
    package func fingerprint() throws(SyncError) -> String {
        let replica = try replica(membership())
        var hash = KeyedHash()
        hash.update("VLT1 fingerprint")
        hash.update(replica.roster.hash.bytes.span)
        for log in replica.member.openLogs.sorted() {
            hash.update(log.bytes.span)
            hash.update(replica.member.head(log))
        }
        hash.update(try replica.items.sum().sum)
        let digits = hexadecimal(hash.digest().bytes.span.array(0..<16))
        return stride(from: 0, to: 32, by: 4).map { start in
            String(digits.dropFirst(start).prefix(4))
        }.joined(separator: " ")
    }
}
