// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultFormat
internal import VaultSync

/// The findings of 'vault doctor' about a fleet.
enum FleetCheck {
    /// The age of a device's last record, in seconds, that is worth a warning. Devices write at least once a day if
    /// others write.
    private static let silence = 30.0 * 86_400
    /// The tolerated lead of another device's clock, in seconds.
    private static let ahead = 3_600.0

    /// - Parameter hasNetwork: whether the agent's service may use the network.
    static func findings(
        _ summary: FleetSummary, hasNetwork: Bool = AgentNetwork.isOpen(), now: Date = Date()
    ) -> [Finding] {
        guard let status = summary.status else {
            return summary.isLocked
                ? [.good("the vault belongs to a fleet; --passphrase-file FILE checks it as well")]
                : [.warning("the vault is a copy of a fleet's vault, and the fleet does not know this device")]
        }
        var findings: [Finding] = []
        if status.isRemoved {
            findings.append(.warning("this device was removed from the fleet: the vault keeps its items"))
        }
        for name in status.removals {
            findings.append(
                .warning("the device '\(name.printable)' will be removed once a remote is reachable: 'vault sync'"))
        }
        if status.remotes.isEmpty { findings.append(.warning("the fleet has no remote here: 'vault remote add URL'")) }
        let checks = Dictionary((summary.checks ?? []).map { ($0.url, $0) }) { first, _ in first }
        for remote in status.remotes { findings += Self.findings(remote, checks[remote.url]) }
        if hasNetwork, !status.remotes.contains(where: { AgentNetwork.isNeeded(for: $0.url) }) {
            findings.append(
                .warning(
                    """
                    the agent's service may use the network, which no remote needs: 'systemctl --user edit vault-agent'
                    """))
        }
        findings += status.devices.filter { !$0.isThis }.compactMap { finding(of: $0, now) }
        if status.conflicts > 0 {
            findings.append(.warning(ConflictCount.text(UInt64(status.conflicts))))
        }
        findings += (summary.alarms ?? []).map { .warning($0.message) }
        if !findings.contains(where: { if case .warning = $0 { true } else { false } }) {
            findings.append(.good("every device of the fleet has been heard from, and no clock is wrong"))
        }
        return findings
    }

    private static func finding(of device: FleetDevice, _ now: Date) -> Finding? {
        let name = "'\(device.name.printable)'"
        guard device.role == .owner || device.role == .writer else { return nil }
        guard !device.isSilent, let heard = device.lastHeard else {
            return .warning(
                "the device \(name) has never been heard from: deleted items wait for it; sync it, or remove it")
        }
        let age = now.timeIntervalSinceReferenceDate - heard
        if age < -ahead {
            return .warning(
                """
                the clock of \(name) or of this machine is wrong: its last change is dated \
                \(Time(seconds: heard).text)
                """)
        }
        guard age > silence else { return nil }
        return .warning(
            """
            the device \(name) was last heard from on \(Time(seconds: heard).text): deleted items wait for it; sync \
            it, or remove it
            """)
    }

    // MARK: Remotes

    private static func findings(_ remote: FleetStatus.Remote, _ check: RemoteCheck?) -> [Finding] {
        let url = remote.url.text.printable
        var findings: [Finding] = []
        if let failure = check?.failure {
            findings.append(.warning(text(failure, remote.url)))
        } else if let check {
            findings.append(.good("the remote '\(url)' \(answer(check))"))
            findings += rights(check)
        }
        if remote.lastSync == nil {
            findings.append(.warning("there was no sync with '\(url)' yet: 'vault sync'"))
        } else if check == nil {
            findings.append(.good("the remote '\(url)' was reachable at the last sync"))
        }
        return findings
    }

    /// Returns the reason why a remote cannot be used.
    private static func text(_ failure: SyncError, _ remote: RemoteURL) -> String {
        let url = remote.text.printable
        if remote.scheme == .file, failure == .store(.unreachable(remote.folder.string)) {
            return "the remote '\(url)' is missing: is it mounted?"
        }
        let error = CommandError(failure)
        let text = "the remote '\(url)' cannot be used now: \(error.message)"
        guard case .store(.refused(_, let hint?)) = failure else { return text }
        return text + "; \(hint.printable)"
    }

    private static func answer(_ check: RemoteCheck) -> String {
        switch check.url.scheme {
        case .file: "is there"
        case .ssh: "answers, by ssh"
        case .postgres, .etcd: check.isByTLS ? "answers over verified TLS" : "answers, on this machine"
        }
    }

    private static func rights(_ check: RemoteCheck) -> [Finding] {
        let url = check.url.text.printable
        let right =
            switch check.url.scheme {
            case .file: "the folder is read-only here"
            case .ssh: "the server restricts this key"
            case .postgres: "its user needs the role \(check.mayAppend == false ? "vault_sync" : "vault_trim")"
            case .etcd: "its user's role needs readwrite on vlt1/"
            }
        if check.mayAppend == false {
            return [.warning("this device may not publish to the remote '\(url)': \(right)")]
        }
        if check.mayRemove == false {
            let waiting = check.waitingTrims > 0 ? ", \(Int(clamping: check.waitingTrims).grouped) records so far" : ""
            return [
                .warning(
                    """
                    this device may remove nothing from the remote '\(url)', so what is superseded stays\(waiting): \
                    \(right)
                    """)
            ]
        }
        guard check.waitingTrims > 0 else { return [] }
        return [
            .warning(
                """
                \(Int(clamping: check.waitingTrims).grouped) superseded records of the remote '\(url)' wait to be \
                removed: 'vault sync'
                """)
        ]
    }
}
