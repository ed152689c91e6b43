// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto

/// Vectors of RFC 8032, section 7.1.
struct SigningVector: Sendable {
    let seed: String
    let publicKey: String
    let message: String
    let signature: String

    static let all = [
        SigningVector(
            seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", message: "",
            signature: """
                e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155
                5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b
                """),
        SigningVector(
            seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", message: "72",
            signature: """
                92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da
                085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00
                """),
        SigningVector(
            seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", message: "af82",
            signature: """
                6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac
                18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a
                """),
    ]
}

struct DeviceKeyTests {
    private func verify(_ signature: [UInt8], _ prefix: [UInt8], _ body: [UInt8], _ key: [UInt8]) -> CryptoError? {
        do throws(CryptoError) {
            try SigningKey.verify(signature.span, prefix.span, body.span, publicKey: key.span)
            return nil
        } catch { return error }
    }

    @Test(arguments: SigningVector.all) func `a signature is the one of the RFC`(vector: SigningVector) throws {
        let key = try SigningKey(seed: SecretBytes(copying: [UInt8](hexadecimal: vector.seed).span))
        let (message, expected) = ([UInt8](hexadecimal: vector.message), [UInt8](hexadecimal: vector.signature))
        let publicKey = key.publicKey
        #expect(publicKey.hexadecimal == vector.publicKey)
        for split in 0...message.count {
            let (prefix, body) = (Array(message[..<split]), Array(message[split...]))
            let signature = try key.sign(prefix.span, body.span)
            #expect(signature == expected)
            #expect(verify(signature, prefix, body, publicKey) == nil)
        }
    }

    @Test func `a signature of another message, key or length is refused`() throws {
        let key = try SigningKey(seed: SecretBytes(random: 32))
        let other = try SigningKey(seed: SecretBytes(random: 32))
        let (prefix, body) = (Array("prefix".utf8), Array("body".utf8))
        let (publicKey, otherKey) = (key.publicKey, other.publicKey)
        let signature = try key.sign(prefix.span, body.span)
        #expect(verify(signature, prefix, body, publicKey) == nil)
        #expect(verify(signature, prefix, body, otherKey) == .authenticationFailed)
        #expect(verify(signature, body, prefix, publicKey) == .authenticationFailed)
        #expect(verify(signature, prefix, [], publicKey) == .authenticationFailed)
        #expect(verify(signature.dropLast(), prefix, body, publicKey) == .authenticationFailed)
        #expect(verify(signature, prefix, body, publicKey + [0]) == .authenticationFailed)
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 1
            #expect(verify(changed, prefix, body, publicKey) == .authenticationFailed)
        }
    }

    /// Under a public key of small order, a signature of zeros would verify any number of messages.
    @Test func `a public key of small order verifies nothing`() {
        for first: UInt8 in [0, 1] {
            let key = [first] + [UInt8](repeating: 0, count: 31)
            let signature = key + [UInt8](repeating: 0, count: 32)
            #expect(verify(signature, [], [], key) == .authenticationFailed)
        }
    }

    @Test func `a sealed box opens with the key it was sealed to`() throws {
        let key = try BoxKeyPair(seed: SecretBytes(random: 32))
        let publicKey = key.publicKey
        for length in [0, 1, 32, 1000] {
            let secret = try SecretBytes(random: length)
            let box = try BoxKeyPair.seal(secret, to: publicKey.span)
            #expect(box.count == length + BoxKeyPair.sealOverhead)
            let opened = try key.open(box.span).exposed
            #expect(opened == secret.exposed)
        }
    }

    @Test func `a sealed box with another key, a changed byte or fewer bytes does not open`() throws {
        let seed = try Secret(SecretBytes(random: 32))
        let key = try BoxKeyPair(seed: seed.bytes)
        let again = try BoxKeyPair(seed: seed.bytes)
        let other = try BoxKeyPair(seed: SecretBytes(random: 32))
        let box = try BoxKeyPair.seal(SecretBytes(random: 32), to: key.publicKey.span)
        #expect(box.count == 80)
        let (withSame, withOther) = (opens(box, again), opens(box, other))
        #expect(withSame && !withOther)
        for index in box.indices {
            var changed = box
            changed[index] ^= 1
            let (isChangedOpen, isShorterOpen) = (opens(changed, key), opens(Array(box[..<index]), key))
            #expect(!isChangedOpen && !isShorterOpen, "\(index)")
        }
    }

    private func opens(_ box: [UInt8], _ key: borrowing BoxKeyPair) -> Bool { (try? key.open(box.span).count) != nil }

    @Test func `nothing is sealed to a public key of small order or of another length`() throws {
        let secret = try Secret(SecretBytes(random: 32))
        let one = [1] + [UInt8](repeating: 0, count: 31)
        for key in [[UInt8](repeating: 0, count: 32), one, [], [UInt8](repeating: 9, count: 31)] {
            #expect(throws: CryptoError.authenticationFailed) { try BoxKeyPair.seal(secret.bytes, to: key.span) }
        }
    }
}
