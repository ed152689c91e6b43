// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
internal import VaultFormat
internal import VaultSync

/// What is known of a fleet without a look at a remote.
struct FleetSummary: Encodable {
    /// Whether it was not looked at, since the vault is locked.
    var isLocked = true
    var realm: String?
    var device: String?
    /// Left out unless it was.
    var isRemoved: Bool?
    /// Devices that wait to be removed. Left out when there are none.
    var removals: [String]?
    var onlySynchronizable: Bool?
    var remotes: [RemoteSummary]?
    /// Items that were changed here and are not told.
    var pending: Int?
    var conflicts: Int?
    /// When another device last had the same.
    var lastEqual: String?
    var devices: [DeviceSummary]?
    var alarms: [AlarmOutput]?
    /// How an agent stands with each remote that syncs unasked. Left out where none does.
    var background: [FollowingSummary]?
    /// Nil while the vault is locked, or when its fleet is none of this device's.
    private(set) var status: FleetStatus?

    private enum CodingKeys: CodingKey {
        case isLocked, realm, device, isRemoved, removals, onlySynchronizable, remotes, pending, conflicts, lastEqual
        case devices, alarms, background
    }

    private init() {}

    init(_ status: FleetStatus, _ names: DeviceNames) {
        isLocked = false
        realm = status.realmID.text
        device = status.deviceName
        isRemoved = status.isRemoved ? true : nil
        removals = status.removals.isEmpty ? nil : status.removals
        onlySynchronizable = status.onlySynchronizable
        remotes = status.remotes.map(RemoteSummary.init)
        (pending, conflicts) = (status.pending, status.conflicts)
        lastEqual = status.lastEqual.map(Date.formattedTime)
        devices = status.devices.map(DeviceSummary.init)
        alarms = status.alarms.map { AlarmOutput($0, names) }
        self.status = status
    }

    /// Opens the vault, or asks an agent that has it open, where nobody has to be asked for that.
    ///
    /// - Throws: what the unlocking throws where the command line says what to unlock with.
    static func of(_ vault: VaultOptions) throws -> FleetSummary {
        do {
            guard vault.unlocking.hasSource else { return try ofAgent(vault) }
            return try vault.withOpened(asksMachine: false) { opened, _ in try FleetSummary(opened.fleetLook()) }
        } catch {
            guard !vault.unlocking.isNamed, let failure = CommandLineTool.failure(error) else { throw error }
            Output.warn("cannot look at the fleet: \(failure.message)")
            return FleetSummary()
        }
    }

    /// As an agent has it that is open: nobody is asked for anything.
    private static func ofAgent(_ vault: VaultOptions) throws -> FleetSummary {
        let agent = try VaultFinder.agent(of: vault.locked().path, .ofCommand, doWithout: { _ in })
        guard let agent, agent.greeting.state == .unlocked else { return FleetSummary() }
        var summary = try FleetSummary(agent.fleetLook())
        // An agent of another version does not know the message.
        let following: [RemoteFollowing]? = try? agent.following()
        summary.background = following?.map { FollowingSummary($0) }
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

    /// Each begins with a word of ten characters at most.
    var lines: [String] {
        guard let status else {
            return [
                isLocked
                    ? "fleet       one of its devices; locked, more is known with --passphrase-file FILE"
                    : "fleet       of a copy: this device belongs to none"
            ]
        }
        let others = status.devices.filter { !$0.isThis }
        var lines = ["fleet       '\(status.deviceName.printable)', and \(others.count) other devices"]
        if others.count == 1 { lines = ["fleet       '\(status.deviceName.printable)', and one other device"] }
        if status.isRemoved { lines.append("removed     this device was removed from the fleet; nothing is synced") }
        for name in removals ?? [] { lines.append("removal     '\(name.printable)' waits for a remote") }
        for remote in remotes ?? [] {
            lines.append(
                "remote      \(remote.url.printable) (\(remote.lastSync.map { "synced \($0)" } ?? "never synced"))")
        }
        lines += (background ?? []).map { "background  \($0.line)" }
        lines.append("pending     \(status.pending)")
        lines.append("conflicts   \(ConflictCount.number(UInt64(status.conflicts)))")
        for device in (devices ?? []).filter({ !$0.isThis }) {
            lines.append(
                "heard       \(device.name.printable): \(device.isSilent ? "never" : device.lastHeard ?? "never")")
        }
        lines.append("equal       \(lastEqual ?? "not compared yet")")
        lines += (alarms ?? []).map { "alarm       \($0.message)" }
        return lines
    }
}

/// What could go wrong in a fleet.
enum FleetCheck {
    /// Since when a device is to be worth a look, in seconds: each tells something once a day if others do.
    private static let silence = 30.0 * 86_400
    /// How far a clock is followed.
    private static let ahead = 3_600.0

    static func findings(_ summary: FleetSummary, now: Date = Date()) -> [Finding] {
        guard let status = summary.status else {
            return summary.isLocked
                ? [.good("the vault belongs to a fleet; with --passphrase-file FILE that is looked at as well")]
                : [.warning("the vault is a copy of one in a fleet, which does not know this device")]
        }
        var findings: [Finding] = []
        if status.isRemoved {
            findings.append(.warning("this device was removed from the fleet: what the vault has stays, alone"))
        }
        for name in status.removals {
            findings.append(
                .warning("the device '\(name.printable)' is removed once a remote can be reached: 'vault sync'"))
        }
        if status.remotes.isEmpty { findings.append(.warning("the fleet has no remote here: 'vault remote add URL'")) }
        for remote in status.remotes {
            let url = remote.url.text.printable
            if remote.url.scheme == .file, !FileManager.default.fileExists(atPath: remote.url.folder.string) {
                findings.append(.warning("the remote '\(url)' is not there: is it mounted?"))
            } else if remote.lastSync == nil {
                findings.append(.warning("there was no sync with '\(url)' yet: 'vault sync'"))
            } else if remote.url.scheme == .file {
                findings.append(.good("the remote '\(url)' is there"))
            } else {
                findings.append(.good("the remote '\(url)' was there at the last sync"))
            }
        }
        findings += status.devices.filter { !$0.isThis }.compactMap { finding(of: $0, now) }
        if status.conflicts > 0 {
            findings.append(.warning(ConflictCount.text(UInt64(status.conflicts))))
        }
        findings += (summary.alarms ?? []).map { .warning($0.message) }
        if !findings.contains(where: { if case .warning = $0 { true } else { false } }) {
            findings.append(.good("every device of the fleet was heard of, and no clock is wrong"))
        }
        return findings
    }

    private static func finding(of device: FleetDevice, _ now: Date) -> Finding? {
        let name = "'\(device.name.printable)'"
        guard device.role == .owner || device.role == .writer else { return nil }
        guard !device.isSilent, let heard = device.lastHeard else {
            return .warning(
                "the device \(name) has never been heard of: what is deleted waits for it; sync it, or remove it")
        }
        let age = now.timeIntervalSinceReferenceDate - heard
        if age < -ahead {
            return .warning(
                "the clock of \(name) or of this machine is wrong: its last change is of \(Date.formattedTime(heard))")
        }
        guard age > silence else { return nil }
        return .warning(
            """
            the device \(name) was last heard of on \(Date.formattedTime(heard)): what is deleted waits for it; sync \
            it, or remove it
            """)
    }
}
