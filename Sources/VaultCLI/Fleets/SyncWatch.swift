// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
internal import VaultCrypto
internal import VaultFleet
internal import VaultSync

/// Syncs a vault until a signal ends the process, and prints the results.
final class SyncWatch: Sendable {
    private let json: Bool
    private let end = DispatchSemaphore(value: 0)
    private let failure = Mutex<(any Error)?>(nil)
    /// The alarms printed so far; each is printed once.
    private let alarms = Mutex<Set<Alarm>>([])

    init(json: Bool) { self.json = json }

    func run(_ options: VaultOptions) throws {
        let locked = try options.locked()
        guard locked.isReplicated else { throw SyncError.notJoined }
        let agent = try options.unlocking.hasSource ? nil : VaultAccess.agent(of: locked.path)
        if let agent, try agent.status().state == .unlocked {
            return try follow(AgentVault(agent: agent), in: locked.path)
        }
        try options.withOpened { opened, _ in try follow(OpenedVault(vault: opened), in: locked.path) }
    }

    private func follow(_ vault: some FollowedVault, in file: FilePath) throws {
        let signals = EndSignals { [end] in end.signal() }
        let follower = FleetFollower(vault, random: SystemRandom()) { [self] event in
            do { try tell(event) } catch {
                failure.withLock { $0 = error }
                end.signal()
            }
        }
        follower.begin(watching: file.removingLastComponent())
        end.wait()
        follower.end(patience: .seconds(1))
        withExtendedLifetime(signals) {}
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    // MARK: What is said

    private func tell(_ event: FollowerEvent) throws {
        switch event {
        case .synced(let result): try tell(result)
        case .lost(let url, let error):
            let failure = CommandError(error)
            Output.warn("\(url.text.printable): \(failure.message)")
            if json { try Output.json(Turn(event: "lost", url: url.text, error: failure.message)) }
            // A removed device cannot sync any more.
            if error == .removed { throw failure }
        case .back(let url):
            if json {
                try Output.json(Turn(event: "back", url: url.text))
            } else {
                try Output.line("\(url.text.printable): reached again")
            }
        }
    }

    private func tell(_ result: SyncResult) throws {
        let names = DeviceNames(result.deviceNames)
        for outcome in result.outcomes {
            for alarm in outcome.notes + outcome.alarms where alarms.withLock({ $0.insert(alarm).inserted }) {
                Output.warn(alarm.message(of: names))
            }
            let report = outcome.report
            guard outcome.error == nil,
                report.published > 0 || report.applied > 0 || report.newLog || !report.revived.isEmpty
            else { continue }
            if json {
                try Output.json(Synced(remote: RemoteOutput(outcome, names), conflicts: result.conflicts))
            } else {
                try Output.line(outcome.line)
            }
        }
    }

    private struct Turn: Encodable {
        var event: String
        var url: String
        var error: String?
    }

    private struct Synced: Encodable {
        var event = "synced"
        var remote: RemoteOutput
        /// Left out if unknown.
        var conflicts: UInt64?
    }
}

/// A vault opened in this process.
private struct OpenedVault: FollowedVault {
    let vault: Vault
    private let engines = RemoteEngines.all(.system)
    private let seen = SeenCommit()

    func outlook(isForced: Bool) -> FleetOutlook? {
        // A file that is unreadable right now is tried again at the next commit.
        guard seen.isNew(try? vault.sequence) || isForced else { return nil }
        return try? Fleet(vault, engines: engines).outlook()
    }

    func sync(with urls: Set<RemoteURL>, goesOn: @escaping @Sendable () -> Bool) -> SyncResult {
        SyncResult(
            syncing: vault, with: urls, engines: engines, withFingerprint: false, isUnasked: true, goesOn: goesOn)
    }

    func watch(
        _ url: RemoteURL, _ hint: @escaping @Sendable (RecordHint) -> Void
    ) throws(SyncError) -> (any RecordWatch)? {
        try Fleet(vault, engines: engines).watch(url, hint)
    }
}

/// A vault that an agent has unlocked. The agent syncs with all remotes at once.
private struct AgentVault: FollowedVault {
    let agent: AgentClient
    private let seen = SeenCommit()

    func outlook(isForced: Bool) -> FleetOutlook? {
        guard seen.isNew(try? agent.sequence) || isForced, let status = (try? agent.fleetLook())?.status else {
            return nil
        }
        return FleetOutlook(
            remotes: status.remotes.map(\.url), devices: status.devices.count, ownLog: nil,
            hasNews: status.pending > 0)
    }

    func sync(with urls: Set<RemoteURL>, goesOn: @escaping @Sendable () -> Bool) -> SyncResult {
        do throws(VaultError) { return try agent.synced(withFingerprint: false) } catch {
            return SyncResult(failure: .vault(error))
        }
    }

    func watch(
        _ url: RemoteURL, _ hint: @escaping @Sendable (RecordHint) -> Void
    ) throws(SyncError) -> (any RecordWatch)? { nil }
}
