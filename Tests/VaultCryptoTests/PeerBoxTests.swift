// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultCrypto

/// A peer with a key of its own.
private final class Peer: Sendable {
    private let pair: BoxKeyPair

    /// - Parameter first: The first byte of the seed; each further byte is one more.
    init(_ first: UInt8) throws {
        let bytes = (0..<32).map { first + UInt8($0) }
        let seed = try SecretBytes(copying: bytes.span)
        pair = try BoxKeyPair(seed: seed)
    }

    var publicKey: [UInt8] { pair.publicKey }

    /// Returns the sealed box; `nil` if the key is refused.
    func seal(_ plain: [UInt8], to key: [UInt8], _ nonce: BoxNonce) -> [UInt8]? {
        do {
            let box = try pair.box(with: key.span)
            return box.seal(try SecretBytes(copying: plain.span), nonce: nonce)
        } catch { return nil }
    }

    /// Returns the content; `nil` if the box does not open.
    func open(_ box: [UInt8], from key: [UInt8], _ nonce: BoxNonce) -> [UInt8]? {
        do {
            let opening = try pair.box(with: key.span)
            let plain = try opening.open(box.span, nonce: nonce)
            return plain.exposed
        } catch { return nil }
    }
}

struct PeerBoxTests {
    private let nonce = BoxNonce(Array(0..<24))

    @Test func `a public key that gives no secret is refused, and one of another length`() throws {
        let (peer, nonce) = (try Peer(0), try #require(nonce))
        for key in [
            [UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31), Array(peer.publicKey.dropLast()),
            peer.publicKey + [0], [],
        ] { #expect(peer.seal([1], to: key, nonce) == nil, "\(key)") }
    }

    @Test func `a number has 24 bytes, and the next one carries`() throws {
        #expect(BoxNonce([UInt8](repeating: 0, count: 23)) == nil && BoxNonce([UInt8](repeating: 0, count: 25)) == nil)
        let last = try #require(BoxNonce([0xff, 0xff, 1] + [UInt8](repeating: 0, count: 21)))
        #expect(last.next.bytes == [0, 0, 2] + [UInt8](repeating: 0, count: 21))
        let all = try #require(BoxNonce([UInt8](repeating: 0xff, count: 24)))
        #expect(all.next.bytes == [UInt8](repeating: 0, count: 24))
    }

    @Test func `every changed byte, every shorter box, another number and another key are refused`() throws {
        let (ada, grace, eve, nonce) = (try Peer(0), try Peer(32), try Peer(64), try #require(nonce))
        let plain = Array("forty-two".utf8)
        let box = try #require(ada.seal(plain, to: grace.publicKey, nonce))
        for index in box.indices {
            var changed = box
            changed[index] ^= 1
            #expect(grace.open(changed, from: ada.publicKey, nonce) == nil)
            #expect(grace.open(Array(box[..<index]), from: ada.publicKey, nonce) == nil)
        }
        #expect(grace.open(box, from: ada.publicKey, nonce.next) == nil)
        #expect(eve.open(box, from: ada.publicKey, nonce) == nil)
        #expect(grace.open(box, from: eve.publicKey, nonce) == nil)
        #expect(grace.open(box, from: ada.publicKey, nonce) == plain)
    }

    /// The expected box was made by libsodium's `crypto_box_seed_keypair` and `crypto_box_easy`.
    @Test func `a box is libsodium's, byte for byte, from either end`() throws {
        let (ada, grace, nonce) = (try Peer(0), try Peer(32), try #require(nonce))
        #expect(
            ada.publicKey
                == [UInt8](hexadecimal: "4701d08488451f545a409fb58ae3e58581ca40ac3f7f114698cd71deac73ca01"))
        let expected = [UInt8](
            hexadecimal: """
                09ad2ce553a61940eac330a4c4df1fe99cad61a87cfce1289c95c6cdb7bcdb72
                cd61af65d48491a39db2fec32b
                """)
        let plain = Array(#"{"action":"get-databasehash"}"#.utf8)
        #expect(ada.seal(plain, to: grace.publicKey, nonce) == expected)
        #expect(grace.seal(plain, to: ada.publicKey, nonce) == expected)
    }
}
