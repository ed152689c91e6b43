// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import Vault
internal import VaultAgent

// Connections that involve a person: that of the requesting client, and that of a door.

extension Session {
    /// Lets a door ask, once it is this client's turn.
    func authenticate(
        _ request: AuthenticateRequest, _ caller: Caller, _ number: UInt32, _ context: ChannelHandlerContext
    ) {
        phase = .asking
        // From here on the question has the turn, which ends with it.
        turnEnd?.cancel()
        turnEnd = nil
        // A client that goes withdraws its question. Only reading detects its end.
        readOrNot(context)
        guard server.questions.canAsk else { return end(.failure(.presenceRequired), caller, number, context) }
        // The identities of the client, which the kernel names. The represented process is only the client's claim.
        let names = process.names
        do throws(VaultError) { try server.questions.check(names) } catch {
            return end(.failure(error), caller, number, context)
        }
        let question = server.question(from: caller, reason: request.reason ?? "")
        let here = NIOLoopBound((session: self, context: context), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        server.turns.wait(
            Turns.Waiting(client: ObjectIdentifier(self), process: process.id, isForUnlocking: false) {
                loop.execute { here.value.session.ask(question, names, caller, number, here.value.context) }
            } refuse: {
                loop.execute {
                    here.value.session.end(.failure(.agent(.busy)), caller, number, here.value.context)
                }
            })
    }

    private func ask(
        _ question: PersonQuestion, _ names: [Refusals.Name], _ caller: Caller, _ number: UInt32,
        _ context: ChannelHandlerContext
    ) {
        guard case .asking = phase else { return }
        // The person may have refused another connection of the process during the wait.
        do throws(VaultError) { try server.questions.check(names) } catch {
            return end(.failure(error), caller, number, context)
        }
        let patience = TimeAmount.nanoseconds(Int64(server.settings.patienceForPerson / .nanoseconds(1)))
        answerEnd = context.eventLoop.assumeIsolated().scheduleTask(in: patience) {
            self.server.questions.withdraw(for: ObjectIdentifier(self))
            self.end(.failure(.agent(.unanswered)), caller, number, context)
        }
        let here = NIOLoopBound((session: self, context: context), eventLoop: context.eventLoop)
        server.questions.ask(question, for: ObjectIdentifier(self), names) { [loop = context.eventLoop] result in
            loop.execute { here.value.session.end(result, caller, number, here.value.context) }
        }
    }

    private func end(
        _ result: Result<Void, VaultError>, _ caller: Caller, _ number: UInt32, _ context: ChannelHandlerContext
    ) {
        guard case .asking = phase else { return }
        answerEnd?.cancel()
        answerEnd = nil
        server.turns.leave(ObjectIdentifier(self))
        phase = .busy
        do throws(VaultError) {
            try result.get()
            guard represented?.hasEnded != true else { throw .agent(.refused) }
            let ticket = try server.answers.ticket(for: caller)
            tickets.append(ticket.value)
            reply([ticket], number, context)
        } catch {
            server.answers.audit?.noteUnattended(caller, error)
            reply([FailureReply(error)], number, context)
        }
    }

    // MARK: Doors

    /// Sends questions to a door from now on.
    func offer(_ number: UInt32, _ context: ChannelHandlerContext) {
        let here = NIOLoopBound((session: self, context: context), eventLoop: context.eventLoop)
        let door = Questions.Door(id: ObjectIdentifier(self), process: process.id) { [loop = context.eventLoop] event in
            loop.execute { here.value.session.tell(event, number, here.value.context) }
        }
        phase = .busy
        guard server.questions.add(door) else { return reply([FailureReply(.agent(.busy))], number, context) }
        phase = .offering
        readOrNot(context)
        tell(nil, number, context)
    }

    private func tell(_ event: QuestionEvent?, _ number: UInt32, _ context: ChannelHandlerContext) {
        guard case .offering = phase else { return }
        // A door that does not read cannot ask a person.
        guard context.channel.isWritable else { return close(context) }
        write(QuestionReply(event).frame(number), context).assumeIsolated().whenFailure { _ in self.close(context) }
    }
}
