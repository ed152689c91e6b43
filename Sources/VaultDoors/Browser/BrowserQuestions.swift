// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// Questions to the person at a browser: one at a time, and none again for a while that was not answered.
final class BrowserQuestions: Sendable {
    private let turn = Mutex<[String: ContinuousClock.Instant]>([:])

    /// After a question that was dismissed, or not answered.
    private static let rest = Duration.seconds(30)

    /// Asks, unless that was just done in vain. Waits for its turn.
    ///
    /// - Parameters:
    ///   - subject: what is asked, as it is compared.
    ///   - isAnswered: looks whether another thread has got the answer meanwhile.
    func ask(
        _ subject: String, unless isAnswered: () -> PromptOutcome?, _ ask: () -> PromptOutcome
    ) -> PromptOutcome {
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
    /// A host in lines that no window cuts: its end says whose it is.
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
