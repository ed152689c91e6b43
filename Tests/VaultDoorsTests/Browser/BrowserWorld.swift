// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import TestSupport
import Testing
import Vault
import VaultCrypto

@testable import VaultBrowser
@testable import VaultDoorKit

/// A vault in this process, and a scripted person.
final class TestBrowserHouse: BrowserHouse {
    private struct State {
        var answer = PromptOutcome.done
        var questions: [PromptQuestion] = []
        var isUnlocked = true
        var store: (any ItemStore)?
        var opensWhenAsked = false
        var unlockQuestions = 0
        var whenAsked: (@Sendable () -> Void)?
        var verifications = 0
        var choice = 0
        var isReplicated = false
    }

    let directory: TemporaryDirectory
    let vault: Vault
    private let state = Mutex(State())

    init(_ directory: TemporaryDirectory) throws {
        self.directory = directory
        vault = try Vault.create(
            at: directory.path.appending("v.vault"), passphrase: .of("pass"), cost: .weakest,
            environment: .process(state: directory.path.appending("state")), accessGroups: ["default", "*"])
    }

    let browser = "firefox-esr"

    var vaultID: [UInt8]? { [UInt8](repeating: 5, count: 16) }

    func openStore() -> (any ItemStore)? { state.withLock { $0.isUnlocked ? $0.store ?? vault : nil } }

    var isReplicated: Bool { state.withLock { $0.isReplicated } }

    func joinsFleet() { state.withLock { $0.isReplicated = true } }

    /// Answers from another store than the vault.
    func serves(_ store: any ItemStore) { state.withLock { $0.store = store } }

    func unlock() -> PromptOutcome {
        state.withLock { state in
            state.unlockQuestions += 1
            guard state.opensWhenAsked else { return .dismissed }
            state.isUnlocked = true
            return .done
        }
    }

    func lock() { state.withLock { $0.isUnlocked = false } }

    func confirm(_ question: PromptQuestion) -> PromptOutcome {
        let (answer, whenAsked) = state.withLock { state in
            state.questions.append(question)
            return (state.answer, state.whenAsked)
        }
        whenAsked?()
        return answer
    }

    func verify(_ question: PromptQuestion) -> PromptOutcome {
        state.withLock { $0.verifications += 1 }
        return confirm(question)
    }

    func choose(_ choice: PromptChoice, _ chosen: inout Int?) -> PromptOutcome {
        let (answer, number) = state.withLock { state in
            state.questions.append(choice.page(from: 0).question)
            return (state.answer, state.choice)
        }
        chosen = answer == .done ? number : nil
        return answer
    }

    func chooses(_ number: Int) { state.withLock { $0.choice = number } }

    var verifications: Int { state.withLock { $0.verifications } }

    func says(_ answer: PromptOutcome) { state.withLock { $0.answer = answer } }

    func opensWhenAsked() { state.withLock { $0.opensWhenAsked = true } }

    func whenAsked(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.whenAsked = body } }

    var questions: [PromptQuestion] { state.withLock { $0.questions } }

    var unlockQuestions: Int { state.withLock { $0.unlockQuestions } }
}

/// A reply as read by an extension.
struct BrowserReply {
    /// The unencrypted message.
    let outer: [String: Any]
    /// The content of the box; empty if there was none.
    let inner: [String: Any]

    var errorCode: String? { outer["errorCode"] as? String }

    subscript(key: String) -> String? { inner[key] as? String }

    var entries: [[String: Any]] { inner["entries"] as? [[String: Any]] ?? [] }

    var logins: [String] { entries.compactMap { $0["login"] as? String } }
}

/// The boxes of a channel, which are not copyable.
private final class Channel {
    let box: PeerBox

    init(_ box: consuming PeerBox) { self.box = box }
}

/// A simulated extension, without a browser.
final class BrowserClient {
    let house: TestBrowserHouse
    let door: BrowserDoor
    let pair: BoxKeyPair
    /// A random public identifier, as extensions make it.
    let idKey: [UInt8]
    var session: BrowserSession
    var id = ""
    private var channel: Channel?
    private let random: SeededRandom

    init(_ house: TestBrowserHouse, seed: String = "client", now: UInt64 = 59) throws {
        self.house = house
        random = SeededRandom(seed)
        pair = try BoxKeyPair(seed: random.secret(32))
        idKey = random.bytes(32)
        door = BrowserDoor(house, random: SeededRandom("door \(seed)"), suffixes: PublicSuffixes()) { now }
        session = BrowserSession(SeededRandom("session \(seed)"))
    }

