// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import Vault

struct PasskeyCeremonyTests {
    private static let ceremony = PasskeyCeremony(relyingParty: "example.org", origin: "https://example.org")

    /// SHA-256 of example.org.
    private static let hash = "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b5"

    // MARK: Refusals

    @Test func `a passkey of another site signs nothing`() throws {
        let passkey = try PasskeySamples.passkey("example.com")
        let options = try PasskeySamples.request()
        #expect(throws: VaultError.valueMismatch(path: "")) {
            try PasskeyCeremonyTests.ceremony.sign(options, with: passkey, counter: 0)
        }
    }

    @Test func `a passkey that the site does not list signs nothing`() throws {
        let passkey = try PasskeySamples.passkey(id: [9, 9])
        let options = try PasskeySamples.request(allowing: [[9, 8]])
        #expect(throws: VaultError.valueMismatch(path: "")) {
            try PasskeyCeremonyTests.ceremony.sign(options, with: passkey, counter: 0)
        }
    }

    // MARK: Known answers

    /// WebAuthn Level 3, 16. The ECDSA signature is random here; the Ed25519 one is the specification's.
    @Test(arguments: [("none-es256", "p256"), ("packed-eddsa", "ed25519")])
    func `a sign-in is answered as in the specification`(name: String, key: String) throws {
        let vector = try PasskeySamples.vector(name)
        let expected = try #require(vector["get.authenticatorData"])
        let flags = AuthenticatorData.Flags(rawValue: expected[32])
        let id = try #require(vector["create.credential_id"])
        let passkey = try PasskeySamples.passkey(
            key: key, id: id, accessible: flags.contains(.backupEligible) ? .whenUnlocked : .whenUnlockedThisDeviceOnly)
        var ceremony = PasskeyCeremonyTests.ceremony
        ceremony.isVerified = flags.contains(.userVerified)
        ceremony.isBackedUp = flags.contains(.backedUp)
        let options = try PasskeySamples.request(challenge: try #require(vector["get.challenge"]), allowing: [id])
        let answer = try ceremony.sign(options, with: passkey, counter: 0)
        #expect(answer.authenticatorData == expected && answer.clientData == vector["get.clientDataJSON"])
        #expect(answer.credentialID == id && answer.userHandle == [1, 2, 3] && answer.pseudoRandom.isEmpty)
        if key == "ed25519" { #expect(answer.signature == vector["get.signature"]) }
        let message = expected + (try PasskeySamples.sha256(answer.clientData))
        try PasskeySamples.verify(answer.signature, of: message, by: try passkey.key().publicKey)
    }

    /// WebAuthn Level 3, 16.14: the values of the extension by CTAP's `hmac-secret`.
    @Test func `the pseudo-random function is that of the specification`() throws {
        let seed = Array("WebAuthn PRF test vectors".utf8)
        let key = try Secret(bytes: try PasskeySamples.sha256(seed + [6]))
        let first = Base64URL.encoded(seed + [2])
        let second = Base64URL.encoded(seed + [3])
        let options = try PasskeySamples.request(
            extensions: #"{"prf":{"eval":{"first":"\#(first)","second":"\#(second)"}}}"#)
        var ceremony = PasskeyCeremonyTests.ceremony
        // Without a verified user the function of verified ones has no outputs.
        #expect(try ceremony.results(options.common.pseudoRandom?.common, key).isEmpty)
        ceremony.isVerified = true
        let results = try ceremony.results(options.common.pseudoRandom?.common, key)
        #expect(
            results.map(\.exposed.hexadecimal) == [
                "3c33e07d202c3b029cc21f1722767021bf27d595933b3d2b6a1b9d5dddc77fae",
                "a62a8773b19cda90d7ed4ef72a80a804320dbd3997e2f663805ad1fd3293d50b",
            ])
        #expect(try ceremony.results(nil, key).isEmpty)
    }

    // MARK: Registrations

    @Test(arguments: [COSEAlgorithm.es256, .edDSA], [true, false])
    func `a registration has the key, the site and the flags, and its passkey signs in`(
        algorithm: COSEAlgorithm, isVerified: Bool
    ) throws {
        let prf = #"{"prf":{"eval":{"first":"AQ"}}}"#
        var ceremony = PasskeyCeremonyTests.ceremony
        (ceremony.isVerified, ceremony.isBackedUp) = (isVerified, isVerified)
        let options = try PasskeySamples.creation(algorithm, extensions: prf)
        let made = try ceremony.register(options, random: SeededRandom("passkey"))
        let object = AttestationObject(made.attestationObject.span)
        let data = try #require(object?.data)
        #expect(data.encoded == made.authenticatorData && data.counter == 0 && data.extensions == nil)
        #expect(data.relyingPartyHash == Bytes32([UInt8](hexadecimal: PasskeyCeremonyTests.hash)))
        let verified: AuthenticatorData.Flags = [.userPresent, .backupEligible, .userVerified, .backedUp]
        #expect(data.flags.isSuperset(of: isVerified ? verified : [.userPresent, .backupEligible]))
        #expect(isVerified || data.flags.isDisjoint(with: [.userVerified, .backedUp]))
        let credential = try #require(data.credential)
        #expect(credential.id.count == 32 && credential.id == made.passkey.credentialID)
        #expect(credential.model == AttestedCredential.vault && credential.key.algorithm == algorithm)
        let clientData = ClientData(.create, challenge: PasskeySamples.challenge, origin: "https://example.org")
        #expect(made.clientData == clientData.json)
        let request = try PasskeySamples.request(allowing: [credential.id], extensions: prf)
        let answer = try ceremony.sign(request, with: made.passkey, counter: 0)
        let message = answer.authenticatorData + (try PasskeySamples.sha256(answer.clientData))
        try PasskeySamples.verify(answer.signature, of: message, by: credential.key)
        #expect(answer.pseudoRandom.map(\.exposed) == made.pseudoRandom.map(\.exposed))
        #expect(answer.pseudoRandom.count == (isVerified ? 1 : 0))
    }

    @Test func `a passkey of this device alone is never said to be backed up`() throws {
        var ceremony = PasskeyCeremonyTests.ceremony
        ceremony.isBackedUp = true
        let made = try ceremony.register(
            try PasskeySamples.creation(.edDSA), accessible: .whenUnlockedThisDeviceOnly)
        #expect(made.authenticatorData[32] & 0b1_1000 == 0 && !made.passkey.isBackupEligible)
        let answer = try ceremony.sign(try PasskeySamples.request(), with: made.passkey, counter: 0)
        #expect(answer.authenticatorData[32] & 0b1_1000 == 0)
    }

    @Test func `a frame of another origin is told to the site`() throws {
        var ceremony = PasskeyCeremonyTests.ceremony
        ceremony.isCrossOrigin = true
        let made = try ceremony.register(try PasskeySamples.creation(.edDSA))
        #expect(String(decoding: made.clientData, as: UTF8.self).hasSuffix(#""crossOrigin":true}"#))
    }

    @Test func `nothing of a private key is left in the process`() async {
        await #expect(processExitsWith: .success) {
            let ceremony = PasskeyCeremony(relyingParty: "example.org", origin: "https://example.org")
            for algorithm in [COSEAlgorithm.es256, .edDSA] {
                let marker: SecretMarker
                let reversed: SecretMarker
                do {
                    let made = try ceremony.register(try PasskeySamples.creation(algorithm))
                    let secret = try made.passkey.exportedKey()
                    let place = secret.withBytes { PKCS8PrivateKey($0)?.secret }
                    guard let place else { exit(10) }
                    let number = try secret.bytes.copy(of: place)
                    marker = SecretMarker(of: number)
                    reversed = SecretMarker(of: number, isReversed: true)
                    _ = try ceremony.sign(try PasskeySamples.request(), with: made.passkey, counter: 0)
                    guard try marker.occurrencesInMemory() > 0 else { exit(11) }
                }
                guard try marker.occurrencesInMemory() == 0 else { exit(12) }
                guard try reversed.occurrencesInMemory() == 0 else { exit(13) }
            }
        }
    }
}
