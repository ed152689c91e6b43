// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent

// Connections that involve a person: that of the requesting client, and that of a door.

extension Session {
    /// Lets a door ask, once it is this client's turn.
    func authenticate(_ request: AuthenticateRequest, _ caller: Caller, _ number: UInt32) {
        phase = .asking
        // From here on the question has the turn, which ends with it.
        timers.cancel(&turnEnd)
        guard server.questions.canAsk else { return end(.failure(.presenceRequired), caller, number) }
        // The identities of the client, which the kernel names. The represented process is only the client's claim.
        let names = process.names
        do throws(VaultError) { try server.questions.check(names) } catch {
            return end(.failure(error), caller, number)
        }
        let question = server.question(from: caller, reason: request.reason ?? "")
        server.turns.wait(
            Turns.Waiting(client: here.number, process: process.id, isForUnlocking: false) { [here] in
                here.execute { $0.ask(question, names, caller, number) }
            } refuse: { [here] in
                here.execute { $0.end(.failure(.agent(.busy)), caller, number) }
            })
    }

    private func ask(_ question: PersonQuestion, _ names: [Refusals.Name], _ caller: Caller, _ number: UInt32) {
        guard case .asking = phase else { return }
        // The person may have refused another connection of the process during the wait.
        do throws(VaultError) { try server.questions.check(names) } catch {
            return end(.failure(error), caller, number)
        }
        answerEnd = timers.start(server.settings.patienceForPerson) { [unowned self] in
            server.questions.withdraw(for: here.number)
            end(.failure(.agent(.unanswered)), caller, number)
        }
        server.questions.ask(question, for: here.number, names) { [here] result in
            here.execute { $0.end(result, caller, number) }
        }
    }

    private func end(_ result: Result<Void, VaultError>, _ caller: Caller, _ number: UInt32) {
        guard case .asking = phase else { return }
        timers.cancel(&answerEnd)
        server.turns.leave(here.number)
        phase = .busy
        do throws(VaultError) {
            try result.get()
            guard represented?.hasEnded != true else { throw .agent(.refused) }
            let ticket = try server.answers.ticket(for: caller)
            tickets.append(ticket.value)
            reply([ticket], number)
        } catch {
            server.answers.audit?.noteUnattended(caller, error)
            reply([FailureReply(error)], number)
        }
    }

    // MARK: Doors

    /// Sends questions to a door from now on.
    func offer(_ number: UInt32) {
        let door = Questions.Door(id: here.number, process: process.id) { [here] event in
            here.execute { $0.tell(event, number) }
        }
        phase = .busy
        guard server.questions.add(door) else { return reply([FailureReply(.agent(.busy))], number) }
        phase = .offering
        tell(nil, number)
    }

    private func tell(_ event: QuestionEvent?, _ number: UInt32) {
        guard case .offering = phase else { return }
        // A door that does not read cannot ask a person.
        guard isRead else { return close() }
        write(QuestionReply(event).frame(number))
    }
}
