// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultFIDO
internal import VaultFormat

/// A person with a security key: chooses the key, types its PIN, and touches it.
struct SecurityKeyHolder {
    /// The device of the key; `nil` for the only one, or the one that is touched.
    var device: String?
    /// Asks for the PIN in place of the terminal.
    var dialog: PassphraseDialog?

    private let keys = SecurityKeys()
    private static let relyingParty = SecurityKeyCredential.relyingParty

    init(device: String?, dialog: PassphraseDialog?) { (self.device, self.dialog) = (device, dialog) }

    // MARK: The two uses

    /// Makes a credential and computes its secret. Nothing is left on the key.
    ///
    /// The credential asks for a PIN or a fingerprint wherever the key has one.
    func enroll() throws -> (secret: Secret, credential: SecurityKeyCredential) {
        let key = try chosen(from: try opened(), for: "the new slot")
        guard key.hasSecrets else { throw SecurityKeyError.unsuitable }
        let isVerified = key.hasPIN || key.verifiesItself
        let salt = SystemRandom().bytes(32)
        return try verifying(key, isVerified: isVerified) { verification in
            say("Touch the security key\(named(key)).")
            let identifier = try key.makeCredential(at: Self.relyingParty, by: verification)
            let credential = try SecurityKeyCredential(identifier: identifier, salt: salt, isVerified: isVerified)
            say("Touch it once more.")
            return (try secret(of: credential, from: key, by: verification), credential)
        }
    }

    /// Computes the secret of the slot that a connected key can open.
    ///
    /// - Parameter credentials: of the vault's slots; not empty.
    func secret(of credentials: [SecurityKeyCredential]) throws -> Secret {
        let keys = try opened()
        let key = try silentOwner(of: credentials, among: keys) ?? chosen(from: keys, for: "this vault")
        var failure: (any Error)?
        // A key that was made unverified has another secret when it verifies its holder (CTAP 2.1, 12.5). A key that
        // always verifies its holder refuses requests without, also those for another key's credentials.
        for isVerified in [true, false] {
            let alike = credentials.filter { $0.isVerified == isVerified }
            guard !alike.isEmpty, !isVerified || key.hasPIN || key.verifiesItself else { continue }
            do {
                return try verifying(key, isVerified: isVerified) { verification in
                    try secret(ofOneOf: alike, from: key, by: verification, noting: &failure)
                }
            } catch let error as SecurityKeyError where !error.endsSearch {
                if error != .noCredential { failure = failure ?? error }
            } catch let error as CommandError where error.status == .locked {
                // No PIN can be asked for.
                failure = failure ?? error
            }
        }
        throw failure ?? SecurityKeyError.noCredential
    }

    /// Computes the secret of the first credential that the key has.
    ///
    /// - Parameter failure: receives the first error that another credential may not have.
    /// - Throws: `.noCredential` if the key opens none; `.unverified` for a fingerprint of another person; the errors
    ///   that end a search.
    private func secret(
        ofOneOf credentials: [SecurityKeyCredential], from key: SecurityKey, by verification: HolderVerification,
        noting failure: inout (any Error)?
    ) throws(SecurityKeyError) -> Secret {
        var isByKey = false
        if case .byKey = verification { isByKey = true }
        let demand = "Touch the security key\(named(key))."
        if isByKey { say(demand) }
        for credential in credentials {
            do throws(SecurityKeyError) {
                if !isByKey {
                    guard try has(credential, key, verification) else { continue }
                    say(demand)
                }
                // Each request takes a fingerprint: a question beforehand would cost one more.
                return try secret(of: credential, from: key, by: verification)
            } catch {
                guard !error.endsSearch, !(isByKey && error == .unverified) else { throw error }
                if error != .noCredential { failure = failure ?? error }
            }
        }
        throw .noCredential
    }

    // MARK: The key

    private func opened() throws -> [SecurityKey] {
        let connected = try keys.connected()
        guard !connected.isEmpty else { throw SecurityKeyError.noKey }
        guard let device else {
            let opened = connected.compactMap { try? keys.open($0) }
            // The error of the only key says more than that there is none.
            return opened.isEmpty ? [try keys.open(connected[0])] : opened
        }
        guard let named = connected.first(where: { $0.path == device }) else {
            let list = connected.map { "\($0.path.printable) (\($0.name.printable))" }.joined(separator: ", ")
            throw CommandError(
                .locked, "there is no security key at '\(device.printable)'", hint: "connected: \(list)")
        }
        return [try keys.open(named)]
    }

    /// Returns the only key that has one of the credentials and answers without verification or a touch.
    private func silentOwner(of credentials: [SecurityKeyCredential], among keys: [SecurityKey]) throws -> SecurityKey?
    {
        guard keys.count > 1 else { return keys.first }
        let owners = keys.filter { key in credentials.contains { (try? has($0, key, .none)) == true } }
        return owners.count == 1 ? owners[0] : nil
    }

    private func chosen(from keys: [SecurityKey], for purpose: String) throws -> SecurityKey {
        guard keys.count > 1 else { return keys[0] }
        say("There are \(keys.count) security keys: touch the one for \(purpose).")
        return try SecurityKeys.touched(among: keys)
    }

