// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultDoorKit

/// The questions of a ceremony: which browser asks, for which site, and for which account. The site's domain stands
/// outside the quotation marks, since it was checked; the names inside are those that the page chose.
struct PasskeyQuestion {
    private let site: RelyingParty
    private let browser: String

    /// The maximum length of an account's names, in scalars: with the longest browser and domain, one account fits into
    /// a window.
    private static let longest = (user: 64, display: 32)

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

    func choosing(_ accounts: [Passkey.Names]) -> PromptChoice {
        let heading = "The browser \(PromptQuestion.quoted(browser)) wants to sign in with a passkey of this vault for"
        return PromptChoice(
            [heading] + BrowserQuestions.lines(site.id), options: accounts.map(PasskeyQuestion.account),
            prompt: "Number of the account:")
    }

    private static func account(_ names: Passkey.Names) -> String {
        let user = PromptQuestion.quoted(names.user, longest: longest.user)
        let display = PromptQuestion.quoted(names.display, longest: longest.display)
        guard !names.user.isEmpty else { return names.display.isEmpty ? "without a name" : display }
        return names.display.isEmpty || names.display == names.user ? user : "\(user) (\(display))"
    }
}
