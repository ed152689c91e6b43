// SPDX-License-Identifier: Apache-2.0
internal import VaultAgent
internal import VaultDoorKit

/// The pending question to the user, and the processes that the user has refused.
struct Asking {
    private(set) var question: Question?
    private var refusals = Refusals()
    private let beginning = ContinuousClock.now

    private var askedForCollections: Duration?

    private var sinceBeginning: Duration { beginning.duration(to: .now) }

    /// Whether the user has refused the client so often that it has to rest.
    mutating func isResting(_ client: DoorClient) -> Bool { refusals.isResting([client.name], at: sinceBeginning) }

    /// Whether programs that ask which collections there are may have the user asked: once in 30 seconds.
    mutating func mayAskForCollections() -> Bool {
        let now = sinceBeginning
        if let last = askedForCollections, now - last < .seconds(30) { return false }
        askedForCollections = now
        return true
    }

    mutating func begin(_ question: Question) { self.question = question }

    mutating func end(_ question: Question) { if self.question === question { self.question = nil } }

    /// Withdraws the pending question.
    func stop() { question?.stop.stop() }

    /// Withdraws the pending question if nothing else waits for it.
    func leave(_ holder: Question.Holder) { question?.leave(holder) }

    /// - Returns: whether a search of the program waited for the user, and has been answered.
    func giveUpOne(of program: ServiceProgram) -> Bool { question?.giveUpOne(of: program) == true }

    mutating func noteEnd(of question: Question, _ outcome: PromptOutcome) {
        if outcome == .done { refusals.forget(question.clients.map(\.name)) }
        if outcome == .dismissed, !question.stop.isStopped {
            refusals.note(question.clients.map(\.name), at: sinceBeginning)
        }
    }
}

extension DoorClient {
    fileprivate var name: Refusals.Name { .process(process, startTime: startTime) }
}
