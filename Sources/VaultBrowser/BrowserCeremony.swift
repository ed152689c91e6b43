// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultDoorKit
internal import VaultFormat

/// The request of a page for a passkey. A page can start a ceremony in the background, and the vault may be open, so
/// every ceremony asks the user.
struct BrowserCeremony {
    let call: BrowserCall

    private var door: BrowserDoor { call.door }

    /// Makes a passkey.
    func register() throws(BrowserError) -> BrowserAnswer.Members {
        try perform { () throws(PasskeyFailure) in
            let options = try options { node, text throws(PasskeyRefusal) in
                try CreationOptions(node, of: text)
            }
            let site = try relyingParty(options.common)
            let names = Passkey.Names(user: options.userName, display: options.displayName)
            let question = PasskeyQuestion(site, door.house.browser).registering(names)
            let isVerified = try ask(question, subject("register", site), options.common)
            // Not before the user agrees (WebAuthn, 6.3.2, step 3): an answer at once would tell the page which of the
            // passkeys that it names are here.
            let existing = try passkeys(of: site)
            guard !existing.contains(where: { options.excluded.contains($0.credentialID) }) else {
                throw .refusal(.excluded)
            }
            let ceremony = ceremony(site, isVerified)
            let made: PasskeyCeremony.Registration
            do throws(CryptoError) { made = try ceremony.register(options, random: door.random) } catch {
                throw .refusal(.other)
            }
            _ = try storing { store throws(VaultError) in try store.add(made.passkey) }
            return .registration(made, options)
        }
    }

    /// Signs with a passkey.
    func sign() throws(BrowserError) -> BrowserAnswer.Members {
        try perform { () throws(PasskeyFailure) in
            let options = try options { node, text throws(PasskeyRefusal) in
                try RequestOptions(node, of: text)
            }
            let site = try relyingParty(options.common)
            let allowed = try passkeys(of: site).filter { options.allows($0.credentialID) }
            // An answer at once would tell a page that lists accounts which of them are here.
            guard !allowed.isEmpty else { throw .refusal(options.allowed == nil ? .noPasskey : .untilTimeout) }
            let (passkey, isVerified) = try choose(allowed, site, options.common)
            let ceremony = ceremony(site, isVerified)
            return .assertion(
                try storing { store throws(VaultError) in
                    try ceremony.sign(options, with: passkey, counter: try store.countSignature(of: passkey))
                })
        }
    }

    /// Runs a ceremony. The extension turns the code of a refusal into the exception of the page.
    private func perform(
        _ body: () throws(PasskeyFailure) -> PasskeyResponse
    ) throws(BrowserError) -> BrowserAnswer.Members {
        do throws(PasskeyFailure) { return [("response", try body().credential)] } catch {
            switch error {
            case .refusal(let refusal):
                return [("response", .object([("errorCode", .json(String(refusal.rawValue)))]))]
            case .vault(let error): throw error
            }
        }
    }

    private func ceremony(_ site: RelyingParty, _ isVerified: Bool) -> PasskeyCeremony {
        PasskeyCeremony(
            relyingParty: site.id, origin: site.origin, isVerified: isVerified, isBackedUp: door.house.isReplicated)
    }

    private func options<R>(_ parse: (JSONNode?, Span<UInt8>) throws(PasskeyRefusal) -> R) throws(PasskeyFailure) -> R {
        try PasskeyFailure.refusing { () throws(PasskeyRefusal) in try call.message.with("publicKey", parse) }
    }

    /// The passkeys of a site that programs may see, in the order in which they were made.
    private func passkeys(of site: RelyingParty) throws(PasskeyFailure) -> [Passkey] {
        try storing { store throws(VaultError) in try store.passkeys(of: site.id) }
            .filter { !HiddenItems.contains(group: $0.item[.accessGroup]?.text ?? "") }
    }

    private func storing<R>(_ body: (any ItemStore) throws(VaultError) -> R) throws(PasskeyFailure) -> R {
        do throws(BrowserError) { return try call.stored(body) } catch {
            throw error == .notOpen ? .vault(error) : .refusal(.other)
        }
    }

    private func relyingParty(_ options: CredentialOptions) throws(PasskeyFailure) -> RelyingParty {
        try PasskeyFailure.refusing { () throws(PasskeyRefusal) in
            guard let origin = call.message.text("origin") else { throw .unreadableOrigin }
            return try RelyingParty(options.relyingParty, origin: origin, door.suffixes)
        }
    }

    // MARK: Asking

    /// Asks for a confirmation, or for the passphrase if the user is to be verified; returns whether it was given.
    ///
    /// - Parameter credential: the passkey; `nil` for a new one.
    private func ask(
        _ question: PromptQuestion, _ subject: String, _ options: CredentialOptions, for credential: Passkey? = nil
    ) throws(PasskeyFailure) -> Bool {
        let verifies = options.verifies(for: credential?.credentialID)
        let outcome = door.questions.ask(subject, unless: { nil }) {
            verifies ? door.house.verify(question) : door.house.confirm(question)
        }
        try check(outcome, options, isSignIn: credential != nil)
        return verifies
    }

