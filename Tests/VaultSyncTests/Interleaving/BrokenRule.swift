// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import Vault
import VaultCrypto
import VaultFormat
import VaultStorage

@testable import VaultSync

/// Rules of a sync. A negative control breaks a rule, and the checks must then detect faulty fleets.
enum BrokenRule: CaseIterable {
    /// No rule is broken: shows that the way of breaking rules causes no failure by itself.
    case none
    /// The watermark is the newest stamp of the query for pending changes.
    case watermark
    /// An item that no available record names stays.
    case unnamedItemsStay
    /// A device whose own log is incomplete publishes everything again.
    case wholeLog
    /// The mirror takes only verified records.
    case checkedMirror
    /// Missing parts of large values are restored to the remote.
    case partsComeBack

    static var broken: [BrokenRule] { allCases.filter { $0 != .none } }

    func sync(_ home: InterleavedHome, _ handle: InterleavedHome.Handle) throws(SyncError) -> SyncOutcome? {
        let fleet = handle.fleet
        let membership = try fleet.membership()
        guard let known = membership.remotes.first, !handle.vault.isLocked else { return nil }
        let realm = membership.identity.realmID
        return try fleet.alone(realm) { () throws(SyncError) in
            let membership = try fleet.membership()
            let base = VaultItems(
                handle.vault, membership.state, of: realm,
                random: fleet.random)
            try base.stampUnknown()
            let mirrorStore = BrokenMirror(
                fleet.mirrorStore(of: realm), keepsNumbersOf: self == .wholeLog ? membership.state : nil)
            let replica = try Replica(
                BrokenItems(base, self), membership.state, identity: membership.identity,
                mirror: Mirror(mirrorStore), policy: ReplicaPolicy(), random: fleet.random, clock: fleet.wallClock)
            var remote = known.state
            do throws(SyncError) {
                try replica.sync(
                    with: BrokenRemote(
                        try fleet.store(at: known.access, realm: realm), mirrorStore, self), &remote)
                try fleet.update(known.access, remote)
            } catch { return SyncOutcome(url: known.url, replica.takeFindings(), error: error) }
            return SyncOutcome(url: known.url, replica.takeFindings(), error: nil)
        }
    }
}

/// A vault's items with a rule broken.
private final class BrokenItems: ReplicaItems {
    private let base: VaultItems
    private let rule: BrokenRule

    init(_ base: VaultItems, _ rule: BrokenRule) { (self.base, self.rule) = (base, rule) }

    func moment() throws(SyncError) -> (newest: UInt64, version: UInt64) { try base.moment() }

    func look(for selection: ItemSelection) throws(SyncError) -> ItemLook { try base.look(for: selection) }

    func commit(_ change: ReplicaChange, _ state: ReplicaState) throws(SyncError) {
        var (change, state) = (change, state)
        if rule == .watermark {
            change.watermark = nil
            state.through = max(state.through, state.logs[state.log]?.head?.hlc ?? 0)
        }
        try base.commit(change, state)
    }

    func deleted() throws(SyncError) -> [DeletedItem] { try base.deleted() }

    func forEachState(
        of ids: [ItemID], _ body: (ItemState<Secret>) throws(SyncError) -> Void
    ) throws(SyncError) { try base.forEachState(of: ids, body) }

    func sum() throws(SyncError) -> (sum: UInt64, version: UInt64) { try base.sum() }

    func begin(_ newLog: inout NewLog) throws(SyncError) {
        let unnamed = try base.all().filter { newLog.fleet[$0.id] == nil && $0.own <= newLog.told }
        try base.begin(&newLog)
        guard rule == .unnamedItemsStay else { return }
        do throws(VaultError) {
            try base.vault.changeReplica { changes throws(VaultError) in
                for item in unnamed { try changes.purge(item.id) }
            }
        } catch { throw .vault(error) }
    }

    func makeItemID() -> ItemID { base.makeItemID() }
}

/// A mirror that claims to have records that it lost.
private final class BrokenMirror: RecordStore, @unchecked Sendable {
    private let base: any RecordStore
    private let state: ReplicaState?

    init(_ base: any RecordStore, keepsNumbersOf state: ReplicaState?) { (self.base, self.state) = (base, state) }

    func heads() throws(RecordStoreError) -> [StreamHead] {
        guard let state, state.sequence > 0 else { return try base.heads() }
        let own = RecordStream(.log, state.log)
        let first = max(state.logs[state.log]?.base ?? 0, 1)
        guard first <= state.sequence else { return try base.heads() }
        return try base.heads().filter { $0.stream != own } + [
            StreamHead(own, first: first, last: state.sequence, count: state.sequence - first + 1)
        ]
    }

    func read(
        _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
    ) throws(RecordStoreError) { try base.read(starts, take) }

    func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? { try base.record(at: address) }

    func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended] { try base.append(records) }

    func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError) {
        try base.remove(stream, below: sequence)
    }

    func remove(_ address: RecordAddress) throws(RecordStoreError) { try base.remove(address) }
}

/// A remote whose records enter the mirror unverified, or that claims to have all large values.
private final class BrokenRemote: RecordStore, @unchecked Sendable {
    private let base: any RecordStore
    private let mirror: any RecordStore
    private let rule: BrokenRule

    init(_ base: any RecordStore, _ mirror: any RecordStore, _ rule: BrokenRule) {
        (self.base, self.mirror, self.rule) = (base, mirror, rule)
    }

    func heads() throws(RecordStoreError) -> [StreamHead] {
        let heads = try base.heads()
        guard rule == .partsComeBack else { return heads }
        return try heads.filter { $0.stream.kind != .blob } + mirror.heads().filter { $0.stream.kind == .blob }
    }

    func read(
        _ starts: [StreamStart], _ take: (StoredRecord) throws(RecordStoreError) -> Void
    ) throws(RecordStoreError) {
        try base.read(starts) { record throws(RecordStoreError) in
            if rule == .checkedMirror, record.address.stream.kind == .log {
                let there = try mirror.append([record])
                // An existing record in the mirror is trusted.
                if there != [.created], let mine = try mirror.record(at: record.address) {
                    return try take(StoredRecord(record.address, mine))
                }
            }
            try take(record)
        }
    }

    func record(at address: RecordAddress) throws(RecordStoreError) -> [UInt8]? { try base.record(at: address) }

    func append(_ records: [StoredRecord]) throws(RecordStoreError) -> [Appended] { try base.append(records) }

    func remove(_ stream: RecordStream, below sequence: UInt64) throws(RecordStoreError) {
        try base.remove(stream, below: sequence)
    }

    func remove(_ address: RecordAddress) throws(RecordStoreError) {
        if rule != .checkedMirror { try base.remove(address) }
    }
}