    private func has(_ credential: SecurityKeyCredential, _ key: SecurityKey, _ verification: HolderVerification)
        throws(SecurityKeyError) -> Bool
    {
        try key.has(credential.identifier, at: Self.relyingParty, by: verification)
    }

    private func secret(
        of credential: SecurityKeyCredential, from key: SecurityKey, by verification: HolderVerification
    ) throws(SecurityKeyError) -> Secret {
        let salt = credential.salt
        return Secret(
            try key.secret(of: credential.identifier, at: Self.relyingParty, salt: salt, by: verification))
    }

    // MARK: The holder

    /// Runs the body with a fingerprint or a PIN, until the key accepts it; a wrong PIN costs a try.
    private func verifying<R>(_ key: SecurityKey, isVerified: Bool, _ body: (HolderVerification) throws -> R) throws
        -> R
    {
        guard isVerified else { return try body(.none) }
        if key.verifiesItself {
            do { return try body(.byKey) } catch SecurityKeyError.unverified where key.hasPIN {
                say("The security key did not recognize its holder.")
            } catch SecurityKeyError.noCredential where key.hasPIN {
                // A key may count a fingerprint for less than the PIN.
            }
        }
        var flaw: String?
        while true {
            let tries = try key.pinTries()
            guard tries > 0 else { throw SecurityKeyError.pinBlocked }
            let warning = tries == 1 ? "This is the last try before the security key blocks itself." : nil
            let complaint = [flaw, warning].compactMap(\.self)
            do {
                return try body(.pin(try pin(of: key, complaint.isEmpty ? nil : complaint.joined(separator: " "))))
            } catch SecurityKeyError.wrongPIN {
                let left = try key.pinTries()
                flaw = "Wrong PIN: \(left) \(left == 1 ? "try is" : "tries are") left."
            } catch SecurityKeyError.unacceptablePIN {
                flaw = "A PIN has 4 to 63 bytes."
            }
        }
    }

    private func pin(of key: SecurityKey, _ complaint: String?) throws -> SecurityKeyPIN {
        if let dialog { return try SecurityKeyPIN(dialog.askPIN(of: key.key.name, complaint)) }
        guard let terminal = Terminal() else {
            throw CommandError(
                .locked, "the security key needs its PIN, and there is no terminal to ask for it",
                hint: "run it at a terminal, or where pinentry can ask")
        }
        if let complaint { terminal.write(complaint + "\n") }
        return try SecurityKeyPIN(terminal.readSecret("PIN of the security key\(named(key)): "))
    }

    private func named(_ key: SecurityKey) -> String { key.key.name.isEmpty ? "" : " (\(key.key.name.printable))" }

    /// Says something to the person, who may have sent the messages of the command elsewhere.
    private func say(_ text: String) {
        guard let terminal = Terminal() else { return Output.note(text.noted) }
        terminal.write(text + "\n")
    }
}

extension String {
    /// A sentence in the form of a note: in lower case, and without its full stop.
    fileprivate var noted: String { prefix(1).lowercased() + dropFirst().dropLast() }
}

extension CommandError {
    init(_ error: SecurityKeyError) {
        switch error {
        case .noLibrary:
            self.init(
                .locked, "libfido2 is missing or too old, by which security keys are spoken to",
                hint: "apt install libfido2-1; 1.12 or later is needed")
        case .noKey:
            self.init(
                .locked, "there is no security key",
                hint: "insert it; one that is inserted belongs to the user who sits at the machine: see 'man 7 vault'")
        case .unsuitable:
            self.init(
                .failure, "the security key computes no secrets: it lacks FIDO2's hmac-secret",
                hint: "use another key, or 'vault slot add key-file'")
        case .noCredential:
            self.init(
                .locked, "the security key opens no slot of this vault", hint: "insert another: see 'vault slot list'")
        case .unacceptablePIN: self.init(.usage, "the PIN of a security key has 4 to 63 bytes")
        case .wrongPIN: self.init(.wrongPassphrase, "wrong PIN")
        case .unverified:
            self.init(.wrongPassphrase, "the security key did not recognize its holder", hint: "set a PIN for it")
        case .noPIN:
            self.init(
                .locked, "the slot was made with a PIN, and the security key has none now",
                hint: "use another way to unlock, and add the key again")
        case .needsReinsertion:
            self.init(
                .wrongPassphrase, "the security key takes no more PINs for now", hint: "pull it out and insert it again"
            )
        case .pinBlocked:
            self.init(
                .locked, "the security key has blocked its PIN",
                hint: "use another way to unlock; a reset of the key makes it usable again, for new slots only")
        case .untouched:
            self.init(.locked, "nobody touched the security key in time", hint: "touch it while it blinks")
        case .refused: self.init(.cancelled, "refused at the security key")
        case .busy:
            self.init(
                .busy, "the security key does not answer", hint: "another program may use it: try again when it is done"
            )
        case .removed:
            self.init(
                .inputOutput, "the security key was pulled out",
                hint: "leave it in until the command ends; nothing was written")
        case .outOfMemory: self.init(.resources, "not enough memory")
        case .failed(let number):
            self.init(.failure, "the security key reports error \(number)", hint: "see fido/err.h of libfido2")
        }
    }
}