    /// A question's key in ``BrowserQuestions``: an rpId alone would be one of any number of the site's.
    private func subject(_ ceremony: String, _ site: RelyingParty) -> String {
        "passkey \(ceremony) \(WebHost(site.id).map(door.suffixes.registrableDomain) ?? site.id)"
    }

    private func check(_ outcome: PromptOutcome, _ options: CredentialOptions, isSignIn: Bool) throws(PasskeyFailure) {
        switch outcome {
        case .done: return
        // Nobody was asked, and a passkey that is not here gives no other answer.
        case .unavailable where isSignIn, .failed where isSignIn: throw .refusal(.untilTimeout)
        default: throw .refusal(options.verification == .required ? .unverified : .dismissed)
        }
    }

    private func choose(
        _ passkeys: [Passkey], _ site: RelyingParty, _ options: CredentialOptions
    ) throws(PasskeyFailure) -> (Passkey, isVerified: Bool) {
        let (question, subject) = (PasskeyQuestion(site, door.house.browser), subject("get", site))
        if let only = passkeys.first, passkeys.count == 1 {
            return (only, try ask(question.signingIn(only.names), subject, options, for: only))
        }
        var number: Int?
        let outcome = door.questions.ask(subject, unless: { nil }) {
            door.house.choose(question.choosing(passkeys.map(\.names)), &number)
        }
        try check(outcome, options, isSignIn: true)
        guard let number, passkeys.indices.contains(number) else { throw .refusal(.dismissed) }
        let chosen = passkeys[number]
        guard options.verifies(for: chosen.credentialID) else { return (chosen, false) }
        return (chosen, try ask(question.signingIn(chosen.names), subject, options, for: chosen))
    }
}

/// The end of a ceremony without a credential.
private enum PasskeyFailure: Error {
    /// The page receives the code.
    case refusal(PasskeyRefusal)
    /// The extension receives the error.
    case vault(BrowserError)

    static func refusing<R>(_ body: () throws(PasskeyRefusal) -> R) throws(PasskeyFailure) -> R {
        do throws(PasskeyRefusal) { return try body() } catch { throw .refusal(error) }
    }
}

/// The result of a ceremony.
private enum PasskeyResponse {
    case registration(PasskeyCeremony.Registration, CreationOptions)
    case assertion(PasskeyCeremony.Assertion)

    /// The PublicKeyCredential from which the extension makes the object of the page.
    var credential: JSONOutput {
        switch self {
        case .registration(let made, let options):
            var results: BrowserAnswer.Members = options.wantsProperties ? [("credProps", .json(#"{"rk":true}"#))] : []
            if options.common.pseudoRandom != nil {
                let outputs = PasskeyResponse.outputs(made.pseudoRandom)
                results.append(("prf", .object([("enabled", .json("true"))] + outputs)))
            }
            return PasskeyResponse.credential(
                made.passkey.credentialID,
                [
                    ("attestationObject", .bytes(made.attestationObject)), ("clientDataJSON", .bytes(made.clientData)),
                    ("authenticatorData", .bytes(made.authenticatorData)),
                    ("publicKey", .bytes(made.publicKey.subjectPublicKeyInfo)),
                    ("publicKeyAlgorithm", .json(String(made.passkey.algorithm.rawValue))),
                ], results)
        case .assertion(let made):
            let outputs = PasskeyResponse.outputs(made.pseudoRandom)
            return PasskeyResponse.credential(
                made.credentialID,
                [
                    ("authenticatorData", .bytes(made.authenticatorData)), ("clientDataJSON", .bytes(made.clientData)),
                    ("signature", .bytes(made.signature)), ("userHandle", .bytes(made.userHandle)),
                ], outputs.isEmpty ? [] : [("prf", .object(outputs))])
        }
    }

    private static func credential(
        _ id: [UInt8], _ response: BrowserAnswer.Members, _ results: BrowserAnswer.Members
    ) -> JSONOutput {
        .object([
            ("id", .bytes(id)), ("type", .text("public-key")), ("authenticatorAttachment", .text("platform")),
            ("response", .object(response + [("clientExtensionResults", .object(results))])),
        ])
    }

    /// The outputs of the extension `prf` (WebAuthn, 10.1.4).
    private static func outputs(_ outputs: [Secret]) -> BrowserAnswer.Members {
        let named = zip(["first", "second"], outputs).map { ($0, JSONOutput.base64URL($1)) }
        return named.isEmpty ? [] : [("results", .object(named))]
    }
}

extension JSONOutput {
    /// Bytes without secrets, in base64 for URLs.
    fileprivate static func bytes(_ bytes: [UInt8]) -> JSONOutput { .text(Base64URL.encoded(bytes)) }
}
