// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultCrypto
internal import VaultFormat

/// The plaintext of an answer, before it is sealed in a box.
struct BrowserAnswer: ~Copyable {
    /// The version of KeePassXC whose protocol this is; the extension enables some requests by version.
    static let version = "2.7.9"

    /// The maximum length of the content, in bytes, such that the boxed and base64-encoded answer still fits into a
    /// frame.
    static let limit = (NativeFrames.limit - 4096) / 4 * 3

    private var json: JSONWriter

    init(_ action: BrowserAction, nonce: BoxNonce) throws(BrowserError) {
        json = try BrowserAnswer.start(action, nonce)
    }

    private static func start(_ action: BrowserAction, _ nonce: BoxNonce) throws(BrowserError) -> JSONWriter {
        do throws(CryptoError) {
            var json = try JSONWriter(capacity: 1024)
            try json.begin("{")
            try json.member("action", action.answerName)
            try json.member("version", version)
            try json.member("success", "true")
            try json.member("nonce", Data(nonce.bytes).base64EncodedString())
            return json
        } catch { throw .failed }
    }

    /// The number of bytes written so far.
    var count: Int { json.count }

    /// Appends members to the answer.
    mutating func write(_ body: (inout JSONWriter) throws(CryptoError) -> Void) throws(BrowserError) {
        do throws(CryptoError) { try body(&json) } catch { throw .failed }
    }

    mutating func member(_ name: String, _ text: String) throws(BrowserError) {
        try write { json throws(CryptoError) in try json.member(name, text) }
    }

    mutating func member(_ name: String, _ secret: Secret) throws(BrowserError) {
        try write { json throws(CryptoError) in try json.member(name, secret) }
    }

    /// Closes the object and returns the complete content.
    mutating func content() throws(BrowserError) -> SecretBytes {
        guard count < BrowserAnswer.limit else { throw .failed }
        do throws(CryptoError) {
            try json.end("}")
            return try json.take()
        } catch { throw .failed }
    }

    // MARK: In clear text

    /// An answer without secrets, sent in clear text.
    private static func message(_ members: [(name: String, value: String)]) -> [UInt8] {
        do throws(CryptoError) {
            var json = try JSONWriter(capacity: 1024)
            try json.begin("{")
            for member in members { try json.member(member.name, member.value) }
            try json.end("}")
            return try json.take().withBytes { $0.array($0.indices) }
        } catch {
            // Out of memory: an empty object is still an answer.
            return Array("{}".utf8)
        }
    }

    static func keys(_ publicKey: [UInt8], nonce: BoxNonce) -> [UInt8] {
        message([
            ("action", BrowserAction.changePublicKeys.rawValue), ("version", version),
            ("publicKey", Data(publicKey).base64EncodedString()), ("nonce", Data(nonce.bytes).base64EncodedString()),
            ("success", "true"),
        ])
    }

    static func boxed(_ action: BrowserAction, _ box: [UInt8], nonce: BoxNonce) -> [UInt8] {
        message([
            ("action", action.rawValue), ("message", Data(box).base64EncodedString()),
            ("nonce", Data(nonce.bytes).base64EncodedString()),
        ])
    }

    static func failure(_ error: BrowserError, _ action: String, requestID: String? = nil) -> [UInt8] {
        message(
            [("action", action), ("errorCode", String(error.rawValue)), ("error", error.text)]
                + (requestID.map { [("requestID", $0)] } ?? []))
    }

    /// The unsolicited notice that the vault was locked or unlocked.
    static func signal(isUnlocked: Bool) -> [UInt8] {
        message([("action", isUnlocked ? "database-unlocked" : "database-locked")])
    }
}
