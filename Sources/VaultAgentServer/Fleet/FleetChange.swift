// SPDX-License-Identifier: Apache-2.0
internal import Vault
package import VaultAgent
package import VaultFormat
package import VaultSync

/// The result of a change of a fleet through an agent.
package struct FleetChange: MessageValue, Sendable {
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

    package func write(to writer: inout MessageWriter) {
        writer.put(failure)
        writer.put(deviceNames.sorted { $0.key < $1.key }.map { DeviceName(log: $0.key, name: $0.value) })
        writer.put(name)
        writer.put(device)
        writer.put(secrets)
        writer.put(outcomes)
        writer.put(delay)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> FleetChange {
        let failure: SyncError? = try reader.read()
        let names: [DeviceName] = try reader.read()
        guard zip(names, names.dropFirst()).allSatisfy({ $0.log < $1.log }) else { throw .invalid }
        return FleetChange(
            failure: failure, deviceNames: Dictionary(uniqueKeysWithValues: names.map { ($0.log, $0.name) }),
            name: try reader.read(), device: try reader.read(), secrets: try reader.read(),
            outcomes: try reader.read(), delay: try reader.read())
    }

    /// Sets the names of the devices whose logs have findings.
    mutating func nameDevices(_ fleet: Fleet) {
        let errors = [failure, delay] + outcomes.map(\.error)
        var logs = Set(outcomes.flatMap { $0.alarms + $0.notes }.compactMap(\.log))
        for case .alarm(let alarm)? in errors { if let log = alarm.log { logs.insert(log) } }
        guard !logs.isEmpty, let names = try? fleet.deviceNames() else { return }
        deviceNames = names.filter { logs.contains($0.key) }
    }
}

extension DeviceSecrets: MessageValue {
    package func write(to writer: inout MessageWriter) {
        writer.put(device)
        writer.put(isRemoved)
        writer.put(readable)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> DeviceSecrets {
        DeviceSecrets(device: try reader.read(), isRemoved: try reader.read(), readable: try reader.read())
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
