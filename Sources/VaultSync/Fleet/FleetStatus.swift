// SPDX-License-Identifier: Apache-2.0
package import Vault
package import VaultFormat
package import VaultStorage

/// What a vault knows of its fleet without a look at a remote. Times are in seconds since 2001-01-01T00:00:00Z.
package struct FleetStatus: Sendable {
    package struct Remote: Sendable {
        package let url: RemoteURL
        package let lastSync: Double?

        package init(url: RemoteURL, lastSync: Double?) { (self.url, self.lastSync) = (url, lastSync) }
    }

    package let realmID: RealmID
    package let deviceName: String
    package let remotes: [Remote]
    package let onlySynchronizable: Bool
    /// Items that were changed here and are not told.
    package let pending: Int
    /// Fields with values of two devices, and items whose primary key another one has.
    package let conflicts: Int
    /// Whether a remote has shown that this device was removed.
    package let isRemoved: Bool
    /// The names of devices that are removed as soon as a remote takes that.
    package let removals: [String]
    package let lastEqual: Double?
    package let devices: [FleetDevice]
    /// What was found and is not over.
    package let alarms: [Alarm]

    package init(
        realmID: RealmID, deviceName: String, remotes: [Remote], onlySynchronizable: Bool, pending: Int,
        conflicts: Int, isRemoved: Bool, removals: [String], lastEqual: Double?, devices: [FleetDevice], alarms: [Alarm]
    ) {
        (self.realmID, self.deviceName, self.remotes) = (realmID, deviceName, remotes)
        (self.onlySynchronizable, self.pending, self.conflicts) = (onlySynchronizable, pending, conflicts)
        (self.isRemoved, self.removals, self.lastEqual) = (isRemoved, removals, lastEqual)
        (self.devices, self.alarms) = (devices, alarms)
    }
}

/// The status of a fleet, with what people call its devices.
package struct FleetLook: Sendable {
    package var status: FleetStatus?
    /// Why there is no status.
    package var failure: SyncError?
    /// Of the devices whose logs are known.
    package var deviceNames: [LogID: String]

    package init(status: FleetStatus?, failure: SyncError?, deviceNames: [LogID: String]) {
        (self.status, self.failure, self.deviceNames) = (status, failure, deviceNames)
    }

    /// - Parameter environment: of the vault.
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
    /// Whether nothing was heard of it that counts: what was deleted waits for it.
    package let isSilent: Bool

    package init(
        id: DeviceID, name: String, role: DeviceRole, isThis: Bool, lastHeard: Double?, isSilent: Bool
    ) {
        (self.id, self.name, self.role) = (id, name, role)
        (self.isThis, self.lastHeard, self.isSilent) = (isThis, lastHeard, isSilent)
    }
}

/// What a sync with one remote came to.
package struct SyncOutcome: Equatable, Sendable {
    package let url: RemoteURL
    package let report: SyncReport
    /// What stopped a log, or everything.
    package let alarms: [Alarm]
    /// What was noticed and healed.
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

/// What the removal of a device came to.
package struct DeviceRemoval: Sendable {
    package let device: FleetDevice
    /// The items that it could read.
    package let readable: [ItemID]
    /// The state of each remote after the removal.
    package let outcomes: [SyncOutcome]
    /// Why no remote has taken it; each later sync tries again. Nil: the device is removed.
    package let failure: SyncError?
}

/// The items that a device can read, or could when it was removed.
package struct DeviceSecrets: Sendable {
    package let device: FleetDevice
    package let isRemoved: Bool
    package let readable: [ItemID]

    package init(device: FleetDevice, isRemoved: Bool, readable: [ItemID]) {
        (self.device, self.isRemoved, self.readable) = (device, isRemoved, readable)
    }
}
