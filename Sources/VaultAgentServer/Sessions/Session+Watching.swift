// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent
internal import VaultLoop

// A connection that carries changes.

extension Session {
    /// Starts the first watch of a connection, which then accepts no other requests.
    func watch(_ request: WatchRequest, _ caller: Caller, _ number: UInt32) {
        subscribe(request, caller) { session, watched in
            guard case .busy = session.phase else { return }
            // The policy was reloaded meanwhile.
            guard !session.closesWhenDone else { return session.close() }
            switch watched {
            case .failure(let error): session.reply([FailureReply(error)], number)
            case .success(let changes):
                session.phase = .watching
                session.watches.isAnswering = true
                session.begin(changes, number)
            }
        }
    }

    /// Handles a request on a connection that watches.
    func takeWatching(_ request: any ServedRequest, _ number: UInt32) throws(MessageError) {
        guard let caller else { throw .invalid }
        switch request {
        case let request as UnwatchRequest:
            watches.isAnswering = true
            watches.remove(request.value)
            answer(DoneReply(), number)
        case let request as WatchRequest where watches[number] == nil:
            watches.isAnswering = true
            guard isPermitted(request, to: caller) else { return answer(FailureReply(.agent(.refused)), number) }
            subscribe(request, caller) { session, watched in
                guard case .watching = session.phase else { return }
                switch watched {
                case .failure(let error): session.answer(FailureReply(error), number)
                case .success(let changes): session.begin(changes, number)
                }
            }
        default: close()
        }
    }

    private func subscribe(
        _ request: WatchRequest, _ caller: Caller,
        _ hears: @escaping @Sendable (Session, Result<ChangeSequence, VaultError>) -> Void
    ) {
        let process = process.id
        guard here.connections.assumeIsolated({ $0.watches(of: process) }) < Watches.mostOfProcess else {
            return hears(self, .failure(.agent(.busy)))
        }
        server.pool.run { [here, answers = server.answers] in
            let watched: Result<ChangeSequence, VaultError>
            do throws(VaultError) {
                watched = .success(
                    try answers.use(caller) { vault throws(VaultError) in
                        vault.changes(matching: request.query, from: request.sequence)
                    })
            } catch { watched = .failure(error) }
            here.execute { hears($0, watched) }
        }
    }

    /// Confirms a watch, and starts to send its changes.
    private func begin(_ changes: ChangeSequence, _ number: UInt32) {
        watches.add(number, changes)
        answer(ChangesReply([]), number)
        watches.append(number)
        tellNext()
    }

    /// Answers a request on a connection that watches, and continues with the next one after the write.
    private func answer(_ reply: some AgentReply, _ number: UInt32) {
        send(reply, number) { [unowned self] in
            watches.isAnswering = false
            goOn()
        }
    }

    private func send(_ reply: some AgentReply, _ number: UInt32, _ isOut: @escaping () -> Void) {
        watches.unread += 1
        waitForReader()
        write(reply.frame(number)) { [unowned self] in
            guard case .watching = phase else { return }
            watches.unread -= 1
            timers.cancel(&watches.readerEnd)
            waitForReader()
            isOut()
        }
    }

    private func waitForReader() {
        guard watches.unread > 0, watches.readerEnd == nil else { return }
        watches.readerEnd = timers.start(Session.patienceForReader) { [unowned self] in close() }
    }

    /// Sends the changes of the next watch in turn, and continues after the write. For a client that does not read,
    /// pending changes are merged.
    private func tellNext() {
        guard case .watching = phase else { return }
        guard represented?.hasEnded != true else { return refuse(.agent(.refused)) }
        while !watches.isTelling, let number = watches.next() {
            guard let changes = watches[number] else { continue }
            let next = changes.take { [here] in
                here.execute {
                    $0.watches.append(number)
                    $0.tellNext()
                }
            }
            if let next, next.isEmpty { continue }
            watches.isTelling = true
            let isOut = { [unowned self] in
                watches.isTelling = false
                tellNext()
            }
            if let next {
                watches.append(number)
                send(ChangesReply(next), number, isOut)
            } else {
                watches.remove(number)
                send(FailureReply(.closed), number, isOut)
            }
        }
    }
}
