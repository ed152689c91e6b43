// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultCrypto
internal import VaultFormat

/// The answers to an extension.
enum BrowserAnswer {
    typealias Members = [(String, JSONOutput)]

    /// The version of KeePassXC whose protocol this is; the extension enables some requests by version.
    static let version = "2.7.9"

    /// The maximum length of the content, in bytes, such that the boxed and base64-encoded answer still fits into a
    /// frame.
    static let limit = (NativeFrames.limit - 4096) / 4 * 3

    /// Returns the plaintext of an answer, before it is sealed in a box.
    static func content(
        _ action: BrowserAction, nonce: BoxNonce, _ members: Members
    ) throws(BrowserError) -> SecretBytes {
        let head: Members = [
            ("action", .text(action.answerName)), ("version", .text(version)), ("success", .text("true")),
            ("nonce", .text(Data(nonce.bytes).base64EncodedString())),
        ]
        let content: SecretBytes
        do throws(CryptoError) { content = try JSONWriter.content(.object(head + members)) } catch { throw .failed }
        guard content.count <= limit else { throw .failed }
        return content
    }

    // MARK: In clear text

    /// An answer without secrets, sent in clear text.
    private static func message(_ members: [(String, String)]) -> [UInt8] {
        // Out of memory: an empty object is still an answer.
        guard let content = try? JSONWriter.content(.object(members.map { ($0, .text($1)) })) else {
            return Array("{}".utf8)
        }
        return content.withBytes { $0.array($0.indices) }
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

extension JSONWriter {
    fileprivate static func content(_ value: JSONOutput) throws(CryptoError) -> SecretBytes {
        var json = try JSONWriter(capacity: 1024)
        try json.element(value)
        return try json.take()
    }
}
