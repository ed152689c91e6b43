// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
package import VaultFormat

/// The members of the realm: the sum of a chain of records. Rosters are never merged.
package struct Roster: Sendable {
    /// The removal of a device by a record.
    struct Removal {
        let device: DeviceID
        let cuts: [LogHead]
    }

    /// The time and author of a device's removal.
    package struct Departure: Sendable {
        /// The stamp of the record.
        package let stamp: UInt64
        package let remover: DeviceID
    }

    package let realmID: RealmID
    /// The devices in the order of their enrolment.
    package private(set) var devices: [RosterDevice] = []
    /// Every device that ever was a member.
    package private(set) var known: [DeviceID: RosterDevice] = [:]
    /// The devices that were removed.
    package private(set) var departures: [DeviceID: Departure] = [:]
    package var gone: Dictionary<DeviceID, Departure>.Keys { departures.keys }
    package private(set) var founder: DeviceID?
    package private(set) var recovery: DeviceID?
    package private(set) var recoveryMAC: Bytes32?
    /// The hash of each record.
    package private(set) var hashes: [Bytes32] = []
    /// The epoch after each record.
    package private(set) var epochs: [UInt32] = []

    package init(_ realmID: RealmID) { self.realmID = realmID }

    package var sequence: UInt64 { UInt64(hashes.count) }
    package var hash: Bytes32 { hashes.last ?? .zero }
    package var epoch: UInt32 { epochs.last ?? 0 }

    package func device(_ id: DeviceID) -> RosterDevice? { departures[id] == nil ? known[id] : nil }

    /// The devices that may sign the next record.
    var owners: [RosterDevice] { devices.filter { $0.role == .owner || $0.role == .recovery } }

    /// Applies the next record, which was opened.
    ///
    /// - Parameter isSigned: whether the record's signature verifies with a key.
    mutating func apply(
        _ entry: RosterEntry<Range<Int>>, hash: Bytes32, at address: RecordAddress, isSigned: (Bytes32) -> Bool
    ) throws(SyncError) -> [Removal] {
        guard entry.realmID == realmID, entry.sequence == address.sequence, entry.sequence == sequence + 1 else {
            throw .alarm(address.alarm(.damaged, "a roster's record of another place"))
        }
        guard entry.previous == self.hash else {
            throw .alarm(address.alarm(.forked, "the roster was changed on both sides"))
        }
        var fresh = self
        var removals: [Removal] = []
        var epoch = self.epoch
        for operation in entry.operations {
            switch operation {
            case .genesis(let founder, let recovery, let mac):
                (fresh.founder, fresh.recovery, fresh.recoveryMAC, epoch) = (founder, recovery, mac, 1)
            case .enrol(let device):
                guard fresh.known[device.id] == nil,
                    Identity.deviceID(signing: device.signingKey, box: device.boxKey) == device.id
                else { throw .alarm(address.alarm(.forged, "a device under a name that is not its own")) }
                fresh.devices.append(device)
                fresh.known[device.id] = device
            case .remove(let device, let cuts):
                fresh.devices.removeAll { $0.id == device }
                fresh.departures[device] = Departure(stamp: entry.hlc, remover: entry.signer)
                removals.append(Removal(device: device, cuts: cuts))
            case .epoch: epoch += 1
            case .recovery(let device, let mac): (fresh.recovery, fresh.recoveryMAC) = (device, mac)
            }
        }
        guard fresh.hasOneRecoveryCode(after: entry.operations) else {
            throw .alarm(address.alarm(.forged, "a recovery code that does not belong to the roster"))
        }
        // The founder signs the first record, which enrols the founder.
        let signers = sequence == 0 ? fresh.owners : owners
        guard let signer = signers.first(where: { $0.id == entry.signer }),
            sequence > 0 || signer.id == fresh.founder
        else { throw .alarm(address.alarm(.forged, "the roster's record is not signed by an owner")) }
        guard isSigned(signer.signingKey) else {
            throw .alarm(address.alarm(.forged, "the roster's record has a wrong signature"))
        }
        guard entry.epoch == epoch else { throw .alarm(address.alarm(.damaged, "a roster's record of another epoch")) }
        fresh.hashes.append(hash)
        fresh.epochs.append(epoch)
        self = fresh
        return removals
    }

    /// Whether there is at most one recovery device, and every operation that names one names this device.
    private func hasOneRecoveryCode(after operations: [RosterOperation<Range<Int>>]) -> Bool {
        let codes = devices.filter { $0.role == .recovery }.map(\.id)
        return codes.count <= 1
            && operations.allSatisfy { if case .recovery(let device, _) = $0 { codes == [device] } else { true } }
    }
}
