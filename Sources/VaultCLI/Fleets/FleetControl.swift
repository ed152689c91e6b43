// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent
internal import VaultFleet
internal import VaultSync

/// The fleet of a vault: through an agent that has the vault unlocked, or by a key of this process. Commands do not
/// distinguish the two.
protocol FleetControl {
    /// The vault of the fleet.
    var store: any ItemStore { get }

    /// The state of the fleet as this device knows it; `nil` if the vault belongs to no fleet.
    func status() throws -> FleetStatus?

    /// - Parameter isFinal: whether the change is not tried in another way, since its code was shown, or another part
    ///   of it was made.
    /// - Throws: the reason, if the change failed.
    func change(_ verb: some FleetVerb, isFinal: Bool) throws -> FleetChange

    func conflicts(revealing: Bool) throws -> (conflicts: [ItemConflict], names: DeviceNames)

    /// Keeps one value of a conflict, numbered from 1.
    func resolve(_ conflict: ItemConflict, keeping number: Int) throws
}

extension FleetControl {
    @discardableResult
    func change(_ verb: some FleetVerb) throws -> FleetChange { try change(verb, isFinal: false) }

    /// Runs a verb, and returns a part of its result. A result without the part is an agent's that speaks another
    /// protocol; the verb may have made its change, and is not tried in another way.
    func value<Value>(_ part: KeyPath<FleetChange, Value?>, of verb: some FleetVerb) throws -> Value {
        guard let value = try change(verb)[keyPath: part] else { throw VaultError.agent(.protocolViolation) }
        return value
    }

    func joinedStatus() throws -> FleetStatus {
        guard let status = try status() else { throw SyncError.notJoined }
        return status
    }
}

/// The agent cannot do it, and the command has to do it itself: the sandbox of the agent's service may bar a folder or
/// the network, and the agent may need the user's consent.
struct AgentCannot: Error {}

/// A fleet through an agent.
struct AgentFleet: FleetControl {
    let agent: AgentClient
    let options: VaultOptions

    var store: any ItemStore { agent }

    func status() throws -> FleetStatus? {
        let look = try asked { () throws(VaultError) in try agent.fleetLook() }
        guard look.status != nil || look.failure == .notJoined else { throw AgentCannot() }
        return look.status
    }

    func change(_ verb: some FleetVerb, isFinal: Bool) throws -> FleetChange {
        let change: FleetChange = try asked(isFinal: isFinal) { () throws(VaultError) in try agent.value(of: verb) }
        switch change.failure {
        case nil: return change
        case .notJoined? where !isFinal: throw AgentCannot()
        case .store? where try !isFinal && (Terminal() != nil || UnlockTarget(options.locked()).canAskMachine):
            throw AgentCannot()
        case let failure?: throw CommandError(failure, of: DeviceNames(change.deviceNames))
        }
    }

    func conflicts(revealing: Bool) throws -> (conflicts: [ItemConflict], names: DeviceNames) {
        // Items that require the user's consent fall through to the passphrase.
        agent.asking = .never
        return try asked { () throws(VaultError) in
            (try agent.conflicts(revealing: revealing), DeviceNames(try agent.fleetLook().deviceNames))
        }
    }

    func resolve(_ conflict: ItemConflict, keeping number: Int) throws { try agent.resolve(conflict, keeping: number) }

    private func asked<R>(isFinal: Bool = false, _ request: () throws(VaultError) -> R) throws -> R {
        do throws(VaultError) { return try request() } catch {
            let passedOn: [VaultError] = [
                .agent(.protocolViolation), .agent(.refused), .locked, .presenceRequired, .unimplemented,
            ]
            guard !isFinal, passedOn.contains(error) else { throw error }
            throw AgentCannot()
        }
    }
}

/// The fleet of a vault that this process has opened.
struct OpenedFleet: FleetControl {
    let fleet: Fleet
    let vault: Vault
    let host = FleetHost(isAgent: false) { .zero }

    var store: any ItemStore { vault }

    func status() throws -> FleetStatus? { try fleet.isJoined ? fleet.status() : nil }

    func change(_ verb: some FleetVerb, isFinal: Bool) throws -> FleetChange {
        var change = try verb.run(fleet, host)
        change.nameDevices(fleet)
        return change
    }

    func conflicts(revealing: Bool) throws -> (conflicts: [ItemConflict], names: DeviceNames) {
        (try vault.conflicts(), DeviceNames(fleet))
    }

    func resolve(_ conflict: ItemConflict, keeping number: Int) throws {
        guard let id = conflict.item.record?.id else { throw VaultError.itemNotFound }
        try vault.resolveConflict(of: id, field: conflict.field, keeping: number)
    }
}
