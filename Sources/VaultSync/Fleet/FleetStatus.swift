// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// What a vault knows of its fleet without a look at a remote. Times are in seconds since 2001-01-01T00:00:00Z.
package struct FleetStatus: Sendable {
    package struct Remote: Sendable {
        package let url: RemoteURL
        package let lastSync: Double?
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
}
