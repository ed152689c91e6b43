// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent

// Requests about asking people.

/// Only a request with a passphrase comes here; the session handles the one that involves a door.
extension AuthenticateRequest: KnownRequest, VaultRequest {
    static let lane = Lane.keys

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [TicketReply] {
        guard let passphrase else { throw .presenceRequired }
        try answers.prove(passphrase, for: caller)
        return [try answers.ticket(for: caller)]
    }
}

extension PresentRequest: KnownRequest {}

/// Only for doors: the questions contain the words of all programs.
extension QuestionsRequest: ServedRequest {
    func isPermitted(to caller: Caller) -> Bool { caller.isDoor }
}

extension AnswerRequest: VaultRequest {
    static let lane = Lane.keys

    func isPermitted(to caller: Caller) -> Bool { caller.isDoor }

    func replies(to caller: Caller, from answers: Answers) throws(VaultError) -> [DoneReply] {
        let questions = answers.questions
        try questions.check(question, from: caller.process.id)
        switch answer {
        case .passphrase(let passphrase):
            do throws(VaultError) { try answers.prove(passphrase, for: caller) } catch {
                guard error == .storage(.wrongPassphrase) else {
                    questions.end(question, .failure(error == .storage(.noMatchingSlot) ? .presenceRequired : error))
                    throw error
                }
                throw questions.noteWrong(question) ? error : .cancelled
            }
            questions.end(question, .success(()))
        case .dismissed: questions.end(question, .failure(.cancelled))
        case .unanswered: questions.end(question, .failure(.agent(.unanswered)))
        case .unavailable: questions.pass(question)
        }
        return [DoneReply()]
    }
}
