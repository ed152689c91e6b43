// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto

@testable import VaultDoorKit

/// Choices among more lines than a window takes.
struct PromptChoiceTests {
    private let choice = PromptChoice(
        ["Which account?"], options: (1...60).map { "account \($0) " + String(repeating: "\u{E4}", count: 30) },
        prompt: "Number:")

    /// Answers the windows one by one.
    private func answer(_ typed: [String], _ choice: PromptChoice) -> (chosen: Int?, asked: [PromptQuestion]) {
        var (rest, asked) = (typed[...], [PromptQuestion]())
        let chosen = choice.answer { question in
            asked.append(question)
            guard let text = rest.popFirst() else { return nil }
            return try? SecretBytes(copying: Array(text.utf8).span)
        }
        return (chosen, asked)
    }

    @Test func `a number that was not shown yet is refused, three times at most`() {
        let (chosen, asked) = answer(["60", "0", "61", "1"], choice)
        #expect(chosen == nil && asked.count == 3)
        #expect(asked.last?.error?.hasPrefix("A number from 1 to ") == true)
        #expect(answer([], choice).chosen == nil)
        #expect(answer(["m", "m", "m", "1"], PromptChoice(["?"], options: ["a", "b"], prompt: "N")).chosen == nil)
    }

    @Test func `each line is shown once, and the first ones come again after the last`() {
        var (start, shown, pages) = (0, [Int](), 0)
        while start < choice.count {
            let page = choice.page(from: start)
            #expect(Assuan.takes(description: page.question.description))
            shown += page.shown
            #expect(page.question.description.count == page.shown.count + 2)
            (start, pages) = (page.shown.upperBound, pages + 1)
        }
        #expect(shown == Array(0..<60) && pages > 2)
        let all = Array(repeating: "m", count: pages - 1)
        #expect(answer(all + ["60"], choice).chosen == 59)
        let (chosen, asked) = answer(all + ["m", "60"], choice)
        #expect(chosen == 59 && asked.last?.description == asked.first?.description)
    }

    @Test func `an account longer than a window is shown as far as it goes`() {
        let long = PromptChoice(
            ["?"], options: Array(repeating: String(repeating: "%", count: 160), count: 9) + ["z"], prompt: "N")
        #expect(long.page(from: 0).shown == 0..<1 && long.page(from: 8).shown == 8..<10)
        let heading = Array(repeating: String(repeating: "%", count: 160), count: 3)
        let longer = PromptChoice(heading, options: ["a", "b"], prompt: "N")
        #expect(longer.page(from: 0).shown == 0..<1 && longer.page(from: 1).shown == 1..<2)
        #expect(answer(["m", "2"], longer).chosen == 1)
    }
}
