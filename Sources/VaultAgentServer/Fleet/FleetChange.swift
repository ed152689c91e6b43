// SPDX-License-Identifier: Apache-2.0
internal import Vault
package import VaultAgent
package import VaultFormat
package import VaultSync

/// The result of a change of a fleet through an agent.
package struct FleetChange: MessageValue, Formed, Sendable {
    /// The reason why the change was not made.
    package var failure: SyncError?
    /// The names of the devices whose logs have findings.
    package var deviceNames: [LogID: String] = [:]
    /// The name of a device.
    package var name: String?
    /// The admitted device.
    package var device: FleetDevice?
    /// The items that a device can read, or could read.
    package var secrets: DeviceSecrets?
    /// The state of each remote after the change.
    package var outcomes: [SyncOutcome] = []
    /// The reason why no remote has taken the change yet. Each later sync tries again.
    package var delay: SyncError?
    /// Whether nothing was changed. Not encoded.
    var isLook = false

    package static let form = MessageForm<Self>({
        FleetChange(
            failure: $0, deviceNames: $1, name: $2, device: $3, secrets: $4, outcomes: $5, delay: $6)
    }) { ($0.failure, $0.deviceNames, $0.name, $0.device, $0.secrets, $0.outcomes, $0.delay) }

    /// Sets the names of the devices whose logs have findings.
    mutating func nameDevices(_ fleet: Fleet) {
        let errors = [failure, delay] + outcomes.map(\.error)
        var logs = Set(outcomes.flatMap { $0.alarms + $0.notes }.compactMap(\.log))
        for case .alarm(let alarm)? in errors { if let log = alarm.log { logs.insert(log) } }
        guard !logs.isEmpty, let names = try? fleet.deviceNames() else { return }
        deviceNames = names.filter { logs.contains($0.key) }
    }
}

extension Answers {
    /// Runs a change of the fleet, which requires an unlocked vault. An automatic sync gives way.
    ///
    /// - Parameters:
    ///   - opensAll: whether the change gives its initiator access to every item, including those that require user
    ///     presence.
    ///   - isUse: whether the request keeps the vault open.
    func changeFleet(
        _ caller: Caller, opensAll: Bool = false, isUse: Bool = true,
        _ body: (Fleet, inout FleetChange) throws(SyncError) -> Void
    ) throws(VaultError) -> [SyncReply] {
        try keeper.whileNotSyncing { () throws(VaultError) in
            try changeFleetAtOnce(caller, opensAll: opensAll, isUse: isUse, body)
        }
    }

    /// Does the work of ``changeFleet(_:opensAll:isUse:_:)`` without waiting for a current sync.
    func changeFleetAtOnce(
        _ caller: Caller, opensAll: Bool = false, isUse: Bool = true,
        _ body: (Fleet, inout FleetChange) throws(SyncError) -> Void
    ) throws(VaultError) -> [SyncReply] {
        keeper.lockIfDue()
        let change = try keeper.useAtOnce(["*"], counts: isUse) { vault throws(VaultError) in
            // The items that are readable after the first unlock would suffice for most of it.
            guard !vault.isLocked else { throw .locked }
            if opensAll, !caller.isAttended {
                let needsPerson = try vault.readReplica { $0.hasItemsForPersons }
                guard !needsPerson else { throw .presenceRequired }
            }
            var change = FleetChange()
            do throws(SyncError) {
                let fleet = try Fleet(vault, environment: keeper.settings.environment, engines: keeper.engines)
                do throws(SyncError) { try body(fleet, &change) } catch { change = FleetChange(failure: error) }
                change.nameDevices(fleet)
            } catch { change.failure = error }
            if case .vault(let error)? = change.failure { throw error }
            return change
        }
        if !change.isLook, change.failure == nil {
            try afterwards { audit throws(VaultError) in try audit.note(.set, count: 1, by: caller) }
        }
        return SyncReply.parts(of: change)
    }
}
