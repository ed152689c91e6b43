// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import TestSupport
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// A malicious device of a fleet, with valid keys of its own.
final class LyingMember {
    let identity: Identity
    let store: DirectoryRecordStore
    let log: LogID
    private let environment: VaultEnvironment
    private(set) var sequence: UInt64
    private(set) var previous: Bytes32
    private let state: ReplicaState
    /// The primary key of an existing item of the vault.
    private let key: AttributeList

    /// - Parameter newLog: Whether to begin another log.
    init(_ home: Home, newLog: Bool = false) throws {
        let membership = try home.fleet.membership()
        (identity, state) = (membership.identity, membership.state)
        environment = home.environment
        let items = VaultItems(
            home.vault, state, of: identity.realmID, random: SystemRandom())
        var key: [UInt8] = []
        try items.forEachState(of: items.all().map(\.id)) { item throws(SyncError) in
            key = item.winner(of: .primaryKey)?.value.plainBytes ?? key
        }
        self.key = try EncodedAttributes(parsing: key, key.indices).values
        store = DirectoryRecordStore(
            Home.remote, realm: identity.realmID, createsRoot: false, on: home.environment.fileSystem)
        log = newLog ? Bytes16(SystemRandom().bytes(16)) : state.log
        (sequence, previous) = newLog ? (0, .zero) : (state.sequence, state.hash)
    }

    /// Puts the next entry, as changed by the body, into the folder.
    @discardableResult
    func tell(
        signedBy signer: Identity? = nil, epoch: UInt32? = nil, numbered number: UInt64? = nil,
        _ change: (inout LogEntry<Secret>) throws -> Void
    ) throws -> RecordAddress {
        var entry = LogEntry<Secret>(
            epoch: epoch ?? state.epoch, realmID: identity.realmID, logID: log, deviceID: identity.deviceID,
            sequence: sequence + 1, previous: previous, hlc: state.clock + (sequence + 1) << 16, logset: 0,
            rosterSequence: state.rosterSequence, rosterHash: state.rosterHash)
        try change(&entry)
        let address = RecordAddress(RecordStream(.log, entry.logID), number ?? entry.sequence)
        let sealer = RecordSealer(realmID: identity.realmID, random: SystemRandom())
        guard let key = identity.epochKeys[entry.epoch] else { throw SyncError.notJoined }
        var pieces = try entry.pieces(\.count)
        if let number, case .bytes(var bytes) = pieces[0] {
            var digits: [UInt8] = []
            digits.append(integer: number)
            bytes.replaceSubrange(56..<64, with: digits)
            // The number of the only trim, after its log.
            if !entry.trims.isEmpty { bytes.replaceSubrange(204..<212, with: digits) }
            pieces[0] = .bytes(bytes)
        }
        let bytes = try sealer.seal(
            pieces, at: address, epoch: entry.epoch, key: key, signedBy: signer ?? identity)
        let folder = try environment.fileSystem.openDirectory(Home.remote).directory("vlt1")
            .directory(identity.realmID.text).directory("1")
        try? folder.createDirectory(entry.logID.text)
        try folder.directory(entry.logID.text).openOrCreate(RecordName(address.sequence).text)
            .writeAll(bytes.span, at: 0)
        (sequence, previous) = (address.sequence, sealer.hash(address, bytes))
        return address
    }

    /// Returns a new item of this log.
    func item(_ account: String, stamp: UInt64? = nil) throws -> ItemState<Secret> {
        let dot = Dot(log: log, stamp: stamp ?? state.clock + 1)
        var key = key
        key[Attribute.account.tag] = .string(account)
        var created: [UInt8] = []
        created.append(integer: (800_000_000 as Double).bitPattern)
        var state = ItemState<Secret>(
            id: ItemID(random: SystemRandom().bytes(16)), itemClass: .genericPassword, context: [log: dot.stamp])
        state.fields[.life] = [dot: .plain([1])]
        state.fields[.protection] = [dot: .plain([1])]
        state.fields[.created] = [dot: .plain(created)]
        state.fields[.primaryKey] = [dot: .plain(EncodedAttributes(key, user: [:]).bytes)]
        state.fields[.secret] = [dot: .secret(try Secret(text: "of \(account)"))]
        return state
    }
}
