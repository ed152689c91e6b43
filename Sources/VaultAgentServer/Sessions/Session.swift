// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Glibc
internal import Vault
internal import VaultAgent
internal import VaultCrypto
internal import VaultLoop
internal import VaultSystem

/// A connection: reads a request, has it answered, and reads the next after the answer was written. A client that does
/// not read its answers is not read from either.
///
/// Confined to the thread of its ``Connections``.
///
/// Size: each request may end the connection at any moment, with everything that belongs to it: process, rights,
/// buffers, timers and tickets are therefore properties of one object.
final class Session: PlaceHolder {
    enum Phase {
        /// Waits for the first request.
        case new
        case ready
        /// A request is being answered.
        case busy
        /// The connection carries only changes.
        case watching
        /// A person is being asked, or will be.
        case asking
        /// The connection carries only questions to a door.
        case offering
        case closed
    }

    let server: AgentServer
    let here: SessionHandle
    let timers: LoopTimers
    private let socket: Descriptor
    var process: ClientProcess
    /// The handle of the connected process.
    let handle: ProcessHandle
    /// The process that the client speaks for; `nil` for itself.
    var represented: RepresentedProcess?
    private var inbox: Inbox
    var phase = Phase.new
    var caller: Caller?
    private var outbox = Outbox()
    private var isFlushing = false
    private var deadline: Int?
    /// The time limit of a turn to unlock. A turn may become one to ask.
    var turnEnd: Int?
    /// A store whose next part is awaited at most for ``patienceForFrame``.
    private var staged: StagedStore
    private var isGoingOn = false
    var closesWhenDone = false
    /// The tickets of this connection, and whether the next request has presented one.
    var tickets: [Ticket] = []
    private var isNextAttended = false
    private var refusals = 0
    var answerEnd: Int?
    var watches = Watches()
    private(set) var lastUse = SuspendingClock.now
    let claim: PlaceClaim

    /// The time limit for the arrival of a frame after its first byte, and of the first frame after the connection.
    static let patienceForFrame = Duration.seconds(5)
    /// The time limit for a client to read an answer.
    static let patienceForReader = Duration.seconds(30)
    private static let mostRefusals = 32
    /// The longest turn of a client to ask a person for the passphrase.
    private static let patienceForPerson = Duration.seconds(180)

    /// - Parameter socket: connected, and not blocking.
    init(
        _ server: AgentServer, _ here: SessionHandle, _ socket: consuming Descriptor, _ process: ClientProcess,
        _ handle: ProcessHandle, _ timers: LoopTimers
    ) throws(CryptoError) {
        inbox = try Inbox()
        (self.server, self.here) = (server, here)
        self.socket = socket
        (self.process, self.handle, self.timers) = (process, handle, timers)
        claim = PlaceClaim(process.id)
        staged = StagedStore { [server] in server.noteStaged($0) }
    }

    var descriptor: Int32 { socket.number }

    var isClosed: Bool { if case .closed = phase { true } else { false } }

    /// A connection whose client does not read its answer, or has sent half a request, is not the agent's work. The
    /// readers of a watch learn of its end.
    var use: Places.Use {
        guard let caller, caller.access != .none else { return .none }
        return switch phase {
        case .ready: inbox.count == 0 && !staged.isIncomplete ? .idle : .held
        case .watching: .held
        case .busy: outbox.isEmpty ? .busy : .held
        case .new, .asking, .offering, .closed: .busy
        }
    }

    /// Drops an incomplete store after a lock: its plaintext must not be kept any longer.
    func dropStaged() {
        if staged.isIncomplete { staged.drop(for: .locked) }
    }

    // MARK: Reading

    /// Waits for the client's greeting.
    func begin() { wait(Session.patienceForFrame) }

    /// The events to wait for. A client that does not read its answers fills only the kernel's buffers, and its end is
    /// noticed all the same.
    var events: SocketLoop.Events {
        let events: SocketLoop.Events = wantsToRead ? .reading : .end
        return outbox.isEmpty ? events : events.union(.writing)
    }

    private var wantsToRead: Bool {
        switch phase {
        case .new, .ready, .asking, .offering: true
        case .watching: !watches.isAnswering
        case .busy, .closed: false
        }
    }

    func take(_ events: SocketLoop.Events) {
        if events.contains(.writing) { flush() }
        if wantsToRead, !events.isDisjoint(with: [.reading, .end]) {
            receive()
        } else if events.contains(.end) {
            close()
        }
    }

