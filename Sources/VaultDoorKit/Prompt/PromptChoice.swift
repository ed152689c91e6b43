// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto
internal import VaultFormat

/// A question whose answer is one of several numbered lines, which may need more than one window.
package struct PromptChoice: Sendable {
    /// The lines above the numbered ones.
    private let heading: [String]
    private let options: [String]
    private let prompt: String

    /// The answer that shows the next lines.
    package static let more = "m"
    /// The number of wrong answers after which the question is not repeated.
    package static let mostTries = 3

    /// - Parameter options: not empty.
    package init(_ heading: [String], options: [String], prompt: String) {
        (self.heading, self.options, self.prompt) = (heading, options, prompt)
    }

    package var count: Int { options.count }

    /// Returns the window that begins with an option, and the options that it shows: as many as a pinentry takes, at
    /// least one.
    package func page(from start: Int) -> (question: PromptQuestion, shown: Range<Int>) {
        var end = min(start + 1, count)
        while end < count, Assuan.takes(description: lines(start..<end + 1)) { end += 1 }
        var question = PromptQuestion(lines(start..<end))
        question.prompt = prompt
        return (question, start..<end)
    }

    private func lines(_ shown: Range<Int>) -> [String] {
        var lines = heading + shown.map { "\($0 + 1)  \(options[$0])" }
        if shown.count < count {
            let numbers = "\(shown.lowerBound + 1) to \(shown.upperBound) of \(count)"
            lines.append("These are \(numbers); '\(PromptChoice.more)' shows more.")
        }
        return lines
    }

    /// Asks until a number is chosen that was shown.
    ///
    /// - Parameter ask: shows a window and returns what the user typed; `nil` if the user gave no answer.
    /// - Returns: the index of the option; `nil` if the user chose none.
    package func answer(_ ask: (PromptQuestion) -> SecretBytes?) -> Int? {
        var (start, seen, error, tries) = (0, 0, String?.none, 0)
        while tries < PromptChoice.mostTries {
            var (question, shown) = page(from: start)
            seen = max(seen, shown.upperBound)
            question.error = error
            guard let typed = ask(question) else { return nil }
            let text = typed.withBytes { String(decoding: $0.array($0.indices), as: UTF8.self) }
            if text == PromptChoice.more, shown.count < count {
                (start, error) = (shown.upperBound < count ? shown.upperBound : 0, nil)
                continue
            }
            if let number = Int(text), (1...seen).contains(number) { return number - 1 }
            error = "A number from 1 to \(seen), please."
            tries += 1
        }
        return nil
    }
}
