// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import Vault
internal import VaultAgent
internal import VaultCrypto

/// Asks the user for the vault's passphrase on behalf of the agent, when an item requires the user's consent to be
/// read.
package final class PresenceDoor: Sendable {
    private struct State {
        var call: AgentCall?
        var asked: (id: QuestionID, stop: PromptStop)?
        var isClosed = false
    }

    private let house: any DoorHouse
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "vault.presence")
    private let patience: Duration
    private let begins: @Sendable () -> Void

    /// Registers as a prompter, as long as there is an agent and a place where the user can be asked.
    ///
    /// - Parameters:
    ///   - patience: the interval before the next attempt if the agent or the place was missing.
    ///   - begins: called each time an agent has accepted the registration.
    package init(
        _ house: any DoorHouse, patience: Duration = .seconds(5), begins: @escaping @Sendable () -> Void = {}
    ) {
        (self.house, self.patience, self.begins) = (house, patience, begins)
        offer()
    }

    /// Cancels the pending question and accepts no further ones.
    package func close() {
        let (call, stop) = state.withLock { state in
            state.isClosed = true
            return (state.call.take(), state.asked?.stop)
        }
        stop?.stop()
        call?.end()
    }

    private func offer() {
        // The call blocks for as long as the agent runs, so it has a thread of its own.
        queue.async { [weak self] in
            guard let self, let call = self.begin() else { return }
            if self.house.canAsk, let agent = try? self.house.agent(for: nil) {
                try? agent.offerToAsk(call, begins: self.begins) { self.hear($0, agent) }
            }
            self.stop(nil)
            let patience = self.patience
            Task { [weak self] in
                await DoorWorker.pause(for: patience)
                self?.offer()
            }
        }
    }

    /// Returns a new call; `nil` if the door is closed.
    private func begin() -> AgentCall? {
        state.withLock { state in
            state.call = state.isClosed ? nil : AgentCall()
            return state.call
        }
    }

    private func hear(_ event: QuestionEvent, _ agent: AgentClient) {
        switch event {
        case .withdrawn(let id): stop(id)
        case .asked(let question):
            guard let stop = PromptStop() else {
                DispatchQueue(label: "vault.presence.prompt").async { try? agent.answer(question.id, .unavailable) }
                return
            }
            let isOpen = state.withLock { state in
                if !state.isClosed { state.asked = (question.id, stop) }
                return !state.isClosed
            }
            guard isOpen else { return }
            // The connection must stay free to receive the cancellation of the question.
            DispatchQueue(label: "vault.presence.prompt").async { [self] in ask(question, agent, stop) }
        }
    }

    /// - Parameter id: the question to cancel; `nil` for any pending one.
    private func stop(_ id: QuestionID?) {
        let stop = state.withLock { state -> PromptStop? in
            guard let asked = state.asked, id == nil || asked.id == id else { return nil }
            state.asked = nil
            return asked.stop
        }
        stop?.stop()
    }

    private func ask(_ question: PersonQuestion, _ agent: AgentClient, _ stop: PromptStop) {
        var shown = PromptQuestion(PresenceDoor.lines(question))
        while !stop.isStopped {
            let answer = answer(shown, stop)
            guard !stop.isStopped else { return }
            do throws(VaultError) { try agent.answer(question.id, answer) } catch {
                // After a third wrong passphrase, or for a question that was withdrawn, the agent reports another
                // error.
                guard error == .storage(.wrongPassphrase) else { return }
                shown.error = "Wrong passphrase, once more."
                continue
            }
            return
        }
    }

    private func answer(_ shown: PromptQuestion, _ stop: PromptStop) -> PersonAnswer {
        var shown = shown
        do throws(PromptError) {
            // A text that cannot be a passphrase does not count as an attempt: the agent need not derive keys from it.
            for _ in 0..<3 {
                let typed = try house.ask(shown, until: stop)
                if let passphrase = try? Passphrase(typed) { return .passphrase(passphrase) }
                shown.error = "That is no passphrase, once more."
            }
            return .dismissed
        } catch {
            switch error {
            case .dismissed: return .dismissed
            case .timedOut: return .unanswered
            case .unavailable, .failed: return .unavailable
            }
        }
    }

    /// The lines shown to the user: first the caller as the kernel identifies it, then, in quotes, the caller's own
    /// text.
    static func lines(_ question: PersonQuestion) -> [String] {
        // In a user namespace of its own, the agent may be unable to see which program the process runs.
        let known = question.program.isEmpty ? DoorClient.program(of: question.process) : question.program
        let program = known.isEmpty ? "A program" : PromptQuestion.quoted(known)
        var lines = ["\(program) (process \(question.process)) wants something for which you are asked each time."]
        if !question.reason.isEmpty {
            lines.append("It says: " + PromptQuestion.saying(question.reason, longest: PersonQuestion.longestReason))
        }
        return lines
    }
}
