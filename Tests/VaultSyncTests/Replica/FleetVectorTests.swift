// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSync

/// A vector's fleet as sealed and signed records, and a reader of them.
private struct SealedFleet {
    let vector: ReachVectors.Fleet
    let ids: VectorIDs
    let realm = Bytes16([UInt8](repeating: 7, count: 16))
    let random = SystemRandom()
    var identities: [String: Identity] = [:]
    var roster: [StoredRecord] = []
    var rosterHashes: [Bytes32] = []
    var entries: [StoredRecord] = []

    init(_ vector: ReachVectors.Fleet) throws {
        self.vector = vector
        ids = VectorIDs(vector.entries.flatMap { $0.items.map(\.item) } + vector.expected.map(\.item))
        var keys: [UInt32: Secret] = [:]
        for epoch in 1...UInt32(1 + vector.roster.flatMap(\.ops).compactMap(\.epoch).count) {
            keys[epoch] = Secret(try SecretBytes(copying: [UInt8](repeating: UInt8(epoch), count: 32).span))
        }
        let names = Set(vector.roster.flatMap(\.ops).compactMap(\.enrol)).sorted()
        for (index, name) in names.enumerated() {
            let seeds = [UInt8](repeating: UInt8(100 + index), count: 64)
            identities[name] = try Identity(
                realm, seeds: Secret(try SecretBytes(copying: seeds.span)), epochKeys: keys)
        }
        try sealRoster()
        try sealEntries()
    }

