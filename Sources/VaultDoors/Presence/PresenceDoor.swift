// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import Vault
internal import VaultAgent
internal import VaultCrypto

/// Asks people for the vault's passphrase when the agent wants it: an item demands that a person allows it to be read.
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

    /// Offers to ask, as long as there is an agent and a place where people can be asked.
    ///
    /// - Parameters:
    ///   - patience: after which it looks again for an agent or a place that was not there.
    ///   - begins: called each time an agent has taken the offer.
    package init(
        _ house: any DoorHouse, patience: Duration = .seconds(5), begins: @escaping @Sendable () -> Void = {}
    ) {
        (self.house, self.patience, self.begins) = (house, patience, begins)
        offer()
    }

    /// What is being asked ends at once, and nothing more is asked.
    package func close() {
        let (call, stop) = state.withLock { state in
            state.isClosed = true
            return (state.call.take(), state.asked?.stop)
        }
        stop?.stop()
        call?.end()
    }

    private func offer() {
        // A thread of its own: it waits for as long as the agent serves.
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

    /// Nil: it is closed.
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
            // The connection is to hear meanwhile that nobody wants to know any more.
            DispatchQueue(label: "vault.presence.prompt").async { [self] in ask(question, agent, stop) }
        }
    }

    /// - Parameter id: nil: whatever is being asked.
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
                // The third wrong one, or a question that is no longer asked, ends otherwise.
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
            // What cannot be a passphrase is no try: the agent need not derive keys of it.
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

    /// What a person reads: who asks first, as the kernel knows it, and then in quotes what that says.
    static func lines(_ question: PersonQuestion) -> [String] {
        // The agent may not see what it runs, in a user namespace of its own.
        let known = question.program.isEmpty ? DoorClient.program(of: question.process) : question.program
        let program = known.isEmpty ? "A program" : PromptQuestion.quoted(known)
        var lines = ["\(program) (process \(question.process)) wants something for which you are asked each time."]
        if !question.reason.isEmpty {
            lines.append("It says: " + PromptQuestion.saying(question.reason, longest: PersonQuestion.longestReason))
        }
        return lines
    }
}
