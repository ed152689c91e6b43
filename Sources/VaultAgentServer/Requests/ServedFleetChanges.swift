// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultCrypto
internal import VaultFormat
internal import VaultSync

// Changes of the fleet. Its members and remotes concern the items of every group.

extension RecoveryCode {
    /// - Throws: `.noAnswer` for a code of another length.
    init(told secret: Secret) throws(SyncError) {
        do throws(CryptoError) { try self.init(secret: secret) } catch { throw .noAnswer }
    }
}

extension RemotePlace {
    var credentials: RemoteCredentials {
        RemoteCredentials(
            password: password, authorities: authorities.map { FilePath($0) },
            certificate: certificate.map { FilePath($0) }, key: key.map { FilePath($0) })
    }
}

extension Fleet {
    /// This device's name in the fleet, which has a number if the original name was taken.
    var ownName: String {
        get throws(SyncError) {
            let status = try status()
            return status.devices.first { $0.isThis }?.name ?? status.deviceName
        }
    }
}

// MARK: Remotes

extension AddRemoteRequest: RemoteRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleet(caller) { (fleet, change) throws(SyncError) in
            try fleet.addRemote(try RemoteURL(place.url), credentials: place.credentials)
            change.name = try fleet.ownName
        }
    }
}

extension RemoveRemoteRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    /// Does not wait for a sync: this remote may be the one that hangs.
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleetAtOnce(caller) { (fleet, _) throws(SyncError) in
            try fleet.removeRemote(try RemoteURL(url))
        }
    }
}

// MARK: Devices

extension AskingDeviceRequest: RemoteRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        // A caller without the right is refused before a person is asked.
        try answers.changeFleet(caller, opensAll: true) { (fleet, change) throws(SyncError) in
            change.isLook = true
            change.name = try fleet.joinRequest(for: try RecoveryCode(told: code))
        }
    }
}

extension ApproveRequest: RemoteRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleet(caller, opensAll: true) { (fleet, change) throws(SyncError) in
            guard let role = DeviceRole(rawValue: role), role != .recovery else { throw .noSuchDevice }
            change.device = try fleet.approve(try RecoveryCode(told: code), role: role)
        }
    }
}

extension DeviceSecretsRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    /// Requires presence: a list without the items that need a permission would present them as safe.
    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleetAtOnce(caller, opensAll: true) { (fleet, change) throws(SyncError) in
            change.isLook = true
            change.secrets = try fleet.secrets(ofDeviceNamed: device)
        }
    }
}

extension RemoveDeviceRequest: RemoteRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleet(caller) { (fleet, change) throws(SyncError) in
            let removal = try fleet.remove(deviceNamed: device)
            change.secrets = DeviceSecrets(
                device: removal.device, isRemoved: removal.failure == nil, readable: removal.readable)
            (change.outcomes, change.delay) = (removal.outcomes, removal.failure)
        }
    }
}

extension ResolveRosterRequest: RemoteRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleet(caller) { (fleet, _) throws(SyncError) in try fleet.resolveRoster() }
    }
}
