// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultCrypto
internal import VaultDoorKit
internal import VaultSecretService
internal import VaultStorage

/// The vault, its agent and its prompts, for the doors of a process.
final class VaultHouse: DoorHouse {
    private let path: FilePath
    private let unlocking: UnlockOptions
    private let place: Mutex<PromptPlace>

    init(_ path: FilePath, _ unlocking: UnlockOptions) {
        (self.path, self.unlocking) = (path, unlocking)
        place = Mutex(PromptPlace(ProcessEnvironment.variable))
    }

    /// Sets the place of future prompts.
    func ask(at place: PromptPlace) { self.place.withLock { $0 = place } }

    var canAsk: Bool { place.withLock { $0.isSomewhere } }

    /// Whether there is a vault. Assumes so on error: programs make new keys if they are told that there is none.
    var hasVault: Bool {
        do { _ = try FileManager.default.attributesOfItem(atPath: path.string) } catch {
            return (error as? CocoaError)?.code != .fileReadNoSuchFile
        }
        return true
    }

    func agent(for client: DoorClient?, in groups: AccessGroups?) throws(VaultError) -> AgentClient? {
        guard hasVault else { return nil }
        return try AgentClient.forDoor(vault: try LockedVault(at: path).path, client, in: groups)
    }

    // MARK: Asking

    func unlock(for client: DoorClient, isForwarded: Bool, until stop: PromptStop) -> PromptOutcome {
        outcome {
            let locked = try LockedVault(at: path)
            let dialog = PassphraseDialog(
                locked.givenPath, at: place.withLock { $0 }, client, isForwarded: isForwarded, until: stop)
            try unlock(locked, dialog, stop)
        }
    }

    private func unlock(_ locked: LockedVault, _ dialog: PassphraseDialog, _ stop: PromptStop) throws {
        let agent = try AgentLauncher.agent(of: locked)
        guard try agent.awaitTurn().state != .unlocked, !stop.isStopped else { return }
        var target = UnlockTarget(locked, isAgentOfUse: true)
        target.dialog = dialog
        try unlocking.opening(target) { try agent.unlock(with: $0) }
    }

    /// How long the doors wait for a given passphrase before they serve programs.
    private static let patience = DispatchTimeInterval.seconds(10)

    /// Unlocks the vault by the way that the command line names. A refusal is reported; programs then find the vault
    /// locked.
    func unlockByNamedWay() {
        let done = DispatchSemaphore(value: 0)
        DispatchQueue(label: "vault.unlock").async { [self] in
            _ = outcome {
                let locked = try LockedVault(at: path)
                let agent = try AgentLauncher.agent(of: locked)
                guard try agent.status().state != .unlocked else { return }
                try unlocking.opening(UnlockTarget(locked, isAgentOfUse: true)) { try agent.unlock(with: $0) }
            }
            done.signal()
        }
        _ = done.wait(timeout: .now() + VaultHouse.patience)
    }

    func makeVault(for client: DoorClient, until stop: PromptStop) -> PromptOutcome {
        outcome {
            let dialog = PassphraseDialog(path, at: place.withLock { $0 }, client, until: stop)
            let passphrase = try dialog.askNew()
            try Vault.create(at: path, passphrase: passphrase).close()
            let agent = try AgentLauncher.agent(of: try LockedVault(at: path))
            try agent.unlock(with: .passphrase(passphrase))
        }
    }

    func confirm(_ question: PromptQuestion, until stop: PromptStop) -> PromptOutcome {
        do throws(PromptError) {
            return try prompter.start(until: stop).confirm(question) ? .done : stop.isStopped ? .failed : .dismissed
        } catch { return PromptOutcome(error) }
    }

    func ask(_ question: PromptQuestion, until stop: PromptStop) throws(PromptError) -> SecretBytes {
        try prompter.start(until: stop).ask(question)
    }

    private var prompter: Prompter { PassphraseDialog.prompter(place.withLock { $0 }) }

    /// The vault's identifier, 16 bytes; `nil` if there is no vault, or it cannot be read.
    var vaultID: [UInt8]? { (try? LockedVault(at: path))?.vaultID }

    private func outcome(of ask: () throws -> Void) -> PromptOutcome {
        do {
            try ask()
            return .done
        } catch {
            guard let failure = CommandLineTool.failure(error) else { return .failed }
            if failure.status != .cancelled { Output.note(failure.message) }
            // A user who does not know the passphrase is not asked repeatedly either.
            return [.cancelled, .wrongPassphrase].contains(failure.status) ? .dismissed : .failed
        }
    }
}
