// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SystemPackage
internal import Vault
internal import VaultCrypto
internal import VaultDoors

/// Asks for a passphrase where the process has no terminal: in a window, or at the terminal that `$GPG_TTY` names.
final class PassphraseDialog {
    private let path: FilePath
    /// Lines that say for which process, for the person who is asked.
    private let asker: [String]
    private let prompter: Prompter
    private let stop: PromptStop?
    private var pinentry: Pinentry?
    private var error: String?

    /// For a command of this process. Nil: there is no such place.
    init?(asksFor path: FilePath, _ command: String = "vault unlock") {
        let place = PromptPlace(ProcessEnvironment.variable)
        guard place.isSomewhere else { return nil }
        (self.path, asker, stop) = (path, ["for '\(command)' (process \(getpid()))"], nil)
        prompter = PassphraseDialog.prompter(place)
    }

    /// For a client of a door.
    ///
    /// - Parameters:
    ///   - isForwarded: whether a program on another machine may want it.
    ///   - stop: ends the question.
    init(
        _ path: FilePath, at place: PromptPlace, _ client: DoorClient, isForwarded: Bool = false, until stop: PromptStop
    ) {
        (self.path, asker, self.stop) = (path, PromptQuestion.askerLines(client, isForwarded: isForwarded), stop)
        prompter = PassphraseDialog.prompter(place)
    }

    private static func prompter(_ place: PromptPlace) -> Prompter {
        Prompter(place, program: ProcessEnvironment.variable("VAULT_PINENTRY"))
    }

    func ask() throws -> Passphrase {
        var question = PromptQuestion(["Unlock the vault \(path.string)"] + asker)
        question.error = error
        return try Passphrase(try answer(question))
    }

    /// Asks for a passphrase of a vault that is to be made, until it is not soon guessed.
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

    /// Makes the next question say that the last answer was wrong.
    func noteWrong() { error = "Wrong passphrase, once more." }

    private static func failure(_ error: PromptError) -> CommandError {
        switch error {
        case .unavailable:
            CommandError(
                .locked, "there is no terminal, and no program that could ask for the passphrase",
                hint: "install pinentry-gnome3, pinentry-qt or pinentry-curses, or --passphrase-file FILE")
        case .dismissed: CommandError(.cancelled, "cancelled")
        case .timedOut: CommandError(.locked, "nobody has answered the question for the passphrase")
        case .failed(let text): CommandError(.locked, "the passphrase could not be asked for: \(text.printable)")
        }
    }
}
