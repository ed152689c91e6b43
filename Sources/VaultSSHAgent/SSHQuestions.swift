// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import VaultAgent
internal import VaultCrypto
internal import VaultDoorKit

/// The questions of an agent to the user: one at a time, each for a client that waits for the answer.
final class SSHQuestions: Sendable {
    /// The interval in which the user is not asked for the passphrase of the vault again.
    private static let patience = Duration.seconds(30)

    private struct State {
        /// The time at which the user was last asked for the passphrase of the vault.
        var asked: ContinuousClock.Instant?
        /// The pending question.
        var question: PromptStop?
        /// The refusals to use keys.
        var refusals = Refusals()
        var isClosing = false
    }

    private let state = Mutex(State())
    private let person: any SSHPerson
    private let clock: SSHClock
    /// Limits the clients that wait for the user: each blocks a thread, and a process has a limited number of threads.
    private let places = DispatchSemaphore(value: 16)
    /// Held while a question is pending.
    private let asking = DispatchSemaphore(value: 1)

    private let start: ContinuousClock.Instant

    init(_ person: any SSHPerson, _ clock: SSHClock) { (self.person, self.clock, start) = (person, clock, clock.now()) }

    /// Asks for permission to use a key. After a dismissed or unanswered question, the client and its systemd unit are
    /// denied for a while without a question.
    ///
    /// - Throws: `.denied` for every answer other than yes.
    func confirm(_ key: SSHPublicKey, _ comment: String, _ session: SSHSession, _ line: SSHLine) throws(SSHRefusal) {
        let fingerprint = try SSHPrivateKey.secured { () throws(CryptoError) in try key.fingerprint() }
        let client = session.client
        let question =
            ["Use the ssh key \(PromptQuestion.quoted(comment, longest: 100))", fingerprint]
            + PromptQuestion.askerLines(client, isForwarded: session.isForwarded, end: "?")
        let names = Refusals.Name.of(process: client.process, startTime: client.startTime)
        let outcome = ask(line) { stop in
            // The user may have declined for another connection of the process while this one waited.
            let now = self.sinceStart
            guard !self.state.withLock({ $0.refusals.isResting(names, at: now) }) else { return .unavailable }
            let outcome = self.person.confirm(question, for: client, until: stop)
            let end = self.sinceStart
            self.state.withLock { state in
                switch outcome {
                case .done: state.refusals.forget(names)
                case .dismissed: state.refusals.note(names, at: end)
                case .unavailable, .failed: break
                }
            }
            return outcome
        }
        guard outcome == .done else { throw .denied }
    }

    private var sinceStart: Duration { start.duration(to: clock.now()) }

    /// Asks the user to unlock the vault.
    ///
    /// - Parameter isUnlocked: returns whether the vault is unlocked: another connection's question may have been
    ///   answered while this one waited.
    func unlock(_ session: SSHSession, _ line: SSHLine, unless isUnlocked: () -> Bool) -> Bool {
        let outcome = ask(line) { stop in
            if isUnlocked() { return .done }
            let now = self.clock.now()
            let isAllowed = self.state.withLock { $0.asked.map { now >= $0 + SSHQuestions.patience } ?? true }
            guard isAllowed else { return .dismissed }
            defer {
                let now = self.clock.now()
                self.state.withLock { $0.asked = now }
            }
            return self.person.unlock(for: session.client, isForwarded: session.isForwarded, until: stop)
        }
        return outcome == .done
    }

    private func ask(_ line: SSHLine, _ question: (PromptStop) -> PromptOutcome) -> PromptOutcome {
        guard places.wait(timeout: .now()) == .success else { return .unavailable }
        defer { places.signal() }
        asking.wait()
        defer { asking.signal() }
        let outcome = line.watched { stop in
            let isClosing = state.withLock { state in
                state.question = stop
                return state.isClosing
            }
            defer { state.withLock { $0.question = nil } }
            return isClosing ? .dismissed : question(stop)
        }
        return outcome ?? .unavailable
    }

    /// Cancels all questions. Waits until the prompt has disappeared.
    func close() {
        let question = state.withLock { state in
            state.isClosing = true
            return state.question
        }
        question?.stop()
        if asking.wait(timeout: .now() + 2) == .success { asking.signal() }
    }
}
