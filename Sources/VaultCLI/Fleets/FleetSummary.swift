// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent
internal import VaultFleet
internal import VaultFormat
internal import VaultSync

/// The state of a fleet as this device knows it, without contacting a remote.
///
/// Size: each property is a key of the JSON form.
struct FleetSummary: Encodable {
    /// Whether the state is unknown because the vault is locked.
    var isLocked = true
    var realm: String?
    var device: String?
    /// `true`, or left out.
    var isRemoved: Bool?
    /// The names of devices that wait to be removed; left out if there are none.
    var removals: [String]?
    var onlySynchronizable: Bool?
    var remotes: [RemoteSummary]?
    /// The number of items that changed here and are not published yet.
    var pending: Int?
    var conflicts: Int?
    /// The time at which another device last had equal content.
    var lastEqual: Time?
    var devices: [DeviceSummary]?
    var alarms: [AlarmOutput]?
    /// The agent's background syncs, by remote; left out if there are none.
    var background: [FollowingSummary]?
    /// The results of contacting the remotes; `nil` if none was contacted.
    private(set) var checks: [RemoteCheck]?
    /// The state; `nil` while the vault is locked, or if its fleet does not know this device.
    private(set) var status: FleetStatus?

    private enum CodingKeys: CodingKey {
        case isLocked, realm, device, isRemoved, removals, onlySynchronizable, remotes, pending, conflicts, lastEqual
        case devices, alarms, background
    }

    private init() {}

    init(_ status: FleetStatus, _ names: DeviceNames, checks: [RemoteCheck]? = nil) {
        isLocked = false
        self.checks = checks
        realm = status.realmID.text
        device = status.deviceName
        isRemoved = status.isRemoved ? true : nil
        removals = status.removals.isEmpty ? nil : status.removals
        onlySynchronizable = status.isFiltered
        remotes = status.remotes.map(RemoteSummary.init)
        (pending, conflicts) = (status.pending, status.conflicts)
        lastEqual = status.lastEqual.map(Time.init(seconds:))
        devices = status.devices.map(DeviceSummary.init)
        alarms = status.alarms.map { AlarmOutput($0, names) }
        self.status = status
    }

    /// Returns the state, from the vault or from an agent that has it unlocked; never prompts.
    ///
    /// - Parameter checksRemotes: whether to contact the remotes.
    /// - Throws: the error of unlocking, if the command line names a source of the secret.
    static func of(_ vault: VaultOptions, checksRemotes: Bool = false) throws -> FleetSummary {
        do {
            guard vault.unlocking.hasSource else { return try ofAgent(vault, checksRemotes) }
            return try vault.withOpened(asksMachine: false) { opened, _ in
                var summary = try FleetSummary(opened.fleetLook())
                if checksRemotes, summary.status != nil {
                    summary.checks = try Progress.during("looking at the remotes") { _ in
                        try Fleet(opened, engines: .all(.system)).checkRemotes().wait()
                    }
                }
                return summary
            }
        } catch {
            guard !vault.unlocking.isNamed, let failure = CommandLineTool.failure(error) else { throw error }
            Output.warn("cannot look at the fleet: \(failure.message)")
            return FleetSummary()
        }
    }

    /// Returns the state from an unlocked agent, if there is one; never prompts.
    private static func ofAgent(_ vault: VaultOptions, _ checksRemotes: Bool) throws -> FleetSummary {
        let agent = try VaultFinder.agent(of: vault.locked().path, .ofCommand, doWithout: { _ in })
        guard let agent, agent.greeting.state == .unlocked else { return FleetSummary() }
        let look = try agent.fleetLook()
        var summary = try FleetSummary(look)
        // An agent of another version does not know the message.
        let following = try? agent.value(of: FollowingRequest()) as [RemoteFollowing]?
        summary.background = following?.map { FollowingSummary($0, DeviceNames(look.deviceNames)) }
        if checksRemotes, summary.status != nil {
            summary.checks = try? Progress.during("looking at the remotes") { _ -> [RemoteCheck] in
                try agent.value(of: CheckRemotesRequest())
            }
        }
        return summary
    }

    private init(_ look: FleetLook) throws {
        let names = DeviceNames(look.deviceNames)
        switch (look.status, look.failure) {
        case (let status?, _): self.init(status, names)
        case (nil, nil), (nil, .notJoined):
            self.init()
            isLocked = false
        case (nil, let failure?): throw CommandError(failure, of: names)
        }
    }

    /// The lines for display. Each begins with a label of at most ten characters.
    var lines: [String] {
        guard let status else {
            return [
                isLocked
                    ? "fleet       one of its devices; locked: --passphrase-file FILE shows more"
                    : "fleet       of a copy: this device belongs to no fleet"
            ]
        }
        let others = status.devices.filter { !$0.isThis }
        var lines = ["fleet       '\(status.deviceName.printable)', and \(others.count) other devices"]
        if others.count == 1 { lines = ["fleet       '\(status.deviceName.printable)', and one other device"] }
        if status.isRemoved { lines.append("removed     this device was removed from the fleet; nothing is synced") }
        for name in removals ?? [] { lines.append("removal     '\(name.printable)' waits for a remote") }
        for remote in remotes ?? [] {
            lines.append(
                "remote      \(remote.url.printable) (\(remote.lastSync.map { "synced \($0.text)" } ?? "never synced"))"
            )
        }
        lines += (background ?? []).map { "background  \($0.line)" }
        lines += (background ?? []).compactMap(\.mendedLine).map { "mended      \($0)" }
        lines.append("pending     \(status.pending)")
        lines.append("conflicts   \(ConflictCount.number(UInt64(status.conflicts)))")
        for device in (devices ?? []).filter({ !$0.isThis }) {
            lines.append(
                "heard       \(device.name.printable): \(device.isSilent ? "never" : device.lastHeard?.text ?? "never")"
            )
        }
        lines.append("equal       \(lastEqual?.text ?? "not compared yet")")
        lines += (alarms ?? []).map { "alarm       \($0.message)" }
        return lines
    }
}
