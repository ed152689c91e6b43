// SPDX-License-Identifier: Apache-2.0
package import Vault
package import VaultFormat
package import VaultStorage

/// A vault's knowledge of its fleet without a look at a remote. Times are in seconds since 2001-01-01T00:00:00Z.
package struct FleetStatus: Sendable {
    package struct Remote: Sendable {
        package let url: RemoteURL
        package let lastSync: Double?

        package init(url: RemoteURL, lastSync: Double?) { (self.url, self.lastSync) = (url, lastSync) }
    }

    package let realmID: RealmID
    package let deviceName: String
    package let remotes: [Remote]
    /// Whether the device joined with a part of the items, by an earlier release, and so sends and takes nothing.
    package let isFiltered: Bool
    /// The number of items that were changed here and are not published.
    package let pending: Int
    /// The number of fields with values of two devices, and of items whose primary key another item has.
    package let conflicts: Int
    /// Whether a remote has shown the removal of this device.
    package let isRemoved: Bool
    /// The names of devices that are removed as soon as a remote takes the change.
    package let removals: [String]
    package let lastEqual: Double?
    package let devices: [FleetDevice]
    /// The findings that persist.
    package let alarms: [Alarm]

    package init(
        realmID: RealmID, deviceName: String, remotes: [Remote], isFiltered: Bool, pending: Int,
        conflicts: Int, isRemoved: Bool, removals: [String], lastEqual: Double?, devices: [FleetDevice], alarms: [Alarm]
    ) {
        (self.realmID, self.deviceName, self.remotes) = (realmID, deviceName, remotes)
        (self.isFiltered, self.pending, self.conflicts) = (isFiltered, pending, conflicts)
        (self.isRemoved, self.removals, self.lastEqual) = (isRemoved, removals, lastEqual)
        (self.devices, self.alarms) = (devices, alarms)
    }

    /// Whether other places get what this device stores from now on: a remote has answered it, and none has removed it.
    package var copiesNewItems: Bool { !isRemoved && !isFiltered && remotes.contains { $0.lastSync != nil } }
}

/// The status of a fleet, with the names of its devices.
package struct FleetLook: Sendable {
    package var status: FleetStatus?
    /// The reason why there is no status.
    package var failure: SyncError?
    /// The names of the devices whose logs are known.
    package var deviceNames: [LogID: String]

    package init(status: FleetStatus?, failure: SyncError?, deviceNames: [LogID: String]) {
        (self.status, self.failure, self.deviceNames) = (status, failure, deviceNames)
    }

    /// - Parameter environment: the environment of the vault.
    package init(of vault: Vault, environment: VaultEnvironment = .system) {
        self.init(status: nil, failure: nil, deviceNames: [:])
        do throws(SyncError) {
            let fleet = try Fleet(vault, environment: environment)
            deviceNames = (try? fleet.deviceNames()) ?? [:]
            status = try fleet.status()
        } catch { failure = error }
    }
}

/// A device of the fleet.
package struct FleetDevice: Sendable {
    package let id: DeviceID
    package let name: String
    package let role: DeviceRole
    package let isThis: Bool
    package let lastHeard: Double?
    /// Whether the device has been silent too long: the erasure of deleted items waits for it.
    package let isSilent: Bool

    package init(id: DeviceID, name: String, role: DeviceRole, isThis: Bool, lastHeard: Double?, isSilent: Bool) {
        (self.id, self.name, self.role) = (id, name, role)
        (self.isThis, self.lastHeard, self.isSilent) = (isThis, lastHeard, isSilent)
    }
}

/// The outcome of a sync with one remote.
package struct SyncOutcome: Equatable, Sendable {
    package let url: RemoteURL
    package let report: SyncReport
    /// The findings that stopped a log, or everything.
    package let alarms: [Alarm]
    /// The findings that were healed.
    package let notes: [Alarm]
    package let error: SyncError?

    package init(url: RemoteURL, report: SyncReport, alarms: [Alarm], notes: [Alarm], error: SyncError?) {
        (self.url, self.report, self.alarms, self.notes, self.error) = (url, report, alarms, notes, error)
    }

    init(url: RemoteURL, _ findings: SyncFindings, error: SyncError?) {
        self.init(
            url: url, report: findings.report, alarms: findings.alarms, notes: findings.notes, error: error)
    }
}

/// The outcome of the removal of a device.
package struct DeviceRemoval: Sendable {
    package let device: FleetDevice
    /// The items that the device could read.
    package let readable: [ItemID]
    /// The state of each remote after the removal.
    package let outcomes: [SyncOutcome]
    /// The reason why no remote has taken the removal, which each later sync tries again. `nil` if the device is
    /// removed.
    package let failure: SyncError?
}

/// The items that a device can read, or could read at its removal.
package struct DeviceSecrets: Sendable {
    package let device: FleetDevice
    package let isRemoved: Bool
    package let readable: [ItemID]

    package init(device: FleetDevice, isRemoved: Bool, readable: [ItemID]) {
        (self.device, self.isRemoved, self.readable) = (device, isRemoved, readable)
    }
}