    private mutating func sealRoster() throws {
        var epoch: UInt32 = 1
        let sealer = RecordSealer(realmID: realm, random: random)
        for record in vector.roster {
            var operations: [RosterOperation<Secret>] = []
            let signer = try #require(identities[record.by])
            if record.seq == 1 {
                operations.append(
                    .genesis(founder: signer.deviceID, recovery: signer.deviceID, recoveryMAC: .zero))
            }
            for operation in record.ops {
                if let name = operation.enrol {
                    let identity = try #require(identities[name])
                    operations.append(
                        .enrol(
                            RosterDevice(
                                id: identity.deviceID, signingKey: identity.device.signing,
                                boxKey: identity.device.box, role: .owner, name: name)))
                } else if let name = operation.remove {
                    let cuts = operation.cuts?.map {
                        LogHead(log: bytes16($0.log), sequence: $0.number, hash: .zero)
                    }
                    operations.append(.remove(try #require(identities[name]).deviceID, cuts: cuts ?? []))
                } else if operation.epoch != nil {
                    let new = try #require(signer.epochKeys[epoch + 1])
                    let hash = Bytes32(new.withBytes { KeyedHash.digest($0) }.bytes.span)
                    operations.append(.epoch(previousKey: try #require(signer.epochKeys[epoch]), keyHash: hash))
                    epoch += 1
                }
            }
            let address = RecordAddress(RecordStream(.roster, realm), record.seq)
            let entry = RosterEntry<Secret>(
                epoch: epoch, realmID: realm, sequence: record.seq, previous: rosterHashes.last ?? .zero,
                signer: signer.deviceID, hlc: record.seq, operations: operations)
            let bytes = try sealer.seal(
                entry.pieces(), at: address, epoch: epoch, key: try #require(signer.epochKeys[epoch]), signedBy: signer)
            roster.append(StoredRecord(address, bytes))
            rosterHashes.append(sealer.hash(address, bytes))
        }
    }

    private mutating func sealEntries() throws {
        let sealer = RecordSealer(realmID: realm, random: random)
        var hashes: [RecordAddress: Bytes32] = [:]
        let owners = Dictionary(vector.entries.map { ($0.log, $0.device) }) { first, _ in first }
        let order = citedFirst()
        var records: [Int: StoredRecord] = [:]
        for index in order {
            let entry = vector.entries[index]
            let address = RecordAddress(RecordStream(.log, bytes16(entry.log)), entry.seq)
            func hash(_ log: String, _ sequence: UInt64) -> Bytes32 {
                hashes[RecordAddress(RecordStream(.log, bytes16(log)), sequence)]
                    ?? Bytes32([UInt8](repeating: 9, count: 32))
            }
            let identity = try #require(identities[entry.device])
            let epoch = self.epoch(after: entry.rosterSeq)
            // The sums cover other identifiers than the model's, so they are compared separately.
            let body = LogEntry<Secret>(
                epoch: epoch, realmID: realm, logID: bytes16(entry.log), deviceID: identity.deviceID,
                sequence: entry.seq, previous: entry.seq == 1 ? .zero : hash(entry.log, entry.seq - 1),
                hlc: entry.hlc, ack: entry.ack, logset: 0, rosterSequence: entry.rosterSeq,
                rosterHash: rosterHashes[Int(entry.rosterSeq) - 1],
                tips: entry.tips.compactMap { tip in
                    owners[tip.log].map {
                        LogTip(
                            log: bytes16(tip.log), device: identities[$0]?.deviceID ?? .zero, sequence: tip.number,
                            hash: hash(tip.log, tip.number))
                    }
                },
                trims: entry.trims.filter { $0.number > 1 }.map {
                    LogTrim(log: bytes16($0.log), base: $0.number, hash: hash($0.log, $0.number - 1))
                },
                closes: entry.closes.filter { $0.number > 0 }.map {
                    LogHead(log: bytes16($0.log), sequence: $0.number, hash: hash($0.log, $0.number))
                }, items: try entry.items.map { try $0.state(ids, withProtection: true) })
            let bytes = try sealer.seal(
                body.pieces(\.count), at: address, epoch: epoch, key: try #require(identity.epochKeys[epoch]),
                signedBy: identity)
            hashes[address] = sealer.hash(address, bytes)
            records[index] = StoredRecord(address, bytes)
        }
        entries = vector.entries.indices.compactMap { records[$0] }
    }

    /// Returns an order in which cited records come first: a record cites others by the hashes of their sealed form.
    private func citedFirst() -> [Int] {
        var places: [String: Int] = [:]
        for (index, entry) in vector.entries.enumerated() { places["\(entry.log) \(entry.seq)"] = index }
        var (order, seen): ([Int], Set<Int>) = ([], [])
        func visit(_ index: Int) {
            guard seen.insert(index).inserted else { return }
            let entry = vector.entries[index]
            var cited = ["\(entry.log) \(entry.seq - 1)"]
            cited += entry.tips.map { "\($0.log) \($0.number)" } + entry.closes.map { "\($0.log) \($0.number)" }
            cited += entry.trims.map { "\($0.log) \($0.number - 1)" }
            for name in cited { places[name].map(visit) }
            order.append(index)
        }
        for index in vector.entries.indices { visit(index) }
        return order
    }

    private func epoch(after sequence: UInt64) -> UInt32 {
        1 + UInt32(vector.roster.prefix(Int(sequence)).flatMap(\.ops).count { $0.epoch != nil })
    }

    func reader() throws -> Replica<MemoryItems> {
        let seeds = Secret(try SecretBytes(copying: [UInt8](repeating: 1, count: 64).span))
        let keys = try #require(identities.values.first).epochKeys
        let identity = try Identity(realm, seeds: seeds, epochKeys: keys)
        let state = ReplicaState(log: Bytes16(random.bytes(16)))
        let items = MemoryItems(state, random: random)
        return try Replica(
            items, state, identity: identity, mirror: Mirror(MemoryRecordStore()), policy: ReplicaPolicy(),
            random: random, clock: { 1 << 40 })
    }
}

struct FleetVectorTests {
    @Test(arguments: ReachVectors.all.fleets)
    func `entries that arrive in any order end in the same items`(vector: ReachVectors.Fleet) throws {
        let fleet = try SealedFleet(vector)
        for batches in vector.arrivals {
            let store = MemoryRecordStore()
            _ = try store.append(fleet.roster)
            let reader = try fleet.reader()
            var remote = RemoteState()
            for batch in batches {
                for index in batch { _ = try store.append([fleet.entries[index]]) }
                try reader.sync(with: store, &remote, tells: false)
            }
            #expect(reader.takeFindings().alarms.isEmpty)
            #expect(reader.state.suspects.isEmpty)
            expectSame(reader.items, vector.expected, fleet.ids, onlyAlive: true)
            let heads = reader.member.openLogs.filter { reader.member.head($0) > 0 }
            #expect(
                Set(heads.map { "\($0.text) \(reader.member.head($0))" })
                    == Set(vector.heads.map { "\($0.log) \($0.number)" })
            )
            #expect(reader.member.othersAt &+ reader.member.ownAt(0) == UInt64(vector.at, radix: 16))
            #expect(sum(reader.items, fleet.ids) == UInt64(vector.sum, radix: 16))
        }
    }
}
