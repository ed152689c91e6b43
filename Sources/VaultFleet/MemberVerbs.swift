// SPDX-License-Identifier: Apache-2.0
package import VaultAgent
package import VaultCrypto
internal import VaultFormat
package import VaultSync

// Changes of the remotes and the devices of a fleet. Codes have 20 bytes.

/// Adds a remote to the fleet of the vault.
package struct AddRemoteRequest: FleetVerb {
    package static let kind: UInt8 = 41
    package static let form = MessageForm(Self.init) { $0.place }
    let place: RemotePlace

    package init(_ place: RemotePlace) { self.place = place }

    package func run(_ fleet: Fleet, _ host: FleetHost) throws(SyncError) -> FleetChange {
        try fleet.addRemote(try RemoteURL(place.url), credentials: place.credentials)
        return FleetChange(name: try fleet.ownName)
    }
}

/// Ends the syncs with a remote, which is named by its URL. The remote may be the one that hangs.
package struct RemoveRemoteRequest: FleetVerb {
    package static let kind: UInt8 = 42
    package static let waitsForRemote = false
    package static let form = MessageForm(Self.init) { $0.url }
    let url: String

    package init(_ url: String) { self.url = url }

    package func run(_ fleet: Fleet, _ host: FleetHost) throws(SyncError) -> FleetChange {
        try fleet.removeRemote(try RemoteURL(url))
        return FleetChange()
    }
}

/// Requests the name of the device that asks for admission with a code. A caller without the right to admit the device
/// is refused before a person is asked.
package struct AskingDeviceRequest: FleetVerb {
    package static let kind: UInt8 = 43
    package static let (onlyReads, opensAll) = (true, true)
    package static let form = MessageForm(Self.init) { $0.code }
    let code: Secret

    package init(_ code: Secret) { self.code = code }

    package func run(_ fleet: Fleet, _ host: FleetHost) throws(SyncError) -> FleetChange {
        FleetChange(name: try fleet.joinRequest(for: try RecoveryCode(told: code)), isLook: true)
    }
}

/// Admits the device with this code.
package struct ApproveRequest: FleetVerb {
    package static let kind: UInt8 = 44
    package static let opensAll = true
    package static let form = MessageForm(Self.init) { ($0.code, $0.role) }
    let code: Secret
    /// The number of the role, like in a roster.
    let role: UInt8

    package init(code: Secret, role: UInt8) { (self.code, self.role) = (code, role) }

    package func run(_ fleet: Fleet, _ host: FleetHost) throws(SyncError) -> FleetChange {
        guard let role = DeviceRole(rawValue: role), role != .recovery else { throw .noSuchDevice }
        return FleetChange(device: try fleet.approve(try RecoveryCode(told: code), role: role))
    }
}

/// Requests the items whose secrets a device can read, or could read. The request requires presence: a list without the
/// items that need a permission would present them as safe.
package struct DeviceSecretsRequest: FleetVerb {
    package static let kind: UInt8 = 47
    package static let (onlyReads, opensAll, waitsForRemote) = (true, true, false)
    package static let form = MessageForm(Self.init) { $0.device }
    let device: String

    package init(_ device: String) { self.device = device }

    package func run(_ fleet: Fleet, _ host: FleetHost) throws(SyncError) -> FleetChange {
        FleetChange(secrets: try fleet.secrets(ofDeviceNamed: device), isLook: true)
    }
}

/// Removes a device from the fleet.
package struct RemoveDeviceRequest: FleetVerb {
    package static let kind: UInt8 = 48
    package static let form = MessageForm(Self.init) { $0.device }
    let device: String

    package init(_ device: String) { self.device = device }

    package func run(_ fleet: Fleet, _ host: FleetHost) throws(SyncError) -> FleetChange {
        let removal = try fleet.remove(deviceNamed: device)
        let secrets = DeviceSecrets(
            device: removal.device, isRemoved: removal.failure == nil, readable: removal.readable)
        return FleetChange(secrets: secrets, outcomes: removal.outcomes, delay: removal.failure)
    }
}

/// Makes this device's list of devices valid for all.
package struct ResolveRosterRequest: FleetVerb {
    package static let kind: UInt8 = 49
    package static let form = MessageForm<Self>({ Self() }) { _ in () }

    package init() {}

    package func run(_ fleet: Fleet, _ host: FleetHost) throws(SyncError) -> FleetChange {
        try fleet.resolveRoster()
        return FleetChange()
    }
}

/// Replaces the fleet's recovery code.
package struct RenewCodeRequest: FleetVerb {
    package static let kind: UInt8 = 55
    package static let opensAll = true
    package static let form = MessageForm(Self.init) { $0.code }
    /// The new code, which its owner has. `nil` only checks whether the code could be renewed.
    let code: Secret?

    package init(_ code: Secret?) { self.code = code }

    package func run(_ fleet: Fleet, _ host: FleetHost) throws(SyncError) -> FleetChange {
        guard let code else {
            try fleet.checkCanRenewRecoveryCode()
            return FleetChange(isLook: true)
        }
        return FleetChange(outcomes: try fleet.renewRecoveryCode(code: try RecoveryCode(told: code)))
    }
}
