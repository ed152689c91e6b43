// SPDX-License-Identifier: Apache-2.0
internal import VaultAgent
internal import VaultDoorKit

/// The pending question to the user, and the processes that the user has refused.
struct Asking {
    var question: Question?
    private var refusals = Refusals()
    private let beginning = ContinuousClock.now

    private var sinceBeginning: Duration { beginning.duration(to: .now) }

    /// Whether the user has refused the client so often that it has to rest.
    mutating func isResting(_ client: DoorClient) -> Bool { refusals.isResting([client.name], at: sinceBeginning) }

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
