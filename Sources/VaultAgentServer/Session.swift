// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import Vault
internal import VaultAgent
internal import VaultCrypto

/// A connection: reads a request, has it answered, and reads the next after the answer was written. A client that does
/// not read its answers is not read from either.
final class Session: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

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
    var process: ClientProcess
    /// The handle of the connected process.
    let handle: ProcessHandle
    /// The process that the client speaks for; `nil` for itself.
    var represented: RepresentedProcess?
    private var inbox: Inbox
    var phase = Phase.new
    var caller: Caller?
    var deadline: Scheduled<Void>?
    /// The time limit of a turn to unlock. A turn may become one to ask.
    var turnEnd: Scheduled<Void>?
    /// The parts of an incomplete store, which wait for the next part at most for ``patienceForFrame``.
    private var staged: [Item] = []
    private var stagedDeletes: [Query] = []
    private var stagedBytes = 0 {
        didSet { server.noteStaged(stagedBytes - oldValue) }
    }
    private var stagingFailure: VaultError?
    /// Whether the last request was a part of a store, but not its last part.
    private var isStaging = false
    private var isGoingOn = false
    var closesWhenDone = false
    private var isReading = true
    /// The tickets of this connection, and whether the next request has presented one.
    var tickets: [Ticket] = []
    private var isNextAttended = false
    var answerEnd: Scheduled<Void>?
    var watches = Watches()
    private(set) var lastUse = NIODeadline.now()

    /// The time limit for the arrival of a frame after its first byte, and of the first frame after the connection.
    static let patienceForFrame = TimeAmount.seconds(5)
    /// The time limit for a client to read an answer.
    static let patienceForReader = TimeAmount.seconds(30)
    /// The longest turn of a client to ask a person for the passphrase.
    private static let patienceForPerson = TimeAmount.minutes(3)

    init(_ server: AgentServer, _ process: ClientProcess, _ handle: ProcessHandle) throws(CryptoError) {
        self.server = server
        self.process = process
        self.handle = handle
        inbox = try Inbox()
    }

    /// Whether closing the connection loses nothing: the client has not greeted, or has no rights.
    var isDispensable: Bool {
        if case .new = phase { true } else { caller?.access == AgentStatus.Access.none }
    }

    /// Whether the connection carries changes, whose readers learn of its end.
    var isWatching: Bool { if case .watching = phase { true } else { false } }

    /// Whether the connection may be closed in favour of another one.
    var isIdle: Bool {
        switch phase {
        case .ready: inbox.count == 0 && !isStaging
        // Closed if there is no room for others; the reader learns that the connection has ended.
        case .watching: true
        case .new, .busy, .asking, .offering, .closed: false
        }
    }

    /// Drops an incomplete store after a lock: its plaintext must not be kept any longer.
    func dropStaged() {
        guard isStaging else { return }
        (staged, stagedDeletes, stagedBytes, stagingFailure) = ([], [], 0, .locked)
    }

    // MARK: Reading

    func channelActive(context: ChannelHandlerContext) {
        server.opened(self, context)
        wait(Session.patienceForFrame, context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let arrived = unwrapInboundIn(data)
        do throws(CryptoError) { try inbox.append(arrived.readableBytesUInt8Span) } catch { close(context) }
        // The buffer comes from a pool, and another connection may get it next.
        arrived.wipe()
    }

    func channelReadComplete(context: ChannelHandlerContext) { goOn(context) }

    func channelInactive(context: ChannelHandlerContext) {
        phase = .closed
        deadline?.cancel()
        turnEnd?.cancel()
        answerEnd?.cancel()
        watches.end()
        (staged, stagedDeletes, stagedBytes) = ([], [], 0)
        represented = nil
        server.closed(self)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { close(context) }

    /// Handles the next request if it has arrived, and otherwise reads on.
    func goOn(_ context: ChannelHandlerContext) {
        // An immediate answer returns here: many requests must not nest as many calls.
        guard !isGoingOn else { return }
        isGoingOn = true
        defer {
            isGoingOn = false
            readOrNot(context)
        }
        while true {
            switch phase {
            case .busy, .closed: return
            case .asking, .offering: return inbox.count > 0 ? close(context) : ()
            case .watching where watches.isAnswering: return
            case .new, .ready, .watching: break
            }
            do throws(MessageError) {
                guard let frame = try inbox.next() else {
                    if inbox.count > 0 || isStaging, deadline == nil { wait(Session.patienceForFrame, context) }
                    return
                }
                deadline?.cancel()
                deadline = nil
                let request = try ServedRequests.request(frame)
                // A status request does not count as use.
                if !(request is StatusRequest) { lastUse = .now() }
                if case .watching = phase {
                    try takeWatching(request, frame.number, context)
                    continue
                }
                try take(request, frame.body.count + frame.secretsLength, frame.number, context)
            } catch {
                return refuse(.agent(.protocolViolation), context)
            }
        }
    }

    /// Reads while no answer is pending. A client that does not read its answers fills only the kernel's buffers.
    func readOrNot(_ context: ChannelHandlerContext) {
        let reads =
            switch phase {
            // Only reading detects the end of a client.
            case .new, .ready, .asking, .offering: true
            case .watching: !watches.isAnswering
            case .busy, .closed: false
            }
        guard reads != isReading else { return }
        isReading = reads
        try? context.channel.syncOptions?.setOption(.autoRead, value: reads)
    }

    private func take(
        _ request: any ServedRequest, _ size: Int, _ number: UInt32, _ context: ChannelHandlerContext
    ) throws(MessageError) {
        guard var caller else {
            guard let hello = request as? any Hello else { throw .invalid }
            return meet(hello, number, context)
        }
        guard represented?.hasEnded != true else {
            server.answers.audit?.noteRefusal(of: caller, .agent(.refused), "the process has ended")
            return refuse(.agent(.refused), number: number, context)
        }
        phase = .busy
        caller.isAttended = isNextAttended
        self.caller = caller
        // All parts of a store are one request.
        if (request as? StoreRequest)?.isLast != false { isNextAttended = false }
        do throws(VaultError) { try caller.check(request) } catch {
            server.answers.audit?.noteRefusal(of: caller, error)
            // Only the last part has an answer.
            if let store = request as? StoreRequest, !store.isLast {
                phase = .ready
                return
            }
            return reply([FailureReply(error)], number, context)
        }
        switch request {
        case is StatusRequest: reply([StatusReply(server.status(for: caller))], number, context)
        case is TurnRequest:
            let here = NIOLoopBound((session: self, context: context), eventLoop: context.eventLoop)
            let loop = context.eventLoop
            server.turns.wait(
                Turns.Waiting(client: ObjectIdentifier(self), process: process.id) {
                    loop.execute { here.value.session.hasTurn(number, here.value.context) }
                } refuse: {
                    loop.execute { here.value.session.hasNoTurn(number, here.value.context) }
                })
        case is StopRequest:
            try? server.answers.audit?.note(.stop, by: caller)
            reply([DoneReply()], number, context)
            server.settings.stop()
        case let request as PresentRequest:
            isNextAttended = tickets.contains { $0.isEqual(to: request.value) }
            reply([isNextAttended ? DoneReply() : FailureReply(.presenceRequired)], number, context)
        case let request as AuthenticateRequest where request.passphrase == nil:
            authenticate(request, caller, number, context)
        case is QuestionsRequest: offer(number, context)
        case let request as WatchRequest: watch(request, caller, number, context)
        case let part as StoreRequest: stage(part, size, number, context)
        case let request as any VaultRequest: answer(request, number, context)
        // A second greeting.
        default: throw .invalid
        }
    }

    private func hasTurn(_ number: UInt32, _ context: ChannelHandlerContext) {
        guard case .busy = phase, let caller else { return }
        let status = server.status(for: caller)
        // Nothing is left to unlock.
        if status.state == .unlocked {
            server.turns.leave(ObjectIdentifier(self))
        } else {
            // A person who does not answer a prompt blocks the others only for this time.
            turnEnd?.cancel()
            turnEnd = context.eventLoop.assumeIsolated().scheduleTask(in: Session.patienceForPerson) {
                self.server.turns.leave(ObjectIdentifier(self))
            }
        }
        reply([StatusReply(status)], number, context)
    }

    private func hasNoTurn(_ number: UInt32, _ context: ChannelHandlerContext) {
        guard case .busy = phase else { return }
        reply([FailureReply(.agent(.busy))], number, context)
    }

    /// Collects the parts of a store until the last one. Excessive parts are still read, and then refused.
    private func stage(_ part: StoreRequest, _ size: Int, _ number: UInt32, _ context: ChannelHandlerContext) {
        isStaging = !part.isLast
        if stagingFailure == nil {
            if stagedBytes + size > server.settings.mostStaged {
                stagingFailure = .storage(.valueTooLarge)
            } else if server.staged + size > server.settings.mostStaged {
                stagingFailure = .agent(.busy)
            } else {
                staged += part.items
                stagedDeletes += part.deleted
                stagedBytes += size
            }
        }
        if stagingFailure != nil { (staged, stagedDeletes, stagedBytes) = ([], [], 0) }
        guard part.isLast else {
            phase = .ready
            return
        }
        let (all, deleted, failure) = (staged, stagedDeletes, stagingFailure)
        (staged, stagedDeletes, stagedBytes, stagingFailure) = ([], [], 0, nil)
        if let failure {
            reply([FailureReply(failure)], number, context)
        } else {
            answer(StoreRequest(all, replacing: part.replacing, deleting: deleted, isLast: true), number, context)
        }
    }

    // MARK: Answering

    private func answer(_ request: some VaultRequest, _ number: UInt32, _ context: ChannelHandlerContext) {
        guard let caller else { return }
        let answers = server.answers
        if let replies = answers.answerAtOnce(request, of: caller) { return reply(replies[...], number, context) }
        if request is any RemoteRequest { return answerPatiently(request, caller, number, context) }
        let work: EventLoopFuture<[any AgentReply]>
        let derivesKeys = request is UnlockRequest || request is AuthenticateRequest || request is AnswerRequest
        if derivesKeys {
            // Not run on the pool: an attempt may be delayed, which must not delay others.
            let promise = context.eventLoop.makePromise(of: [any AgentReply].self)
            server.unlocking.async { promise.succeed(answers.answer(request, of: caller)) }
            work = promise.futureResult
        } else {
            work = server.pool.runIfActive(eventLoop: context.eventLoop) { answers.answer(request, of: caller) }
        }
        work.assumeIsolated().whenComplete { result in
            guard case .success(let replies) = result else { return }
            if derivesKeys, !(replies[0] is FailureReply) { self.server.noteProof() }
            guard case .busy = self.phase else { return }
            if let ticket = replies[0] as? TicketReply { self.tickets.append(ticket.value) }
            self.reply(replies[...], number, context)
        }
    }

    /// Executes a request that may wait for a remote.
    private func answerPatiently(
        _ request: some VaultRequest, _ caller: Caller, _ number: UInt32, _ context: ChannelHandlerContext
    ) {
        let here = NIOLoopBound((session: self, context: context), eventLoop: context.eventLoop)
        let isBrief = request is CheckRemotesRequest
        server.remoteWork.run(on: context.eventLoop, isBrief: isBrief) { [answers = server.answers] in
            answers.answer(request, of: caller)
        } _: { replies in
            guard case .busy = here.value.session.phase else { return }
            here.value.session.reply(replies[...], number, here.value.context)
        }
    }

    /// Writes replies one after the other, each after the previous one was written.
    func reply(_ replies: ArraySlice<any AgentReply>, _ number: UInt32, _ context: ChannelHandlerContext) {
        guard let first = replies.first else {
            deadline?.cancel()
            deadline = nil
            guard !closesWhenDone else { return close(context) }
            phase = .ready
            return goOn(context)
        }
        if deadline == nil { wait(Session.patienceForReader, context) }
        write(first.frame(number), context).assumeIsolated().whenComplete { result in
            guard case .busy = self.phase else { return }
            switch result {
            case .success:
                self.deadline?.cancel()
                self.deadline = nil
                self.reply(replies.dropFirst(), number, context)
            case .failure: self.close(context)
            }
        }
    }

    func write(_ frame: Frame, _ context: ChannelHandlerContext) -> EventLoopFuture<Void> {
        var buffer = context.channel.allocator.buffer(
            capacity: Frame.headLength + frame.body.count + frame.secretsLength)
        buffer.writeBytes(frame.open)
        for secret in frame.secrets {
            secret.withBytes { bytes in
                // The bytes are copied before the span ends.
                _ = unsafe bytes.withUnsafeBytes { unsafe buffer.writeBytes($0) }
            }
        }
        let future = context.writeAndFlush(wrapOutboundOut(buffer))
        guard frame.secretsLength > 0 else { return future }
        // The write has ended, successfully or not.
        future.whenComplete { [buffer] _ in buffer.wipe() }
        return future
    }

    /// Sends an error, and ends the connection.
    ///
    /// - Parameter number: the number of the request; 0 for the connection itself.
    func refuse(_ error: VaultError, number: UInt32 = 0, _ context: ChannelHandlerContext) {
        phase = .busy
        write(FailureReply(error).frame(number), context).assumeIsolated().whenComplete { _ in self.close(context)
        }
    }

    func turnAway(_ context: ChannelHandlerContext) { refuse(.agent(.busy), context) }

    func wait(_ patience: TimeAmount, _ context: ChannelHandlerContext) {
        deadline?.cancel()
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: patience) { self.close(context) }
    }

    /// Ends the connection after the answer to the current request.
    func closeWhenDone(_ context: ChannelHandlerContext) {
        switch phase {
        case .busy, .asking: closesWhenDone = true
        default: close(context)
        }
    }

    func close(_ context: ChannelHandlerContext) {
        phase = .closed
        context.close(promise: nil)
    }
}
