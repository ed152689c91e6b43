// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultDoorKit

/// Answers the requests of an extension. Threads may share a door: a request that waits for the user blocks no other.
final class BrowserDoor: Sendable {
    let house: any BrowserHouse
    let random: any RandomSource
    /// Seconds since 1970.
    let now: @Sendable () -> UInt64
    let suffixes: PublicSuffixes
    let questions = BrowserQuestions()

    init(
        _ house: any BrowserHouse, random: any RandomSource = SystemRandom(),
        suffixes: PublicSuffixes = .ofMachine,
        now: @escaping @Sendable () -> UInt64 = { UInt64(max(0, Date().timeIntervalSince1970)) }
    ) {
        (self.house, self.random, self.suffixes, self.now) = (house, random, suffixes, now)
    }

    /// Returns the answer to a request, as the message to be sent.
    func answer(_ request: BrowserRequest) -> [UInt8] {
        do throws(BrowserError) {
            let content = try answerContent(request)
            return BrowserAnswer.boxed(
                request.action, request.channel.seal(content, nonce: request.nonce), nonce: request.nonce)
        } catch { return BrowserAnswer.failure(error, request.action.rawValue, requestID: request.requestID) }
    }

    /// The registrable domain of the page that a request is for; empty if it is for none.
    func site(of request: BrowserRequest) -> String {
        let url = request.message.text("origin") ?? request.message.text("url")
        return url.flatMap { WebPlace($0) }.map { suffixes.registrableDomain(of: $0.host) } ?? ""
    }

    private func answerContent(_ request: BrowserRequest) throws(BrowserError) -> SecretBytes {
        guard request.action != .requestAutotype else { throw .denied }
        guard let vaultID = house.vaultID, let store = openStore(request) else { throw .notOpen }
        let context = BrowserContext(store: store, vaultID: vaultID)
        var answer = try BrowserAnswer(request.action, nonce: request.nonce)
        switch request.action {
        case .changePublicKeys, .requestAutotype: throw .incorrectAction
        case .getDatabaseHash: try answer.member("hash", context.hash)
        case .lockDatabase:
            house.lock()
            throw .notOpen
        case .associate: try associate(request, context, &answer)
        case .testAssociate: try testAssociate(request, context, &answer)
        case .getLogins: try writeLogins(request, association(of: request, context), context, &answer)
        case .setLogin: try saveLogin(request, association(of: request, context), context, &answer)
        case .generatePassword:
            _ = try association(of: request, context)
            try answer.member("password", BrowserDoor.newPassword())
        case .getDatabaseGroups:
            _ = try association(of: request, context)
            try writeGroups(context, &answer)
        case .createNewGroup:
            _ = try association(of: request, context)
            try writeNewGroup(request, context, &answer)
        case .passkeysRegister:
            _ = try association(of: request, context)
            try BrowserCeremony(door: self, request: request, store: context.store).register(&answer)
        case .passkeysGet:
            _ = try association(of: request, context)
            try BrowserCeremony(door: self, request: request, store: context.store).sign(&answer)
        case .getTOTP: try writeCode(request, association(of: request, context), context, &answer)
        }
        return try answer.content()
    }

    /// Runs an operation on the vault and converts its errors into the extension's.
    static func stored<R>(_ body: () throws(VaultError) -> R) throws(BrowserError) -> R {
        do throws(VaultError) { return try body() } catch {
            switch error {
            case .locked, .agent: throw .notOpen
            default: throw .failed
            }
        }
    }

    private func openStore(_ request: BrowserRequest) -> (any ItemStore)? {
        if let store = house.openStore() { return store }
        guard request.triggersUnlock, request.action != .lockDatabase else { return nil }
        let outcome = questions.ask("unlock", unless: { self.house.openStore() == nil ? nil : .done }) {
            self.house.unlock()
        }
        return outcome == .done ? house.openStore() : nil
    }

    // MARK: Associations

    private func associate(
        _ request: BrowserRequest, _ context: BrowserContext, _ answer: inout BrowserAnswer
    ) throws(BrowserError) {
        let message = request.message
        // The key must be the one of this channel: a message relayed from another channel has another key.
        guard let key = message.data("key"), request.channel.isClientKey(key) else { throw .notAssociated }
        let idKey = message.text("idKey") == nil ? key : message.data("idKey")
        guard let idKey, idKey.count == BoxKeyPair.publicKeyLength else { throw .notAssociated }
        let question = PromptQuestion([
            "Let the browser \(PromptQuestion.quoted(house.browser)) use this vault?",
            "Its extension KeePassXC-Browser may then save logins, and asks once for each site whose logins it wants.",
            "'vault browser' lists the browsers that may, and takes that back.",
        ])
        let outcome = questions.ask("associate", unless: { nil }) { self.house.confirm(question) }
        guard outcome == .done else { throw .denied }
        let made = try BrowserDoor.stored { () throws(VaultError) in
            try BrowserAssociation.add(idKey, program: self.house.browser, self.random, to: context.store)
        }
        request.channel.association = made.id
        try answer.member("hash", context.hash)
        try answer.member("id", made.id)
    }

    private func testAssociate(
        _ request: BrowserRequest, _ context: BrowserContext, _ answer: inout BrowserAnswer
    ) throws(BrowserError) {
        guard let id = request.message.text("id"), let key = request.message.text("key"),
            try isAssociated(id, key, context)
        else {
            request.channel.association = nil
            throw .notAssociated
        }
        request.channel.association = id
        try answer.member("hash", context.hash)
        try answer.member("id", id)
    }

    private func isAssociated(
        _ id: String, _ key: String, _ context: BrowserContext
    ) throws(BrowserError) -> Bool {
        try BrowserDoor.stored { () throws(VaultError) in
            try BrowserAssociation.find(id, in: context.store)?.isKey(key) ?? false
        }
    }

    /// The current state of the association that the channel has shown; it may have been deleted since.
    private func association(
        of request: BrowserRequest, _ context: BrowserContext
    ) throws(BrowserError) -> BrowserAssociation {
        guard let id = request.channel.association else { throw .notAssociated }
        if [.getLogins, .passkeysRegister, .passkeysGet].contains(request.action) {
            let keys = request.message.texts("keys", "id", "key").filter { $0[0] == id }
            guard let key = keys.first?[1], try isAssociated(id, key, context) else {
                throw .keyNotRecognized
            }
        }
        let found = try BrowserDoor.stored { () throws(VaultError) in
            try BrowserAssociation.find(id, in: context.store)
        }
        guard let found else { throw .notAssociated }
        return found
    }

    // MARK: Generated passwords

    private static let passwordLength = 24

    private static func newPassword() throws(BrowserError) -> Secret {
        do throws(CryptoError) {
            return Secret(
                try RandomText.characters(passwordLength, of: RandomText.lettersAndDigits + "!#$%&*+-=?@^_".utf8))
        } catch { throw .failed }
    }
}

/// The open vault from which a request is answered.
struct BrowserContext {
    let store: any ItemStore
    let vaultID: [UInt8]

    /// The identifier by which the extension distinguishes vaults: constant for each vault, and without other meaning.
    var hash: String { digest("vault.browser.hash", length: 32) }

    /// Returns the identifier of a group, derived from its name.
    func groupID(_ name: String) -> String { digest("vault.browser.group " + name, length: 16) }

    private func digest(_ label: String, length: Int) -> String {
        let text = vaultID + Array(label.utf8)
        let digest = KeyedHash.digest(text.span)
        return hexadecimal((0..<length).map { digest.bytes[$0] })
    }
}
