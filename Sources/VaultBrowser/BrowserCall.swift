// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultCrypto
internal import VaultDoorKit
internal import VaultFormat

/// A request that is answered from an open vault.
struct BrowserCall {
    let door: BrowserDoor
    let request: BrowserRequest
    let store: any ItemStore
    let vaultID: [UInt8]

    var message: BrowserMessage { request.message }
    var suffixes: PublicSuffixes { door.suffixes }

    /// The identifier by which the extension distinguishes vaults: constant for each vault, and without other meaning.
    var hash: JSONOutput { .text(digest("vault.browser.hash", length: 32)) }

    /// Returns the identifier of a group, derived from its name.
    func groupID(_ name: String) -> String { digest("vault.browser.group " + name, length: 16) }

    private func digest(_ label: String, length: Int) -> String {
        let text = vaultID + Array(label.utf8)
        let digest = KeyedHash.digest(text.span)
        return hexadecimal((0..<length).map { digest.bytes[$0] })
    }

    /// Returns the members of the answer.
    func answer() throws(BrowserError) -> BrowserAnswer.Members {
        switch request.action {
        case .changePublicKeys, .requestAutotype: throw .incorrectAction
        case .getDatabaseHash: return [("hash", hash)]
        case .lockDatabase:
            door.house.lock()
            throw .notOpen
        case .associate: return try associate()
        case .testAssociate: return try testAssociate()
        default: break
        }
        let association = try association()
        switch request.action {
        case .getLogins: return try logins(association)
        case .setLogin: return try saveLogin(association)
        case .generatePassword: return [("password", .secret(try BrowserCall.newPassword()))]
        case .getDatabaseGroups: return try groups()
        case .createNewGroup: return try newGroup()
        case .passkeysRegister: return try BrowserCeremony(call: self).register()
        case .passkeysGet: return try BrowserCeremony(call: self).sign()
        case .getTOTP: return try code(association)
        default: throw .incorrectAction
        }
    }

    /// Runs an operation on the vault and converts its errors into the extension's.
    func stored<R>(_ body: (any ItemStore) throws(VaultError) -> R) throws(BrowserError) -> R {
        do throws(VaultError) { return try body(store) } catch {
            switch error {
            case .locked, .agent: throw .notOpen
            default: throw .failed
            }
        }
    }

    // MARK: Associations

    private func associate() throws(BrowserError) -> BrowserAnswer.Members {
        // The key must be the one of this channel: a message relayed from another channel has another key.
        guard let key = message.data("key"), request.channel.isClientKey(key) else { throw .notAssociated }
        let idKey = message.text("idKey") == nil ? key : message.data("idKey")
        guard let idKey, idKey.count == BoxKeyPair.publicKeyLength else { throw .notAssociated }
        let question = PromptQuestion([
            "Let the browser \(PromptQuestion.quoted(door.house.browser)) use this vault?",
            "Its extension KeePassXC-Browser may then save logins, and asks once for each site whose logins it wants.",
            "'vault browser' lists the browsers that may, and takes that back.",
        ])
        let outcome = door.questions.ask("associate", unless: { nil }) { door.house.confirm(question) }
        guard outcome == .done else { throw .denied }
        let made = try stored { store throws(VaultError) in
            try BrowserAssociation.add(idKey, program: door.house.browser, door.random, to: store)
        }
        request.channel.association = made.id
        return [("hash", hash), ("id", .text(made.id))]
    }

    private func testAssociate() throws(BrowserError) -> BrowserAnswer.Members {
        guard let id = message.text("id"), let key = message.text("key"), try find(id, key: key) != nil else {
            request.channel.association = nil
            throw .notAssociated
        }
        request.channel.association = id
        return [("hash", hash), ("id", .text(id))]
    }

    /// The current state of the association that the channel has shown; it may have been deleted since.
    private func association() throws(BrowserError) -> BrowserAssociation {
        guard let id = request.channel.association else { throw .notAssociated }
        let needsKey = [.getLogins, .passkeysRegister, .passkeysGet].contains(request.action)
        let key = message.texts("keys", "id", "key").first { $0[0] == id }?[1]
        guard !needsKey || key != nil else { throw .keyNotRecognized }
        guard let found = try find(id, key: needsKey ? key : nil) else {
            throw needsKey ? .keyNotRecognized : .notAssociated
        }
        return found
    }

    /// Returns an association; `nil` if there is none, or it came with another key.
    private func find(_ id: String, key: String?) throws(BrowserError) -> BrowserAssociation? {
        try stored { store throws(VaultError) in
            let found = try BrowserAssociation.find(id, in: store, withKey: key != nil)
            guard let found, let key else { return found }
            return try found.isKey(key) ? found : nil
        }
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
