// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultDoorKit
internal import VaultFormat

/// The request of a page for a passkey. A page can start a ceremony in the background, and the vault may be open, so
/// every ceremony asks the user.
struct BrowserCeremony {
    let door: BrowserDoor
    let request: BrowserRequest
    let store: any ItemStore

    /// Makes a passkey.
    func register(_ answer: inout BrowserAnswer) throws(BrowserError) {
        try perform(&answer) { () throws(PasskeyFailure) in
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
            _ = try PasskeyFailure.storing { () throws(VaultError) in try store.add(made.passkey) }
            return .registration(made, options)
        }
    }

    /// Signs with a passkey.
    func sign(_ answer: inout BrowserAnswer) throws(BrowserError) {
        try perform(&answer) { () throws(PasskeyFailure) in
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
                try PasskeyFailure.storing { () throws(VaultError) in
                    try ceremony.sign(options, with: passkey, counter: try store.countSignature(of: passkey))
                })
        }
    }

    /// Runs a ceremony, and writes its result or the code of its refusal.
    private func perform(
        _ answer: inout BrowserAnswer, _ body: () throws(PasskeyFailure) -> PasskeyResponse
    ) throws(BrowserError) {
        let response: PasskeyResponse
        do throws(PasskeyFailure) { response = try body() } catch {
            switch error {
            case .refusal(let refusal): return try answer.write(refusal)
            case .vault(let error): throw error
            }
        }
        try answer.write(response)
    }

    private func ceremony(_ site: RelyingParty, _ isVerified: Bool) -> PasskeyCeremony {
        PasskeyCeremony(
            relyingParty: site.id, origin: site.origin, isVerified: isVerified, isBackedUp: door.house.isReplicated)
    }

    private func options<R>(
        _ parse: (JSONNode?, Span<UInt8>) throws(PasskeyRefusal) -> R
    ) throws(PasskeyFailure) -> R {
        try PasskeyFailure.refusing { () throws(PasskeyRefusal) in try request.message.with("publicKey", parse) }
    }

    /// The passkeys of a site that programs may see, in the order in which they were made.
    private func passkeys(of site: RelyingParty) throws(PasskeyFailure) -> [Passkey] {
        try PasskeyFailure.storing { () throws(VaultError) in try store.passkeys(of: site.id) }
            .filter { !HiddenItems.contains(group: $0.item[.accessGroup]?.text ?? "") }
    }

    private func relyingParty(_ options: CredentialOptions) throws(PasskeyFailure) -> RelyingParty {
        try PasskeyFailure.refusing { () throws(PasskeyRefusal) in
            guard let origin = request.message.text("origin") else { throw .unreadableOrigin }
            return try RelyingParty(options.relyingParty, origin: origin, door.suffixes)
        }
    }

    // MARK: Asking

    /// Asks for a confirmation, or for the passphrase if the user is to be verified.
    ///
    /// - Parameters:
    ///   - credential: the passkey; `nil` for a new one.
    /// - Returns: whether the user has given the passphrase.
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

    private func check(
        _ outcome: PromptOutcome, _ options: CredentialOptions, isSignIn: Bool
    ) throws(PasskeyFailure) {
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

    static func storing<R>(_ body: () throws(VaultError) -> R) throws(PasskeyFailure) -> R {
        do throws(BrowserError) { return try BrowserDoor.stored(body) } catch {
            throw error == .notOpen ? .vault(error) : .refusal(.other)
        }
    }
}

/// The result of a ceremony.
private enum PasskeyResponse {
    case registration(PasskeyCeremony.Registration, CreationOptions)
    case assertion(PasskeyCeremony.Assertion)
}

extension BrowserAnswer {
    /// Writes the code of a refusal, which the extension turns into the exception of the page.
    fileprivate mutating func write(_ refusal: PasskeyRefusal) throws(BrowserError) {
        try write { json throws(CryptoError) in
            try json.name("response")
            try json.begin("{")
            try json.member("errorCode", raw: String(refusal.rawValue))
            try json.end("}")
        }
    }

    /// Writes the PublicKeyCredential from which the extension makes the object of the page.
    fileprivate mutating func write(_ response: PasskeyResponse) throws(BrowserError) {
        try write { json throws(CryptoError) in
            try json.name("response")
            try json.begin("{")
            switch response {
            case .registration(let made, let options):
                try json.begin(credential: made.passkey.credentialID)
                try json.member("attestationObject", Base64URL.encoded(made.attestationObject))
                try json.member("clientDataJSON", Base64URL.encoded(made.clientData))
                try json.member("authenticatorData", Base64URL.encoded(made.authenticatorData))
                try json.member("publicKey", Base64URL.encoded(made.publicKey.subjectPublicKeyInfo))
                try json.member("publicKeyAlgorithm", raw: String(made.passkey.algorithm.rawValue))
                try json.name("clientExtensionResults")
                try json.begin("{")
                if options.wantsProperties { try json.member("credProps", raw: #"{"rk":true}"#) }
                if options.common.pseudoRandom != nil {
                    try json.write(pseudoRandom: made.pseudoRandom, isNew: true)
                }
            case .assertion(let made):
                try json.begin(credential: made.credentialID)
                try json.member("authenticatorData", Base64URL.encoded(made.authenticatorData))
                try json.member("clientDataJSON", Base64URL.encoded(made.clientData))
                try json.member("signature", Base64URL.encoded(made.signature))
                try json.member("userHandle", Base64URL.encoded(made.userHandle))
                try json.name("clientExtensionResults")
                try json.begin("{")
                if !made.pseudoRandom.isEmpty { try json.write(pseudoRandom: made.pseudoRandom, isNew: false) }
            }
            for _ in 0..<3 { try json.end("}") }
        }
    }
}

extension JSONWriter {
    /// Writes the members of a credential before its response, and begins the response.
    fileprivate mutating func begin(credential id: [UInt8]) throws(CryptoError) {
        try member("id", Base64URL.encoded(id))
        try member("type", "public-key")
        try member("authenticatorAttachment", "platform")
        try name("response")
        try begin("{")
    }

    /// Writes the results of the extension `prf` (WebAuthn, 10.1.4).
    fileprivate mutating func write(pseudoRandom results: [Secret], isNew: Bool) throws(CryptoError) {
        try name("prf")
        try begin("{")
        if isNew { try member("enabled", raw: "true") }
        if !results.isEmpty {
            try name("results")
            try begin("{")
            for (name, result) in zip(["first", "second"], results) {
                try member(name, .base64URL(result))
            }
            try end("}")
        }
        try end("}")
    }
}
