// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// Where an answer goes.
protocol AnswerSink: AnyObject {
    /// Forgets what came: another member is asked.
    func begin()
    /// Takes a part; false ends the transfer.
    func take(_ part: Span<UInt8>) -> Bool
    /// Whether what came was handed on.
    var hasBegun: Bool { get }
    /// Why a part was not taken. Nil: it was too long, or all were taken.
    var failure: EtcdError? { get }
    /// What the server says is wrong, when the answer is no other.
    var errorWords: String { get }
}

/// Of an answer that does not end.
protocol StreamSink: AnswerSink {}

extension AnswerSink {
    var hasBegun: Bool { false }
    var failure: EtcdError? { nil }

    /// As the gateway says it, in one of several ways: an object with a message, one within another, or a text.
    static func errorWords(_ text: [UInt8]) -> String {
        guard text.count <= 64 << 10, let root = try? JSONNode(text.span) else { return "" }
        for node in [root, root["error"]] {
            if let message = node?["message"], message.isString { return message.unescaped(text.span) }
        }
        if let error = root["error"], error.isString { return error.unescaped(text.span) }
        return ""
    }
}

/// An answer of bounded length.
final class AnswerText: AnswerSink {
    private let longest: Int
    private(set) var bytes: [UInt8] = []

    init(_ longest: Int) { self.longest = longest }

    func begin() { bytes = [] }

    func take(_ part: Span<UInt8>) -> Bool {
        guard part.count <= longest - bytes.count else { return false }
        bytes.append(part)
        return true
    }

    var errorWords: String { Self.errorWords(bytes) }
}

/// As ``AnswerText``, of what has a secret in it.
final class SecretText: AnswerSink {
    private let longest: Int
    private var buffer: SecretBuffer?

    init(_ longest: Int) { self.longest = longest }

    func begin() { buffer = nil }

    func take(_ part: Span<UInt8>) -> Bool {
        guard part.count <= longest - (buffer?.count ?? 0) else { return false }
        do throws(CryptoError) {
            var longer = if let buffer = buffer.take() { buffer } else { try SecretBuffer(capacity: part.count) }
            try longer.append(part)
            buffer = consume longer
            return true
        } catch { return false }
    }

    /// An answer that is an error has no secret.
    var errorWords: String {
        guard let buffer = buffer.take() else { return "" }
        let words = buffer.withBytes { Self.errorWords($0.array($0.indices)) }
        self.buffer = consume buffer
        return words
    }

    /// What came.
    func text() throws(CryptoError) -> SecretBytes {
        guard let buffer = buffer.take() else { return try SecretBytes(zeroed: 0) }
        return try buffer.bytes()
    }
}
