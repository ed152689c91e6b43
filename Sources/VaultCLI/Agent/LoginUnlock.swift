// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import Vault
internal import VaultAgent

/// What a login does with the passphrase that opened the session: nobody waits for it and nobody reads what it says.
enum LoginUnlock {
    /// A session's agent may come after its login.
    private static let patience = Duration.seconds(10)

    /// One attempt: a passphrase that is only the login's is no guess that an attacker makes.
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
