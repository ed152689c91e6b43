// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Synchronization
import TestSupport
import Testing
import Vault
import VaultAgent

/// A door that offers to ask people; the test supplies their answers.
final class FakeDoor: Sendable {
    let client: AgentClient
    private let call = AgentCall()
    private let heard = Mutex<[QuestionEvent]>([])
    private let waiting = DispatchSemaphore(value: 0)

    /// Offers to ask, and returns when the agent has registered the offer.
    init(_ client: AgentClient) {
        self.client = client
        let begun = DispatchSemaphore(value: 0)
        let (call, waiting) = (call, waiting)
        DispatchQueue(label: "door").async { [self] in
            try? client.offerToAsk(call, begins: { begun.signal() }) { event in
                heard.withLock { $0.append(event) }
                waiting.signal()
            }
        }
        #expect(begun.wait(timeout: Patience.deadline) == .success)
    }

    deinit { call.end() }

    func leave() { call.end() }

    /// Waits for the next event from the agent.
    func next() throws -> QuestionEvent {
        try #require(waiting.wait(timeout: Patience.deadline) == .success)
        return heard.withLock { $0.removeFirst() }
    }

    func question() throws -> PersonQuestion {
        guard case .asked(let question) = try next() else { throw VaultError.agent(.protocolViolation) }
        return question
    }

    var hasHeard: Bool { heard.withLock { !$0.isEmpty } }

    func answer(_ question: PersonQuestion, _ answer: PersonAnswer) throws { try client.answer(question.id, answer) }
}

/// A blocking call, on a thread of its own.
final class Waiting<R: Sendable>: Sendable {
    private let result = Mutex<Result<R, VaultError>?>(nil)
    private let done = DispatchSemaphore(value: 0)

    init(_ body: @escaping @Sendable () throws(VaultError) -> R) {
        DispatchQueue(label: "waiting").async { [self] in
            let ended: Result<R, VaultError>
            do throws(VaultError) { ended = .success(try body()) } catch { ended = .failure(error) }
            result.withLock { $0 = ended }
            done.signal()
        }
    }

    func get() throws -> R {
        try #require(done.wait(timeout: Patience.deadline) == .success)
        return try #require(result.withLock { $0 }).get()
    }
}
