// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Vault
internal import VaultAgent

/// Unlocks at login with the passphrase of the session. Runs unattended: its output is not read.
enum LoginUnlock {
    /// The timeout for the session's agent, which may start after the login.
    private static let patience = Duration.seconds(10)

    /// Makes a single attempt: a login passphrase that differs from the vault's must not count as an attacker's guess.
    static func run(_ vault: VaultOptions) {
        guard let passphrase = try? vault.passphrase.given(), let locked = try? vault.locked(),
            let client = agent(of: locked)
        else { exit(ExitStatus.locked.rawValue) }
        guard (try? client.unlock(with: .passphrase(passphrase))) != nil else {
            exit(ExitStatus.wrongPassphrase.rawValue)
        }
    }

    private static func agent(of vault: LockedVault) -> AgentClient? {
        let end = ContinuousClock.now + patience
        while true {
            if let client = try? VaultAccess.agent(of: vault.path) { return client }
            guard ContinuousClock.now < end else { return nil }
            usleep(100_000)
        }
    }
}
