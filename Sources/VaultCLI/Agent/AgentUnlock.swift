// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Vault
internal import VaultAgent

struct Unlock: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlock the vault for all commands.",
        discussion: """
            Starts the agent if none is running. If several commands wait for the passphrase, only one of them asks. \
            Every wrong passphrase makes the next attempt wait longer. Without a terminal, pinentry asks in a window, \
            or at the terminal named by $GPG_TTY; $VAULT_PINENTRY names another program.
            """)

    @OptionGroup var vault: VaultOptions

    @Option(
        help: ArgumentHelp(
            "From now on, lock if unused for this time, such as 45s, 10m or 8h; 0 for never.", valueName: "time"))
    var idle: String?

    @Flag(
        help: ArgumentHelp("Unlock as at login: quietly, once, and only a running agent.", visibility: .hidden))
    var fromLogin = false

    func validate() throws {
        guard !fromLogin || vault.passphrase.isNamed else { throw ValidationError("--from-login takes a passphrase") }
        guard idle.map({ Copy.seconds($0) != nil }) ?? true else {
            throw ValidationError("--idle takes a time of at most a day, such as 45s, 10m or 8h")
        }
    }

    func run() throws {
        guard !fromLogin else { return LoginUnlock.run(vault) }
        let locked = try vault.locked()
        let unlocking = vault.unlocking
        var target = UnlockTarget(locked)
        if Terminal() == nil { target.dialog = PassphraseDialog(asksFor: target.path) }
        try unlocking.checkAvailable(for: target)
        let client = try AgentLauncher.agent(of: locked, idle: idle)
        try vault.naming(locked) {
            let asksMachine = Terminal() == nil && target.canAskMachine
            if unlocking.hasSource || asksMachine || !target.canAskPerson {
                try unlocking.opening(target, asksMachine: true) { try client.unlock(with: $0) }
            } else {
                try VaultAccess.unlock(client, unlocking, locked, dialog: target.dialog)
            }
            if let idle, let seconds = Copy.seconds(idle) { try client.setIdleLimit(UInt32(seconds)) }
            Output.note("unlocked\(Unlock.limits(try client.status())); 'vault lock' locks it")
        }
    }

    static func limits(_ status: AgentStatus) -> String {
        let limits = [(status.idleLimit, "without use"), (status.maximum, "in any case")].filter { $0.0 > 0 }
        guard !limits.isEmpty else { return "" }
        return ", locks after " + limits.map { "\(StatusText.words($0.0)) \($0.1)" }.joined(separator: " and ")
    }
}

struct Lock: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Lock the vault: the agent wipes its keys.",
        discussion: """
            Items that are readable after the first unlock stay readable until the agent ends. Without an agent \
            nothing is unlocked, and there is nothing to do.
            """)

    func run() throws {
        guard let agent = try VaultAccess.control() else { return Output.note("no agent is running") }
        do throws(VaultError) { try agent.lock() } catch {
            // The keys are wiped before the log is written: its disk may be full, and the vault is locked all the same.
            guard let now = try? VaultAccess.control(), now.status.state != .unlocked else { throw error }
            Output.warn("the vault is locked, but the audit log has no line of it: \(CommandError(error).message)")
        }
    }
}
