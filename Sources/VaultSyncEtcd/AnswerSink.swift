// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// The destination of an answer.
protocol AnswerSink: AnyObject {
    /// Drops the bytes so far, before another member is asked.
    func begin()
    /// Takes a part of the answer; returns `false` to end the transfer.
    func take(_ part: Span<UInt8>) -> Bool
    /// Whether a part of the answer was delivered to the consumer.
    var hasBegun: Bool { get }
    /// The reason why a part was not taken; `nil` if the answer was too long or all parts were taken.
    var failure: EtcdError? { get }
    /// The server's error text, if the answer is an error.
    var errorWords: String { get }
}

/// The destination of an endless answer.
protocol StreamSink: AnswerSink {}

extension AnswerSink {
    var hasBegun: Bool { false }
    var failure: EtcdError? { nil }

    /// Returns the error text of the gateway, which has several forms: an object with a message, a nested one, or a
    /// text.
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

/// An answer of bounded length that contains a secret.
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

    /// The error text. An answer with an error contains no secret.
    var errorWords: String {
        guard let buffer = buffer.take() else { return "" }
        let words = buffer.withBytes { Self.errorWords($0.array($0.indices)) }
        self.buffer = consume buffer
        return words
    }

    /// Returns the answer.
    func text() throws(CryptoError) -> SecretBytes {
        guard let buffer = buffer.take() else { return try SecretBytes(zeroed: 0) }
        return try buffer.bytes()
    }
}