    private func receive() {
        let received: Int
        do throws(CryptoError) {
            received = unsafe try inbox.fill { room, count in unsafe recv(descriptor, room, count, 0) }
        } catch { return close() }
        if received > 0 {
            goOn()
        } else if received == 0 || errno != EAGAIN && errno != EINTR {
            close()
        }
    }

    /// Frees everything but the socket, which is closed with the session, after the end of the connection.
    func end() {
        phase = .closed
        for timer in [\Session.deadline, \.turnEnd, \.answerEnd] { timers.cancel(&self[keyPath: timer]) }
        timers.cancel(&watches.readerEnd)
        watches = Watches()
        outbox.drop()
        staged.drop(for: nil)
        represented = nil
    }

    /// Handles the next request if it has arrived, and otherwise reads on.
    func goOn() {
        // An immediate answer returns here: many requests must not nest as many calls.
        guard !isGoingOn else { return }
        isGoingOn = true
        defer { isGoingOn = false }
        while true {
            switch phase {
            case .busy, .closed: return
            case .asking, .offering: return inbox.count > 0 ? close() : ()
            case .watching where watches.isAnswering: return
            case .new, .ready, .watching: break
            }
            do throws(MessageError) {
                guard let frame = try inbox.next() else {
                    if inbox.count > 0 || staged.isIncomplete, deadline == nil { wait(Session.patienceForFrame) }
                    return
                }
                timers.cancel(&deadline)
                let request = try ServedRequests.request(frame)
                // A status request does not count as use.
                if !(request is StatusRequest) { lastUse = .now }
                if case .watching = phase {
                    try takeWatching(request, frame.number)
                    continue
                }
                try take(request, frame.body.count + frame.secretsLength, frame.number)
            } catch { return refuse(.agent(.protocolViolation)) }
        }
    }

    private func take(_ request: any ServedRequest, _ size: Int, _ number: UInt32) throws(MessageError) {
        guard var caller else {
            guard let hello = request as? any Hello else { throw .invalid }
            return meet(hello, number)
        }
        guard represented?.hasEnded != true else {
            server.answers.audit?.noteRefusal(of: caller, .agent(.refused), "the process has ended")
            return refuse(.agent(.refused), number: number)
        }
        phase = .busy
        caller.isAttended = isNextAttended
        self.caller = caller
        // All parts of a store are one request.
        if (request as? StoreRequest)?.isLast != false { isNextAttended = false }
        guard isPermitted(request, to: caller) else {
            // Only the last part has an answer.
            if let store = request as? StoreRequest, !store.isLast {
                phase = .ready
                return countRefusal()
            }
            return reply([FailureReply(.agent(.refused))], number)
        }
        switch request {
        case is StatusRequest: reply([StatusReply(server.status(for: caller))], number)
        case is TurnRequest:
            server.turns.wait(
                Turns.Waiting(client: here.number, process: process.id) { [here] in
                    here.execute { $0.hasTurn(number) }
                } refuse: { [here] in
                    here.execute { $0.hasNoTurn(number) }
                })
        case is StopRequest:
            server.answers.audit?.noteDone(.stop, by: caller)
            reply([DoneReply()], number)
            server.settings.stop()
        case let request as PresentRequest:
            isNextAttended = tickets.contains { $0.isEqual(to: request.value) }
            reply([isNextAttended ? DoneReply() : FailureReply(.presenceRequired)], number)
        case let request as AuthenticateRequest where request.passphrase == nil:
            authenticate(request, caller, number)
        case is QuestionsRequest: offer(number)
        case let request as WatchRequest: watch(request, caller, number)
        case let part as StoreRequest: stage(part, size, number)
        case let request as any VaultRequest: answer(request, number)
        // A second greeting.
        default: throw .invalid
        }
    }

    func isPermitted(_ request: some ServedRequest, to caller: Caller) -> Bool {
        if request.isPermitted(to: caller) { return true }
        server.answers.audit?.noteRefusal(of: caller, .agent(.refused))
        return false
    }

