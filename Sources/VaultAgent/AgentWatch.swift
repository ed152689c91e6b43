// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import Vault
internal import VaultCrypto

/// The connection on which an agent reports changes to a client, for any number of readers. A thread of its own
/// receives for all of them, so that a slow reader does not delay others. The connection ends with its last reader.
final class AgentWatch: Sendable {
    private struct Reader {
        let buffer: ChangeBuffer
        var last = ItemChange(.many, sequence: 0)
        /// Notified once, when the agent has answered the request; then `nil`.
        var beginning: Beginning?

        /// Ends the reader's sequence.
        func end(_ error: VaultError) {
            if let beginning { return beginning.end(.failure(error)) }
            // A sequence that was closed properly has reported the reason itself.
            let isSaid = if case .failed(let said) = last.kind { said == .closed || error == .closed } else { false }
            if !isSaid { buffer.offer(ItemChange(.failed(error), sequence: last.sequence)) }
            buffer.end()
        }
    }

    private struct State {
        var readers: [UInt32: Reader] = [:]
        /// The number of the newest request. The greeting was the first.
        var number: UInt32 = 1
        var isOver = false
    }

    private let state = Mutex(State())
    private let line: AgentConnection.Line
    /// Read by one thread.
    private let connection: Mutex<AgentConnection?>
    private let process = ForkMark.process

    /// - Parameter connection: a connection after the greeting, without other requests.
    init(_ connection: consuming AgentConnection) {
        line = connection.line
        self.connection = Mutex(consume connection)
        DispatchQueue(label: "vault.watch").async { self.read() }
    }

    /// Whether the watch accepts readers. A forked child lacks the thread.
    var isUsable: Bool { process == ForkMark.process && state.withLock { !$0.isOver } }

    // MARK: Readers

    /// Returns when the agent has begun to report changes.
    ///
    /// - Returns: `nil` if the connection accepts no more readers.
    /// - Throws: the agent's error; `.agent(.gone)` if the connection has ended meanwhile.
    func changes(matching query: Query?, from sequence: UInt64?) throws(VaultError) -> ChangeSequence? {
        let (buffer, beginning) = (ChangeBuffer(), Beginning())
        let number = state.withLock { state -> UInt32? in
            guard !state.isOver else { return nil }
            let number = AgentWatch.nextNumber(&state)
            state.readers[number] = Reader(buffer: buffer, beginning: beginning)
            return number
        }
        guard let number else { return nil }
        do throws(VaultError) {
            try line.send(WatchRequest(query: query, sequence: sequence), number: number)
            try beginning.wait()
        } catch {
            stop(number)
            throw error
        }
        return ChangeSequence(buffer) { self.stop(number) }
    }

    private static func nextNumber(_ state: inout State) -> UInt32 {
        repeat { state.number &+= 1 } while state.number == 0 || state.readers[state.number] != nil
        return state.number
    }

    /// Ends a request without a reader.
    private func stop(_ number: UInt32) {
        // A forked child shares the socket with its parent.
        guard process == ForkMark.process else { return }
        let next = state.withLock { state -> UInt32? in
            guard state.readers.removeValue(forKey: number) != nil else { return nil }
            state.isOver = state.isOver || state.readers.isEmpty
            return AgentWatch.nextNumber(&state)
        }
        guard let next else { return }
        // The end of the connection also ends the agent's reports.
        if isUsable { try? line.send(UnwatchRequest(number), number: next) } else { line.hangUp() }
    }

    // MARK: Received frames

    private func read() {
        connection.withLock { held in
            guard var connection = held.take() else { return }
            while true {
                do throws(VaultError) { try take(connection.receiveFrame(isPatient: true)) } catch {
                    return finish(error)
                }
            }
        }
    }

    /// - Throws: an error after which no further frame can be trusted.
    private func take(_ frame: Frame) throws(VaultError) {
        var failure: VaultError?
        do throws(MessageError) {
            switch frame.kind {
            case ChangesReply.kind: tell(try ChangesReply(frame).value, to: frame.number)
            // Number 0 answers the connection.
            case FailureReply.kind where frame.number == 0: failure = try FailureReply(frame).value
            case FailureReply.kind: end(frame.number, try FailureReply(frame).value)
            case DoneReply.kind: _ = try DoneReply(frame)
            default: throw .invalid
            }
        } catch { throw .agent(.protocolViolation) }
        if let failure { throw failure }
    }

    private func tell(_ changes: [ItemChange], to number: UInt32) {
        let (buffer, beginning) = state.withLock { state in
            if let last = changes.last { state.readers[number]?.last = last }
            defer { state.readers[number]?.beginning = nil }
            return (state.readers[number]?.buffer, state.readers[number]?.beginning)
        }
        for change in changes { buffer?.offer(change) }
        beginning?.end(.success(()))
    }

    private func end(_ number: UInt32, _ error: VaultError) {
        let (reader, isLast) = state.withLock { state in
            let reader = state.readers.removeValue(forKey: number)
            state.isOver = state.isOver || state.readers.isEmpty
            return (reader, state.isOver)
        }
        // Hung up before the error is delivered, since another thread may react to it with a new request.
        if isLast { line.hangUp() }
        reader?.end(error)
    }

    private func finish(_ error: VaultError) {
        line.end()
        let readers = state.withLock { state in
            defer { state.readers = [:] }
            state.isOver = true
            return state.readers
        }
        for reader in readers.values { reader.end(error) }
    }
}

/// The agent's first answer to a request, for which the requesting thread waits.
private final class Beginning: Sendable {
    private let result = Mutex<Result<Void, VaultError>?>(nil)
    private let isThere = DispatchSemaphore(value: 0)

    /// The limit for the answer, like that of other requests that do not ask a person.
    private static let patience = DispatchTimeInterval.seconds(60)

    func end(_ new: Result<Void, VaultError>) {
        result.withLock { $0 = $0 ?? new }
        isThere.signal()
    }

    /// - Throws: the error in the answer; `.agent(.busy)` after the timeout.
    func wait() throws(VaultError) {
        _ = isThere.wait(timeout: .now() + Beginning.patience)
        try (result.withLock { $0 } ?? .failure(.agent(.busy))).get()
    }
}