    /// A client of a new house, with keys exchanged and the association approved.
    static func associated(now: UInt64 = 59) throws -> BrowserClient {
        let client = try BrowserClient(TestBrowserHouse(TemporaryDirectory()), now: now)
        try client.exchangeKeys()
        try client.associate()
        return client
    }

    func nonce() -> BoxNonce {
        guard let nonce = BoxNonce(random.bytes(24)) else { return nonce() }
        return nonce
    }

    /// Returns the reply to the bytes of a frame.
    func raw(_ bytes: [UInt8]) throws -> [String: Any] {
        let answer =
            switch session.take(bytes) {
            case .answer(let answer): answer
            case .request(let request): door.answer(request)
            }
        #expect(answer.count <= NativeFrames.limit)
        return try #require(try JSONSerialization.jsonObject(with: Data(answer)) as? [String: Any])
    }

    func raw(_ object: [String: Any]) throws -> [String: Any] {
        try raw(Array(JSONSerialization.data(withJSONObject: object)))
    }

    @discardableResult
    func exchangeKeys() throws -> [String: Any] {
        let nonce = nonce()
        let reply = try raw([
            "action": "change-public-keys", "publicKey": base64(pair.publicKey), "nonce": base64(nonce.bytes),
            "clientID": base64(random.bytes(24)),
        ])
        if let text = reply["publicKey"] as? String, let key = Data(base64Encoded: text) {
            channel = Channel(try pair.box(with: Array(key).span))
            #expect(reply["nonce"] as? String == base64(nonce.next.bytes))
        }
        return reply
    }

    func sealed(_ inner: [UInt8], _ nonce: BoxNonce) throws -> String {
        base64(try #require(channel).box.seal(SecretBytes(copying: inner.span), nonce: nonce))
    }

    /// Sends a message in the extension's form.
    func send(
        _ action: String, _ members: [String: Any] = [:], _ outer: [String: Any] = [:], nonce given: BoxNonce? = nil
    ) throws -> BrowserReply {
        let nonce = given ?? nonce()
        let inner = try JSONSerialization.data(withJSONObject: members.merging(["action": action]) { a, _ in a })
        var message: [String: Any] = [
            "action": action, "message": try sealed(Array(inner), nonce), "nonce": base64(nonce.bytes),
            "clientID": base64([1]),
        ]
        message.merge(outer) { $1 }
        let reply = try raw(message)
        guard let text = reply["message"] as? String, let data = Data(base64Encoded: text) else {
            return BrowserReply(outer: reply, inner: [:])
        }
        #expect(reply["nonce"] as? String == base64(nonce.next.bytes))
        let channel = try #require(channel)
        let plain = try channel.box.open(Array(data).span, nonce: nonce.next).exposed
        let opened = try #require(try JSONSerialization.jsonObject(with: Data(plain)) as? [String: Any])
        #expect(opened["nonce"] as? String == base64(nonce.next.bytes))
        #expect(opened["success"] as? String == "true" && opened["version"] as? String == "2.7.9")
        return BrowserReply(outer: reply, inner: opened)
    }

    @discardableResult
    func associate() throws -> BrowserReply {
        let reply = try send("associate", ["key": base64(pair.publicKey), "idKey": base64(idKey)])
        id = reply["id"] ?? ""
        return reply
    }

    func testAssociate(_ id: String? = nil, key: [UInt8]? = nil) throws -> BrowserReply {
        try send("test-associate", ["id": id ?? self.id, "key": base64(key ?? idKey)])
    }

    func getLogins(_ url: String, _ members: [String: Any] = [:]) throws -> BrowserReply {
        try send(
            "get-logins",
            ["url": url, "submitUrl": url, "id": id, "keys": [["id": id, "key": base64(idKey)]]].merging(members) { $1 }
        )
    }

    func setLogin(_ url: String, _ login: String, _ password: String, _ more: [String: Any] = [:]) throws
        -> BrowserReply
    {
        try send(
            "set-login",
            ["url": url, "submitUrl": url, "id": id, "login": login, "password": password].merging(more) { $1 })
    }
}

func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

extension Vault {
    func keep(
        _ server: String, _ account: String, _ secret: String, protocol name: String? = "htps", port: Int? = nil,
        fields: [String: String] = [:], user: [String: String] = [:]
    ) throws {
        try add(
            Item(
                .internetPassword(server: server, account: account, protocol: name, port: port), userAttributes: user,
                secret: Secret(text: secret), fields: fields.mapValues { try Secret(text: $0) }))
    }
}