    private func hasTurn(_ number: UInt32) {
        guard case .busy = phase, let caller else { return }
        let status = server.status(for: caller)
        // Nothing is left to unlock.
        if status.state == .unlocked {
            server.turns.leave(here.number)
        } else {
            // A person who does not answer a prompt blocks the others only for this time.
            timers.cancel(&turnEnd)
            turnEnd = timers.start(Session.patienceForPerson) { [server, here] in server.turns.leave(here.number) }
        }
        reply([StatusReply(status)], number)
    }

    private func hasNoTurn(_ number: UInt32) {
        guard case .busy = phase else { return }
        reply([FailureReply(.agent(.busy))], number)
    }

    /// Collects the parts of a store until the last one. Excessive parts are still read, and then refused.
    private func stage(_ part: StoreRequest, _ size: Int, _ number: UInt32) {
        staged.take(part, size, limit: server.settings.mostStaged, sum: server.staged)
        guard part.isLast else {
            phase = .ready
            return
        }
        do throws(VaultError) { answer(try staged.finish(replacing: part.replacing), number) } catch {
            reply([FailureReply(error)], number)
        }
    }

    // MARK: Answering

    private func answer(_ request: some VaultRequest, _ number: UInt32) {
        guard let caller else { return }
        let answers = server.answers
        if let replies = answers.answerAtOnce(request, of: caller) { return reply(replies[...], number) }
        let lane = type(of: request).lane
        let work: @Sendable () -> Void = { [here] in
            let replies = answers.answer(request, of: caller)
            here.execute { $0.finish(replies, derivesKeys: lane == .keys, number) }
        }
        switch lane {
        case .pool: server.pool.run(work)
        case .keys: server.unlocking.async(execute: work)
        case .remotes: server.remotePool.run(work)
        case .own: DispatchQueue.global().async(execute: work)
        }
    }

    private func finish(_ replies: [any AgentReply], derivesKeys: Bool, _ number: UInt32) {
        if derivesKeys, !(replies[0] is FailureReply) { server.noteProof() }
        guard case .busy = phase else { return }
        if let ticket = replies[0] as? TicketReply { tickets.append(ticket.value) }
        reply(replies[...], number)
    }

    /// Ends the connection of a client that is refused again and again, after the answer: each refusal costs a look at
    /// the log.
    private func countRefusal() {
        refusals += 1
        if refusals >= Session.mostRefusals { closeWhenDone() }
    }

    /// Writes replies one after the other, each after the previous one was written.
    func reply(_ replies: ArraySlice<any AgentReply>, _ number: UInt32) {
        if (replies.first as? FailureReply)?.value == .agent(.refused) { countRefusal() }
        guard let first = replies.first else {
            timers.cancel(&deadline)
            guard !closesWhenDone else { return close() }
            phase = .ready
            return goOn()
        }
        if deadline == nil { wait(Session.patienceForReader) }
        write(first.frame(number)) { [unowned self] in
            guard case .busy = phase else { return }
            timers.cancel(&deadline)
            reply(replies.dropFirst(), number)
        }
    }

    /// - Parameter end: called once the socket has taken the frame, unless the connection ends before.
    func write(_ frame: Frame, _ end: @escaping () -> Void = {}) {
        outbox.append(frame, end)
        flush()
    }

    /// Whether the client reads what it is sent.
    var isRead: Bool { outbox.count < Session.mostUnread }

    private static let mostUnread = 64 << 10

    private func flush() {
        // An end may write the next frame: many frames must not nest as many calls.
        guard !isFlushing else { return }
        isFlushing = true
        defer { isFlushing = false }
        while !isClosed, !outbox.isEmpty {
            guard let ends = outbox.write(to: descriptor) else { return close() }
            guard !ends.isEmpty else { return }
            for end in ends { end() }
        }
    }

    /// Sends an error, and ends the connection.
    ///
    /// - Parameter number: the number of the request; 0 for the connection itself.
    func refuse(_ error: VaultError, number: UInt32 = 0) {
        phase = .busy
        write(FailureReply(error).frame(number)) { [unowned self] in close() }
    }

    func turnAway() { refuse(.agent(.busy)) }

    private func wait(_ patience: Duration) {
        timers.cancel(&deadline)
        deadline = timers.start(patience) { [unowned self] in close() }
    }

    /// Ends the connection after the answer to the current request.
    func closeWhenDone() {
        switch phase {
        case .busy, .asking: closesWhenDone = true
        default: close()
        }
    }

    /// Ends the connection; ``Connections`` frees it.
    func close() { phase = .closed }
}
