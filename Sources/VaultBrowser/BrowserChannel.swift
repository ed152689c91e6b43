// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Synchronization
internal import VaultCrypto

/// The state that an extension and this process share: a key, the nonces used with it, and the association whose key
/// the extension has shown.
final class BrowserChannel: Sendable {
    private struct State {
        var used: Set<BoxNonce> = []
        /// The identifier of the association whose key was shown.
        var association: String?
    }

    let publicKey: [UInt8]
    private let clientKey: [UInt8]
    private let box: PeerBox
    private let state = Mutex(State())

    /// The maximum number of remembered nonces: some 40 MB, enough for half a million messages. A browser that has used
    /// them up exchanges new keys.
    static let nonceLimit = 1 << 20

    /// - Throws: `.authenticationFailed` for a key of another length, or a low-order key, whose shared secret everyone
    ///   knows.
    init(_ clientKey: [UInt8], _ random: any RandomSource) throws(CryptoError) {
        let pair = try BoxKeyPair(seed: try random.secret(BoxKeyPair.seedLength))
        box = try pair.box(with: clientKey.span)
        (publicKey, self.clientKey) = (pair.publicKey, clientKey)
    }

    /// Returns whether a key is the one with which the extension opened the channel.
    func isClientKey(_ key: [UInt8]) -> Bool { key == clientKey }

    /// Opens a message whose nonce neither side has used before.
    func open(_ message: [UInt8], nonce: BoxNonce) throws(BrowserError) -> BrowserMessage {
        let plain: SecretBytes
        do throws(CryptoError) { plain = try box.open(message.span, nonce: nonce) } catch { throw .cannotDecrypt }
        // The nonce is recorded after decryption: only the holder of the key can use one up.
        let answer = nonce.next
        let error: BrowserError? = state.withLock { state in
            guard !state.used.contains(nonce), !state.used.contains(answer) else { return .cannotDecrypt }
            guard state.used.count < BrowserChannel.nonceLimit else { return .keyNotRecognized }
            state.used.insert(nonce)
            state.used.insert(answer)
            return nil
        }
        if let error { throw error }
        guard let message = BrowserMessage(Secret(plain)) else { throw .cannotDecrypt }
        // A nonce repeated inside the message must equal the outer one.
        guard message.data("nonce").map({ $0 == nonce.bytes }) ?? true else { throw .cannotDecrypt }
        return message
    }

    func seal(_ answer: borrowing SecretBytes, nonce: BoxNonce) -> [UInt8] { box.seal(answer, nonce: nonce) }

    var association: String? {
        get { state.withLock { $0.association } }
        set { state.withLock { $0.association = newValue } }
    }
}
