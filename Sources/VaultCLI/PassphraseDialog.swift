// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultDoorKit

/// Asks for a passphrase if the process has no terminal: in a window, or at the terminal named by `$GPG_TTY`.
final class PassphraseDialog {
    private let path: FilePath
    /// The lines that name the process, for display.
    private let asker: [String]
    private let prompter: Prompter
    private let stop: PromptStop?
    private var pinentry: Pinentry?
    private var error: String?

    /// Asks for a command of this process; fails if there is no display or terminal.
    init?(asksFor path: FilePath, _ command: String = "vault unlock") {
        let place = PromptPlace(ProcessEnvironment.variable)
        guard place.isSomewhere else { return nil }
        (self.path, asker, stop) = (path, ["for '\(command)' (process \(getpid()))"], nil)
        prompter = PassphraseDialog.prompter(place)
    }

    /// Asks for a client of a door.
    ///
    /// - Parameters:
    ///   - isForwarded: whether the request may come from another machine.
    ///   - stop: cancels the question.
    init(
        _ path: FilePath, at place: PromptPlace, _ client: DoorClient, isForwarded: Bool = false, until stop: PromptStop
    ) {
        (self.path, asker, self.stop) = (path, PromptQuestion.askerLines(client, isForwarded: isForwarded), stop)
        prompter = PassphraseDialog.prompter(place)
    }

    static func prompter(_ place: PromptPlace) -> Prompter {
        Prompter(place, program: ProcessEnvironment.variable("VAULT_PINENTRY"))
    }

    /// - Parameter takesSecurityKey: whether an empty answer asks for a security key instead.
    func ask(takesSecurityKey: Bool = false) throws -> Passphrase {
        var question = PromptQuestion(["Unlock the vault \(path.string)"] + asker)
        if takesSecurityKey { question.description.append("An empty passphrase takes the security key instead.") }
        question.error = error
        return try Passphrase(try answer(question))
    }

    /// Asks for the PIN of a security key.
    ///
    /// - Parameters:
    ///   - name: the key's own name, which may be anything.
    ///   - complaint: about the last PIN, if any.
    func askPIN(of name: String, _ complaint: String?) throws -> SecretBytes {
        let key = name.isEmpty ? "the security key" : "the security key \(PromptQuestion.quoted(name))"
        var question = PromptQuestion(
            ["The PIN of \(key), for the vault \(path.string)"] + asker + ["Then touch the key when it blinks."])
        question.prompt = "PIN:"
        question.error = complaint
        return try answer(question)
    }

    /// Asks for the passphrase of a new vault, until one is strong enough.
    func askNew() throws -> Passphrase {
        for _ in 0..<3 {
            var question = PromptQuestion(
                ["A new vault is to be made: \(path.string)"] + asker
                    + ["A forgotten passphrase cannot be recovered."])
            question.prompt = "New passphrase:"
            question.error = error
            question.isNew = true
            let chosen = try Passphrase(try answer(question))
            guard PassphraseStrength.isWeak(chosen) else { return chosen }
            error = "That is soon guessed: take more words."
        }
        throw CommandError(.cancelled, "no passphrase was chosen")
    }

    private func answer(_ question: PromptQuestion) throws -> SecretBytes {
        do throws(PromptError) {
            if pinentry == nil { pinentry = try prompter.start(until: stop) }
            guard let pinentry else { throw .unavailable }
            return try pinentry.ask(question)
        } catch { throw PassphraseDialog.failure(error) }
    }

    /// Makes the next question report that the last passphrase was wrong.
    func noteWrong() { error = "Wrong passphrase, once more." }

    private static func failure(_ error: PromptError) -> CommandError {
        switch error {
        case .unavailable:
            CommandError(
                .locked, "there is no terminal, and no program to ask for the passphrase",
                hint: "install pinentry-gnome3, pinentry-qt or pinentry-curses, or --passphrase-file FILE")
        case .dismissed: CommandError(.cancelled, "cancelled")
        case .timedOut: CommandError(.locked, VaultError.agent(.unanswered).text)
        case .failed(let text): CommandError(.locked, "cannot ask for the passphrase: \(text.printable)")
        }
    }
}
