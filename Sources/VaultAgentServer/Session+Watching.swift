// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix
internal import Vault
internal import VaultAgent

// A connection that carries changes.

extension Session {
    /// Starts the first watch of a connection, which then accepts no other requests.
    func watch(_ request: WatchRequest, _ caller: Caller, _ number: UInt32, _ context: ChannelHandlerContext) {
        subscribe(request, caller, context) { watched in
            guard case .busy = self.phase else { return }
            // The policy was reloaded meanwhile.
            guard !self.closesWhenDone else { return self.close(context) }
            switch watched {
            case .failure(let error): self.reply([FailureReply(error)], number, context)
            case .success(let changes):
                self.phase = .watching
                self.watches.isAnswering = true
                self.begin(changes, number, context)
            }
        }
    }

    /// Handles a request on a connection that watches.
    func takeWatching(
        _ request: any ServedRequest, _ number: UInt32, _ context: ChannelHandlerContext
    ) throws(MessageError) {
        guard let caller else { throw .invalid }
        switch request {
        case let request as UnwatchRequest:
            watches.isAnswering = true
            watches.remove(request.value)
            answer(DoneReply(), number, context)
        case let request as WatchRequest where watches[number] == nil:
            watches.isAnswering = true
            do throws(VaultError) { try caller.check(request) } catch {
                server.answers.audit?.noteRefusal(of: caller, error)
                return answer(FailureReply(error), number, context)
            }
            subscribe(request, caller, context) { watched in
                guard case .watching = self.phase else { return }
                switch watched {
                case .failure(let error): self.answer(FailureReply(error), number, context)
                case .success(let changes): self.begin(changes, number, context)
                }
            }
        default: close(context)
        }
    }

    private func subscribe(
        _ request: WatchRequest, _ caller: Caller, _ context: ChannelHandlerContext,
        _ hears: @escaping (Result<ChangeSequence, VaultError>) -> Void
    ) {
        guard server.watches(of: process.id) < Watches.mostOfProcess else { return hears(.failure(.agent(.busy))) }
        let answers = server.answers
        let work = server.pool.runIfActive(eventLoop: context.eventLoop) { () -> Result<ChangeSequence, VaultError> in
            do throws(VaultError) {
                return .success(
                    try answers.use(caller) { vault throws(VaultError) in
                        vault.changes(matching: request.query, from: request.sequence)
                    })
            } catch { return .failure(error) }
        }
        work.assumeIsolated().whenComplete { result in if case .success(let watched) = result { hears(watched) } }
    }

    /// Confirms a watch, and starts to send its changes.
    private func begin(_ changes: ChangeSequence, _ number: UInt32, _ context: ChannelHandlerContext) {
        watches.add(number, changes)
        answer(ChangesReply([]), number, context)
        watches.append(number)
        tellNext(context)
    }

    /// Answers a request on a connection that watches, and continues with the next one after the write.
    private func answer(_ reply: some AgentReply, _ number: UInt32, _ context: ChannelHandlerContext) {
        send(reply, number, context) {
            self.watches.isAnswering = false
            self.goOn(context)
        }
    }

    private func send(
        _ reply: some AgentReply, _ number: UInt32, _ context: ChannelHandlerContext, _ isOut: @escaping () -> Void
    ) {
        watches.unread += 1
        waitForReader(context)
        write(reply.frame(number), context).assumeIsolated().whenComplete { result in
            guard case .watching = self.phase else { return }
            guard case .success = result else { return self.close(context) }
            self.watches.unread -= 1
            self.watches.readerEnd?.cancel()
            self.watches.readerEnd = nil
            self.waitForReader(context)
            isOut()
        }
    }

    private func waitForReader(_ context: ChannelHandlerContext) {
        guard watches.unread > 0, watches.readerEnd == nil else { return }
        watches.readerEnd = context.eventLoop.assumeIsolated().scheduleTask(in: Session.patienceForReader) {
            self.close(context)
        }
    }

    /// Sends the changes of the next watch in turn, and continues after the write. For a client that does not read,
    /// pending changes are merged.
    private func tellNext(_ context: ChannelHandlerContext) {
        guard case .watching = phase else { return }
        guard represented?.hasEnded != true else { return refuse(.agent(.refused), context) }
        let here = NIOLoopBound((session: self, context: context), eventLoop: context.eventLoop)
        while !watches.isTelling, let number = watches.next() {
            guard let changes = watches[number] else { continue }
            let next = changes.take { [loop = context.eventLoop] in
                loop.execute {
                    here.value.session.watches.append(number)
                    here.value.session.tellNext(here.value.context)
                }
            }
            if let next, next.isEmpty { continue }
            watches.isTelling = true
            let isOut = {
                self.watches.isTelling = false
                self.tellNext(context)
            }
            if let next {
                watches.append(number)
                send(ChangesReply(next), number, context, isOut)
            } else {
                watches.remove(number)
                send(FailureReply(.closed), number, context, isOut)
            }
        }
    }
}
