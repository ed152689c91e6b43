// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultDoorKit

/// The questions of a ceremony: which browser asks, for which site, and for which account. The site's domain stands
/// outside the quotation marks, since it was checked; the names inside are those that the page chose.
struct PasskeyQuestion {
    private let site: RelyingParty
    private let browser: String

    /// The maximum length of a name, in scalars.
    private static let longestName = 64
    /// The most accounts that a question shows.
    static let mostAccounts = 20

    init(_ site: RelyingParty, _ browser: String) { (self.site, self.browser) = (site, browser) }

    func registering(_ names: Passkey.Names) -> PromptQuestion {
        PromptQuestion(
            ["Let the browser \(PromptQuestion.quoted(browser)) make a passkey of this vault for"]
                + BrowserQuestions.lines(site.id) + ["and the account \(PasskeyQuestion.account(names))?"])
    }

    func signingIn(_ names: Passkey.Names) -> PromptQuestion {
        PromptQuestion(
            ["Let the browser \(PromptQuestion.quoted(browser)) sign in with the passkey of this vault for"]
                + BrowserQuestions.lines(site.id) + ["and the account \(PasskeyQuestion.account(names))?"])
    }

    func choosing(_ accounts: [Passkey.Names]) -> PromptQuestion {
        var lines = ["The browser \(PromptQuestion.quoted(browser)) wants to sign in with a passkey of this vault for"]
        lines += BrowserQuestions.lines(site.id)
        lines += accounts.enumerated().map { number, names in
            "\(number + 1)  \(PasskeyQuestion.account(names))"
        }
        var question = PromptQuestion(lines)
        question.prompt = "Number of the account:"
        return question
    }

    private static func account(_ names: Passkey.Names) -> String {
        guard !names.user.isEmpty else { return names.display.isEmpty ? "without a name" : quoted(names.display) }
        guard !names.display.isEmpty, names.display != names.user else { return quoted(names.user) }
        return "\(quoted(names.user)) (\(quoted(names.display)))"
    }

    private static func quoted(_ name: String) -> String { PromptQuestion.quoted(name, longest: longestName) }
}
