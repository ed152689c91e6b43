// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import Vault
internal import VaultAgent

/// The current question to a person, and the doors that can ask. ``Turns`` ensures that there is only one question.
final class Questions: Sendable {
    /// A connection on which a door receives questions.
    struct Door: Sendable {
        let id: Int
        /// The number of its process. Only this process may answer.
        let process: Int32
        let tell: @Sendable (QuestionEvent) -> Void
    }

    private struct Asked {
        let question: PersonQuestion
        let client: Int
        /// The identities of the client's process.
        let names: [Refusals.Name]
        /// `nil` while no door has the question.
        var door: Int?
        /// The doors that could not ask.
        var passed: Set<Int> = []
        var triesLeft = 3
        let end: @Sendable (Result<Void, VaultError>) -> Void
    }

    private struct State {
        /// The doors in the order of their offers.
        var doors: [Door] = []
        var asked: Asked?
        var refusals = Refusals()
    }

    private let state = Mutex(State())
    private let clock: any AgentClock

    init(clock: any AgentClock) { self.clock = clock }

    /// Whether a door has offered to ask.
    var canAsk: Bool { state.withLock { !$0.doors.isEmpty } }

    // MARK: Doors

    /// - Returns: `false` if there are enough doors. Each occupies a connection that is never idle.
    func add(_ door: Door) -> Bool {
        state.withLock { state in
            guard state.doors.count < Questions.mostDoors else { return false }
            state.doors.append(door)
            return true
        }
    }

    private static let mostDoors = 8

    /// Removes a door. The next door takes over its question.
    func remove(door id: Int) {
        let next = state.withLock { state -> (@Sendable () -> Void)? in
            state.doors.removeAll { $0.id == id }
            return state.asked?.door == id ? Questions.pass(on: &state) : nil
        }
        next?()
    }

    // MARK: Clients

    /// - Throws: `.cancelled` while the process, or its unit, rests after a refusal.
    func check(_ names: [Refusals.Name]) throws(VaultError) {
        let now = clock.now
        guard !state.withLock({ $0.refusals.isResting(names, at: now) }) else { throw .cancelled }
    }

    /// Asks a person.
    ///
    /// - Parameters:
    ///   - names: the identities of the client's process, which rests if the person declines or does not answer.
    ///   - end: called once, on any thread, unless the question is withdrawn; with `.presenceRequired` if no door can
    ///     ask.
    func ask(
        _ question: PersonQuestion, for client: Int, _ names: [Refusals.Name],
        end: @escaping @Sendable (Result<Void, VaultError>) -> Void
    ) {
        // A question whose turn was taken must not block the new one: its door stops asking.
        let (former, next) = state.withLock { state in
            let former = state.asked
            let door = former.flatMap { former in state.doors.first { $0.id == former.door } }
            state.asked = Asked(question: question, client: client, names: names, end: end)
            return ({ former.map { door?.tell(.withdrawn($0.question.id)) } }, Questions.pass(on: &state))
        }
        _ = former()
        next?()
    }

    /// Withdraws a client's question. The process rests like after a refusal: repeated questions and withdrawals could
    /// show as many windows as refused questions.
    func withdraw(for client: Int) {
        let now = clock.now
        let tell = state.withLock { state -> (@Sendable () -> Void)? in
            guard let asked = state.asked, asked.client == client else { return nil }
            state.asked = nil
            state.refusals.note(asked.names, at: now)
            let door = state.doors.first { $0.id == asked.door }
            return { door?.tell(.withdrawn(asked.question.id)) }
        }
        tell?()
    }

    /// Gives the question to the first door that has not passed it on.
    ///
    /// - Returns: an action to perform without the lock.
    private static func pass(on state: inout State) -> (@Sendable () -> Void)? {
        guard let asked = state.asked else { return nil }
        let passed = asked.passed.union(asked.door.map { [$0] } ?? [])
        guard let door = state.doors.first(where: { !passed.contains($0.id) }) else {
            state.asked = nil
            return { asked.end(.failure(.presenceRequired)) }
        }
        state.asked?.door = door.id
        state.asked?.passed = passed
        return { door.tell(.asked(asked.question)) }
    }

    // MARK: Answers

    /// - Throws: `.agent(.refused)` if the process is not that of the asking door; `.cancelled` if the question was
    ///   withdrawn.
    func check(_ id: QuestionID, from process: Int32) throws(VaultError) {
        let flaw = state.withLock { state -> VaultError? in
            guard state.doors.contains(where: { $0.process == process }) else { return .agent(.refused) }
            guard let asked = state.asked, asked.question.id == id else { return .cancelled }
            return state.doors.contains { $0.id == asked.door && $0.process == process } ? nil : .agent(.refused)
        }
        if let flaw { throw flaw }
    }

    func end(_ id: QuestionID, _ result: Result<Void, VaultError>) {
        let now = clock.now
        let end = state.withLock { state -> (@Sendable (Result<Void, VaultError>) -> Void)? in
            guard let asked = state.asked, asked.question.id == id else { return nil }
            state.asked = nil
            switch result {
            case .success: state.refusals.forget(asked.names)
            case .failure(.cancelled), .failure(.agent(.unanswered)): state.refusals.note(asked.names, at: now)
            case .failure: break
            }
            return asked.end
        }
        end?(result)
    }

    /// Passes the question on, since the door cannot ask.
    func pass(_ id: QuestionID) {
        let next = state.withLock { state in
            state.asked?.question.id == id ? Questions.pass(on: &state) : nil
        }
        next?()
    }

    /// Counts a wrong passphrase.
    ///
    /// - Returns: whether another try is permitted.
    func noteWrong(_ id: QuestionID) -> Bool {
        let isLast = state.withLock { state in
            guard state.asked?.question.id == id else { return true }
            state.asked?.triesLeft -= 1
            return state.asked?.triesLeft == 0
        }
        if isLast { end(id, .failure(.storage(.wrongPassphrase))) }
        return !isLast
    }
}
