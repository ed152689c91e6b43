// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// Finds a prompter program for a place.
package struct Prompter {
    private let place: PromptPlace
    private let program: String?
    private let patience: (answer: Int, command: Int)

    /// - Parameters:
    ///   - program: the value of `$VAULT_PINENTRY`.
    ///   - patience: the timeouts for the user's answer, and for any other command, in seconds.
    package init(_ place: PromptPlace, program: String?, patience: (answer: Int, command: Int) = (60, 5)) {
        (self.place, self.program, self.patience) = (place, program, patience)
    }

    /// Starts a prompter: in a window if there is a display, else at the terminal of the place.
    ///
    /// - Parameter stop: cancels the question, as if the user had dismissed it.
    package func start(until stop: PromptStop? = nil) throws(PromptError) -> Pinentry {
        if place.hasDisplay, let found = try? started(program ?? "pinentry", stop),
            !Prompter.isForTerminals(found.flavor)
        {
            return try prepared(found.pinentry, terminal: nil)
        }
        guard let terminal = place.terminal else { throw .unavailable }
        for name in program.map({ [$0] }) ?? ["pinentry-curses", "pinentry-tty", "pinentry"] {
            guard let found = try? started(name, stop), Prompter.isForTerminals(found.flavor) else { continue }
            return try prepared(found.pinentry, terminal: terminal)
        }
        throw .unavailable
    }

    /// Returns the available program and its flavor, without asking the user or starting anything on the bus. Without a
    /// bus, a program with windows reports `gnome3:curses`, of which the first part is its own flavor.
    package func look() -> (program: String, flavor: String)? {
        let environment = place.environmentWithoutBus
        for name in program.map({ [$0] }) ?? ["pinentry", "pinentry-curses", "pinentry-tty"] {
            guard let pinentry = try? Pinentry(name, environment: environment, patience: patience),
                let flavor = try? pinentry.flavor().split(separator: ":").first
            else { continue }
            return (name, String(flavor))
        }
        return nil
    }

    private func started(
        _ program: String, _ stop: PromptStop?
    ) throws(PromptError) -> (pinentry: Pinentry, flavor: String) {
        let pinentry = try Pinentry(program, environment: place.environment, patience: patience, until: stop)
        return (pinentry, try pinentry.flavor())
    }

    /// A program with windows may have fallen back to the terminal: `gnome3:curses`.
    private static func isForTerminals(_ flavor: String) -> Bool {
        flavor.split(separator: ":").contains { $0 == "curses" || $0 == "tty" }
    }

    private func prepared(
        _ pinentry: Pinentry, terminal: (path: String, type: String)?
    ) throws(PromptError) -> Pinentry {
        if let terminal {
            try pinentry.option("ttyname", terminal.path)
            try pinentry.option("ttytype", terminal.type)
        }
        if let characterType = place.characterType { try pinentry.option("lc-ctype", characterType) }
        return pinentry
    }
}
