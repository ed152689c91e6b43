// SPDX-License-Identifier: Apache-2.0

/// The options of a sign-in (WebAuthn, 5.5).
package struct RequestOptions: Hashable, Sendable {
    package let common: CredentialOptions
    /// The credentials that the site accepts; `nil` if the site leaves the choice to the user.
    package let allowed: Set<[UInt8]>?

    /// - Parameters:
    ///   - node: the object `publicKey`, with byte strings in base64url without padding. Unknown members are ignored.
    ///   - text: the text that contains it.
    /// - Throws: `.noOptions`, `.challenge`; `.other` for a list longer than any site writes, and for inputs of `prf`
    ///   that belong to no listed credential.
    package init(_ node: JSONNode?, of text: Span<UInt8>) throws(PasskeyRefusal) {
        let options = try CredentialOptions.object(node)
        common = try CredentialOptions(
            options, of: text, relyingParty: options["rpId"], verification: options["userVerification"])
        let list = options["allowCredentials"]
        let identifiers = try CredentialOptions.identifiers(list, of: text)
        // A list with nothing but unreadable identifiers must not become the permission to use any passkey.
        allowed = list?.elements.isEmpty ?? true ? nil : identifiers
        // WebAuthn, 10.1.4, the client's part of a sign-in.
        guard common.pseudoRandom?.byCredential.keys.allSatisfy(identifiers.contains) ?? true else { throw .other }
    }

    /// Whether the site accepts the credential.
    package func allows(_ id: [UInt8]) -> Bool { allowed?.contains(id) ?? true }
}
