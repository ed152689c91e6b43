// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import VaultDoorKit

/// Asks the user at a browser one question at a time; a question that was not answered is not repeated for a while.
final class BrowserQuestions: Sendable {
    private let turn = Mutex<[String: ContinuousClock.Instant]>([:])

    /// The pause after a question that was dismissed or not answered.
    private static let rest = Duration.seconds(30)

    /// Asks, unless the same question recently went unanswered. Waits for earlier questions to end.
    ///
    /// - Parameters:
    ///   - subject: the question's key for comparison. For a page's question it has the registrable domain
    ///     (``PublicSuffixes/registrableDomain(of:)``) and none of the page's own texts, by which a page could repeat a
    ///     refused question.
    ///   - isAnswered: returns the answer if another thread has got it meanwhile.
    /// - Returns: `.unavailable` also if the question rests.
    func ask(_ subject: String, unless isAnswered: () -> PromptOutcome?, _ ask: () -> PromptOutcome) -> PromptOutcome {
        turn.withLock { asked in
            if let answered = isAnswered() { return answered }
            let now = ContinuousClock.now
            asked = asked.filter { now - $0.value < BrowserQuestions.rest }
            guard asked[subject] == nil else { return .unavailable }
            let outcome = ask()
            if outcome != .done { asked[subject] = .now }
            return outcome
        }
    }
}

extension BrowserQuestions {
    /// Splits a host into lines that no window truncates: the end of the name identifies its owner.
    static func lines(_ text: String) -> [String] {
        var lines: [String] = []
        var rest = Array(text)[...]
        while !rest.isEmpty {
            lines.append(String(rest.prefix(100)))
            rest = rest.dropFirst(100)
        }
        return lines
    }
}
