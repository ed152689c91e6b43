// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
package import VaultAgent
internal import VaultCrypto
package import VaultFormat
package import VaultSync

/// What a change of a fleet through an agent came to.
package struct FleetChange: MessageValue, Sendable {
    /// Why it was not made.
    package var failure: SyncError?
    /// Of the log that the failure is about.
    package var deviceNames: [LogID: String] = [:]
    /// What a device calls itself.
    package var name: String?
    /// That was let in.
    package var device: FleetDevice?

    package func write(to writer: inout MessageWriter) {
        writer.put(failure)
        writer.put(deviceNames.sorted { $0.key < $1.key }.map { DeviceName(log: $0.key, name: $0.value) })
        writer.put(name)
        writer.put(device)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> FleetChange {
        let failure: SyncError? = try reader.read()
        let names: [DeviceName] = try reader.read()
        guard zip(names, names.dropFirst()).allSatisfy({ $0.log < $1.log }) else { throw .invalid }
        return FleetChange(
            failure: failure, deviceNames: Dictionary(uniqueKeysWithValues: names.map { ($0.log, $0.name) }),
            name: try reader.read(), device: try reader.read())
    }
}

extension Answers {
    /// Runs a change of the fleet. What syncs unasked gives way to it.
    ///
    /// - Parameter isNoted: whether the log of who did what says so; else nothing was changed.
    fileprivate func changeFleet(
        _ caller: Caller, isNoted: Bool = true, _ body: (Fleet, inout FleetChange) throws(SyncError) -> Void
    ) throws(VaultError) -> [SyncReply] {
        let change: FleetChange = try keeper.whileNotSyncing { () throws(VaultError) in
            try keeper.use(["*"]) { vault throws(VaultError) in
                var change = FleetChange()
                do throws(SyncError) {
                    let fleet = try Fleet(
                        vault, environment: keeper.settings.environment, engines: keeper.engines)
                    do throws(SyncError) { try body(fleet, &change) } catch {
                        change = FleetChange(failure: error)
                        if case .alarm(let alarm) = error, let log = alarm.log {
                            change.deviceNames = ((try? fleet.deviceNames()) ?? [:]).filter { $0.key == log }
                        }
                    }
                } catch { change.failure = error }
                if case .vault(let error)? = change.failure { throw error }
                return change
            }
        }
        if isNoted, change.failure == nil {
            try afterwards { audit throws(VaultError) in try audit.note(.set, count: 1, by: caller) }
        }
        return SyncReply.parts(of: change)
    }
}

/// - Throws: for a code of another length.
private func recoveryCode(_ secret: Secret) throws(SyncError) -> RecoveryCode {
    do throws(CryptoError) { return try RecoveryCode(secret: secret) } catch { throw .noAnswer }
}

// Who is in the fleet, and where it meets, concerns the items of every group.

extension AddRemoteRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleet(caller) { (fleet, change) throws(SyncError) in
            let credentials = RemoteCredentials(
                password: password, authorities: authorities.map { FilePath($0) },
                certificate: certificate.map { FilePath($0) }, key: key.map { FilePath($0) })
            try fleet.addRemote(try RemoteURL(url), credentials: credentials)
            let status = try fleet.status()
            change.name = status.devices.first { $0.isThis }?.name ?? status.deviceName
        }
    }
}

extension RemoveRemoteRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleet(caller) { (fleet, _) throws(SyncError) in
            try fleet.removeRemote(try RemoteURL(value))
        }
    }
}

extension AskingDeviceRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleet(caller, isNoted: false) { (fleet, change) throws(SyncError) in
            change.name = try fleet.joinRequest(for: try recoveryCode(value))
        }
    }
}

extension ApproveRequest: VaultRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isWhole }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [SyncReply] {
        try answers.changeFleet(caller) { (fleet, change) throws(SyncError) in
            guard let role = DeviceRole(rawValue: role), role != .recovery else { throw .noSuchDevice }
            change.device = try fleet.approve(try recoveryCode(code), role: role)
        }
    }
}
