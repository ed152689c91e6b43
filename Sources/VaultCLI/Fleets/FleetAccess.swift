// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultSync

extension VaultOptions {
    /// Runs the body on the fleet of the vault, which is opened in this process: what other devices told opens with the
    /// vault's keys alone, and those never leave an agent.
    ///
    /// - Parameters:
    ///   - mustBelong: whether the vault has to belong to a fleet already.
    ///   - before: what is to be asked before the passphrase.
    func withFleet<R>(
        mustBelong: Bool = true, before: () throws -> Void = {}, _ body: (Fleet, Vault) throws -> R
    ) throws -> R {
        let locked = try locked()
        guard !mustBelong || locked.isReplicated else { throw SyncError.notJoined }
        try checkKeys(of: locked)
        return try withOpened(before: before) { opened, _ in try FleetAccess.naming(opened) { try body($0, opened) } }
    }

    /// Says why an agent that has the vault open is of no use here, before a person wonders.
    private func checkKeys(of locked: LockedVault) throws {
        let target = UnlockTarget(locked)
        guard !unlocking.hasSource, !target.canAskMachine,
            (try? VaultAccess.agent(of: locked.path))?.greeting.state == .unlocked
        else { return }
        guard Terminal() == nil else {
            return Output.note("this takes the vault's keys, which never leave the agent: the passphrase is asked for")
        }
        throw CommandError(
            .locked, "the agent has the vault open, but this takes the vault's keys, which never leave the agent",
            hint: "--passphrase-file FILE or $VAULT_PASSPHRASE_FILE")
    }
}

enum FleetAccess {
    /// Runs the body on the fleet of an open vault; in what it throws, logs have the names of their devices.
    static func naming<R>(_ vault: Vault, _ body: (Fleet) throws -> R) throws -> R {
        let fleet = try Fleet(vault)
        do { return try body(fleet) } catch SyncError.vault(let error) {
            // The file is named where it was opened.
            throw error
        } catch SyncError.alarm(let alarm) {
            throw CommandError(alarm, of: DeviceNames(fleet))
        }
    }
}
