// SPDX-License-Identifier: Apache-2.0

/// The members that the options of both ceremonies have.
package struct CredentialOptions: Hashable, Sendable {
    /// How a site wants the user to be verified, which means asked for the passphrase.
    package enum Verification: String, Sendable {
        case required, preferred, discouraged
    }

    /// 16 bytes or more.
    package let challenge: [UInt8]
    /// As the site wrote it; `nil` stands for the domain of the page.
    package let relyingParty: String?
    /// 15 to 120 seconds.
    package let timeout: Duration
    package let verification: Verification
    /// `nil` unless the site asked for the extension.
    package let pseudoRandom: PseudoRandomInputs?

    private static let shortestChallenge = 16
    /// In milliseconds.
    private static let timeouts: ClosedRange<Double> = 15_000...120_000
    /// The maximum number of credentials in a list: a site has a few for each user, and test sites have thousands.
    private static let mostCredentials = 16_384

    /// - Parameters:
    ///   - options: an object.
    ///   - relyingParty: the member with the rpId.
    ///   - verification: the member with the requirement.
    init(
        _ options: JSONNode, of text: Span<UInt8>, relyingParty: JSONNode?, verification: JSONNode?
    ) throws(PasskeyRefusal) {
        guard let challenge = options["challenge"]?.bytes(text),
            challenge.count >= CredentialOptions.shortestChallenge
        else { throw .challenge }
        self.challenge = challenge
        self.relyingParty = relyingParty?.string(text)
        // Browsers treat a missing or unknown value as this one.
        self.verification = verification?.string(text).flatMap { Verification(rawValue: $0) } ?? .preferred
        let range = CredentialOptions.timeouts
        let milliseconds = options["timeout"]?.number(text) ?? range.upperBound
        timeout = .milliseconds(Int(min(max(milliseconds, range.lowerBound), range.upperBound)))
        pseudoRandom = PseudoRandomInputs(options["extensions"]?["prf"], of: text)
    }

    /// Whether the user must be verified: the site requires it, or asks for outputs of `prf`, which are those of the
    /// function for verified users whatever the site requires (WebAuthn, 10.1.4).
    ///
    /// - Parameter credential: the identifier of the credential; `nil` for a new one.
    package func verifies(for credential: [UInt8]?) -> Bool {
        verification == .required || pseudoRandom?.pair(for: credential ?? []) != nil
    }

    static func object(_ node: JSONNode?) throws(PasskeyRefusal) -> JSONNode {
        guard let node, node.isObject else { throw .noOptions }
        return node
    }

    /// Returns the identifiers of a list of credentials. Identifiers that no credential has are left out, as are
    /// credentials of another type.
    ///
    /// - Throws: `.other` for more credentials than any site lists.
    static func identifiers(_ list: JSONNode?, of text: Span<UInt8>) throws(PasskeyRefusal) -> Set<[UInt8]> {
        let elements = list?.elements ?? []
        guard elements.count <= mostCredentials else { throw .other }
        var identifiers: Set<[UInt8]> = []
        for element in elements where element.isPublicKey(text) {
            guard let id = element["id"]?.bytes(text), (1...AttestedCredential.longestID).contains(id.count) else {
                continue
            }
            identifiers.insert(id)
        }
        return identifiers
    }
}
