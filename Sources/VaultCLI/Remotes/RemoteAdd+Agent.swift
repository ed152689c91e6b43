// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent
internal import VaultAgentServer
internal import VaultCrypto
internal import VaultSync

// The same through an agent that has the vault unlocked. This process makes the codes, and shows them before it passes
// them to the agent.

extension RemoteAdd {
    /// - Parameter code: receives the fleet's recovery code, if this function has read it.
    /// - Returns: `false` if the command has to do it itself.
    func run(
        _ remote: RemoteURL, _ shown: RemoteCredentials, throughAgentOf vault: VaultOptions,
        given code: inout RecoveryCode?
    ) throws -> Bool {
        guard let agent = try vault.openAgent() else { return false }
        let look: FleetLook
        do throws(VaultError) { look = try agent.fleetLook() } catch {
            switch error {
            case .agent(.protocolViolation), .agent(.refused), .locked: return false
            default: throw error
            }
        }
        let place = RemotePlace(
            url: remote.text, password: shown.password, authorities: shown.authorities?.string,
            certificate: shown.certificate?.string, key: shown.key?.string)
        guard look.status == nil else { return try add(remote, place, vault) }
        guard look.failure == .notJoined else { return false }
        let member = NewMember(place: place, device: try name ?? RemoteAdd.hostName())
        if join { return try join(agent, remote, member, vault) }
        guard let recoveryCodeFile else { return try found(agent, remote, member, vault) }
        let known = try UnlockOptions.recoveryCode(recoveryCodeFile)
        code = known
        let change = try Progress.during("joining") { _ in
            try vault.byAgent(RecoverRequest(member, code: known.secret))
        }
        guard let change else { return false }
        try report(.joined, remote, change.name ?? member.device)
        AgentNetwork.tell(of: remote)
        return true
    }

    private func add(_ remote: RemoteURL, _ place: RemotePlace, _ vault: VaultOptions) throws -> Bool {
        try checkAdds()
        guard let change = try vault.byAgent(AddRemoteRequest(place)) else { return false }
        try tellAdded(remote, change.name ?? "")
        return true
    }

    private func found(
        _ agent: AgentClient, _ remote: RemoteURL, _ member: NewMember, _ vault: VaultOptions
    ) throws -> Bool {
        guard try vault.byAgent(FoundRequest(member, code: nil)) != nil else { return false }
        let code = try RecoveryCode(SystemRandom())
        try report(.founded, remote, member.device, code)
        Output.note(Self.codeIsShown)
        do {
            _ = try Progress.during("founding the fleet") { _ in
                try agent.changed(FoundRequest(member, code: code.secret))
            }
        } catch {
            Self.warn(isFounded: (try? agent.fleetLook())?.status != nil)
            throw error
        }
        tellFounded(remote)
        return true
    }

    private func join(
        _ agent: AgentClient, _ remote: RemoteURL, _ member: NewMember, _ vault: VaultOptions
    ) throws -> Bool {
        let code = try RecoveryCode(SystemRandom())
        guard try vault.byAgent(AskToJoinRequest(member, code: code.secret)) != nil else { return false }
        var isLocked = false
        let name = try waitForOwner(remote, member.device, code) {
            do {
                return try agent.changed(AnswerToJoinRequest(code.secret)).name
            } catch VaultError.locked {
                if !isLocked { Output.note("the vault was locked; it joins after 'vault unlock'") }
                isLocked = true
                return nil
            }
        }
        try report(.joined, remote, name)
        AgentNetwork.tell(of: remote)
        return true
    }
}
