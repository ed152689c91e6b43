// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix
internal import Vault
internal import VaultAgent

// A connection on which changes are told.

extension Session {
    func watch(_ request: WatchRequest, _ caller: Caller, _ number: UInt32, _ context: ChannelHandlerContext) {
        let answers = server.answers
        let work = server.pool.runIfActive(eventLoop: context.eventLoop) { () -> Result<ChangeSequence, VaultError> in
            do throws(VaultError) {
                return .success(
                    try answers.use(caller) { vault throws(VaultError) in
                        vault.changes(matching: request.query, from: request.sequence)
                    })
            } catch { return .failure(error) }
        }
        work.assumeIsolated().whenComplete { result in
            guard case .busy = self.phase, case .success(let watched) = result else { return }
            // The policy was read anew meanwhile.
            guard !self.closesWhenDone else { return self.close(context) }
            switch watched {
            case .failure(let error): self.reply([FailureReply(error)], number, context)
            case .success(let changes):
                self.phase = .watching(changes)
                self.readOrNot(context)
                self.tell([], number, context)
            }
        }
    }

    /// Tells changes, and the next ones when these are out: for a client that does not read they become fewer.
    private func tell(_ changes: [ItemChange], _ number: UInt32, _ context: ChannelHandlerContext) {
        wait(Session.patienceForReader, context)
        write(ChangesReply(changes).frame(number), context).assumeIsolated().whenComplete { result in
            self.deadline?.cancel()
            self.deadline = nil
            guard case .success = result else { return self.close(context) }
            self.tellNext(number, context)
        }
    }

    private func tellNext(_ number: UInt32, _ context: ChannelHandlerContext) {
        guard case .watching(let changes) = phase else { return }
        guard represented?.hasEnded != true else { return refuse(.agent(.refused), number: number, context) }
        let here = NIOLoopBound((session: self, context: context), eventLoop: context.eventLoop)
        let next = changes.take { [loop = context.eventLoop] in
            loop.execute { here.value.session.tellNext(number, here.value.context) }
        }
        guard let next else { return close(context) }
        if !next.isEmpty { tell(next, number, context) }
    }
}
