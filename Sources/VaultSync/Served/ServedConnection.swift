// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import VaultFormat

/// The program at the other end of a connection's pipes.
protocol ServedPeer: Sendable {
    /// Reads what the program has said about the failure, and returns the reason for a person.
    func reason(of failure: PipeFailure) -> RecordStoreError
    /// Ends the program and waits for its end.
    func end()
}

/// A connection to a ``RecordServer``, which carries questions of several threads at once. The server's frames are
/// hostile until they are checked.
///
/// A thread of its own reads all the time, so that no answer blocks a question.
final class ServedConnection: Sendable {
    /// The longest wait for a whole answer, even while the server shows signs of life.
    private static let answerPatience = Duration.seconds(300)

    private let core: Core
    private let reading = DispatchGroup()
    private let peer: any ServedPeer

    /// Exchanges greetings.
    ///
    /// - Throws: the peer's reason, after the peer's end.
    init(_ pipes: FramePipes, with peer: any ServedPeer) throws(RecordStoreError) {
        self.peer = peer
        core = Core(pipes)
        var reader = FrameReader(pipes)
        do throws(PipeFailure) {
            try pipes.send(ServedFrame.greeting)
            try reader.readGreeting()
        } catch {
            let reason = peer.reason(of: error)
            peer.end()
            throw reason
        }
        DispatchQueue(label: "vault.served").async(group: reading) { [core, reader] in
            core.read(reader, peer)
            peer.end()
        }
    }

    deinit {
        core.pipes.stop()
        // The hint's callback may release the connection that delivers it.
        if !core.isReader { reading.wait() }
    }

    /// `nil` while the connection works.
    var failure: RecordStoreError? { core.state.withLock { $0.failure } }

    /// Sends a question without waiting for the answer.
    ///
    /// - Parameters:
    ///   - part: the kind of the frames before the last of the answer; `nil` if there are none.
    ///   - limit: the most bytes of those frames.
    func ask(
        _ question: ServedFrame.Question, _ content: [UInt8], parts part: ServedFrame.Answer? = nil, limit: Int = 0
    ) throws(RecordStoreError) -> ServedCall {
        let call = try core.state.withLock { state throws(RecordStoreError) in
            if let failure = state.failure { throw failure }
            let call = ServedCall(state.takeID(), parts: part, limit: limit)
            state.calls[call.id] = call
            return call
        }
        try send(ServedFrame(question, call.id, content))
        return call
    }

    func answer(to call: ServedCall) throws(RecordStoreError) -> (parts: [ServedFrame], end: [UInt8]) {
        guard let answer = call.answer(within: Self.answerPatience) else {
            core.fail(peer.reason(of: .silent))
            throw failure ?? .unreachable("the server does not answer")
        }
        return try answer.get()
    }

    /// Ends the connection after a violation of the protocol, and returns the reason.
    func violated(_ what: String) -> RecordStoreError {
        let reason = peer.reason(of: .violation(what))
        core.fail(reason)
        return reason
    }

    // MARK: Watches

    func watch(_ content: [UInt8], _ gate: HintGate) throws(RecordStoreError) -> UInt32 {
        let call = try core.state.withLock { state throws(RecordStoreError) in
            if let failure = state.failure { throw failure }
            let call = ServedCall(state.takeID(), parts: nil, limit: 0)
            state.calls[call.id] = call
            // Registered before the answer: a hint may follow the answer at once.
            state.watches[call.id] = gate
            return call
        }
        do throws(RecordStoreError) {
            try send(ServedFrame(.watch, call.id, content))
            _ = try answer(to: call)
        } catch {
            core.state.withLock { $0.watches[call.id] = nil }
            throw error
        }
        return call.id
    }

    func unwatch(_ id: UInt32) {
        let isThere = core.state.withLock { state in
            guard state.failure == nil, state.watches.removeValue(forKey: id) != nil else { return false }
            // Hints in transit still have this number.
            state.endedWatches.insert(id)
            return true
        }
        if isThere { try? send(ServedFrame(.unwatch, id)) }
    }

    private func send(_ frame: ServedFrame) throws(RecordStoreError) {
        do throws(PipeFailure) { try core.pipes.send(frame) } catch {
            // The reading thread may know a better reason.
            if error != .stopped { core.fail(peer.reason(of: error)) }
            throw failure ?? .unreachable("the connection was ended")
        }
    }
}

/// The state that the reading thread shares with the asking threads.
private final class Core: Sendable {
    struct State {
        private var lastID: UInt32 = 0
        var calls: [UInt32: ServedCall] = [:]
        var watches: [UInt32: HintGate] = [:]
        var endedWatches: Set<UInt32> = []
        var failure: RecordStoreError?

        /// Returns an unused number. 0 marks frames of no question.
        mutating func takeID() -> UInt32 {
            repeat { lastID &+= 1 } while lastID == 0 || calls[lastID] != nil || watches[lastID] != nil
            return lastID
        }
    }

    let pipes: FramePipes
    let state = Mutex(State())
    private let reader = Atomic<UInt>(0)

    /// Whether the calling thread is the reading thread.
    var isReader: Bool { reader.load(ordering: .acquiring) == HintGate.thread }

    init(_ pipes: FramePipes) { self.pipes = pipes }

    func read(_ first: FrameReader, _ peer: any ServedPeer) {
        self.reader.store(HintGate.thread, ordering: .releasing)
        var reader = first
        do throws(PipeFailure) {
            // An idle server sends signs of life.
            while true { try take(try reader.next(idle: pipes.patience)) }
        } catch { fail(error == .stopped ? .unreachable("the connection was ended") : peer.reason(of: error)) }
    }

    private func take(_ frame: ServedFrame) throws(PipeFailure) {
        switch ServedFrame.Answer(rawValue: frame.what) {
        case .alive:
            guard frame.id == 0, frame.content.isEmpty else { throw .violation("a sign of life that is none") }
        case .hint:
            var content = ByteReader(frame.content)
            guard let hint = try? content.hint() else { throw .violation("a hint that there is not") }
            let (gate, isKnown) = state.withLock { state in
                (state.watches[frame.id], state.endedWatches.contains(frame.id))
            }
            guard gate != nil || isKnown else { throw .violation("a hint that was not asked for") }
            gate?.pass(hint)
        default:
            guard let call = state.withLock({ $0.calls[frame.id] }) else {
                throw .violation("an answer to no question")
            }
            if try call.take(frame) { state.withLock { $0.calls[frame.id] = nil } }
        }
    }

    /// Ends every wait for an answer with the failure, and every watch.
    func fail(_ failure: RecordStoreError) {
        let (calls, watches) = state.withLock { state in
            if state.failure == nil { state.failure = failure }
            defer { (state.calls, state.watches) = ([:], [:]) }
            return (Array(state.calls.values), Array(state.watches.values))
        }
        for call in calls { call.finish(.failure(failure)) }
        for watch in watches { watch.pass(.lost(failure)) }
        pipes.stop()
    }
}
