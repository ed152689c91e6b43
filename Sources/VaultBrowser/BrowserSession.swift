// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultCrypto

/// A request of an extension, parsed and checked as far as possible without a vault.
struct BrowserRequest: Sendable {
    let action: BrowserAction
    let message: BrowserMessage
    let channel: BrowserChannel
    /// The nonce of the answer.
    let nonce: BoxNonce
    /// Whether the user may be asked to unlock the vault.
    let triggersUnlock: Bool
    let requestID: String?
}

/// The messages of one extension, in the order of their arrival.
struct BrowserSession {
    enum Step {
        case answer([UInt8])
        /// A request that may have to wait for the user; other requests are answered meanwhile.
        case request(BrowserRequest)
    }

    private let random: any RandomSource
    private var channel: BrowserChannel?

    init(_ random: any RandomSource) { self.random = random }

    /// - Parameter bytes: a message, as received.
    mutating func take(_ bytes: [UInt8]) -> Step {
        guard !bytes.isEmpty else { return .answer(BrowserAnswer.failure(.emptyMessage, "")) }
        guard let secret = try? Secret(SecretBytes(copying: bytes.span)), let message = BrowserMessage(secret) else {
            return .answer(BrowserAnswer.failure(.cannotDecrypt, ""))
        }
        let name = message.text("action").flatMap { $0.utf8.count <= 64 ? $0 : nil } ?? ""
        let requestID = message.text("requestID").flatMap { $0.utf8.count <= 64 ? $0 : nil }
        do throws(BrowserError) {
            guard let action = BrowserAction(rawValue: name) else { throw .incorrectAction }
            guard action != .changePublicKeys else { return .answer(try exchangeKeys(message)) }
            guard let channel else { throw .noPublicKey }
            guard let nonce = message.data("nonce").flatMap({ BoxNonce($0) }), let box = message.data("message") else {
                throw .cannotDecrypt
            }
            let opened = try channel.open(box, nonce: nonce)
            guard opened.text("action").map({ $0 == name }) ?? true else { throw .incorrectAction }
            return .request(
                BrowserRequest(
                    action: action, message: opened, channel: channel, nonce: nonce.next,
                    triggersUnlock: message.text("triggerUnlock") == "true", requestID: requestID))
        } catch { return .answer(BrowserAnswer.failure(error, name, requestID: requestID)) }
    }

    /// Exchanges keys; the new channel replaces the previous one.
    private mutating func exchangeKeys(_ message: BrowserMessage) throws(BrowserError) -> [UInt8] {
        guard let key = message.data("publicKey"), let nonce = message.data("nonce").flatMap({ BoxNonce($0) }) else {
            throw .keyChangeFailed
        }
        let channel: BrowserChannel
        do throws(CryptoError) { channel = try BrowserChannel(key, random) } catch { throw .keyChangeFailed }
        self.channel = channel
        return BrowserAnswer.keys(channel.publicKey, nonce: nonce.next)
    }
}
