// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultFormat

/// Authenticator data, COSE keys, client data and attestation objects against WebAuthn Level 3, 16.
struct AuthenticatorDataTests {
    static let unattested = ["none-es256", "none-es256-cross-origin", "none-es256-long-id"]
    static let all = unattested + ["packed-eddsa"]

    private static let key = COSEKey.edDSA([UInt8](repeating: 7, count: 32))

    /// The vector's bytes, by names such as `create.challenge`.
    static func vector(_ name: String) throws -> [String: [UInt8]] {
        try Vectors.table("webauthn/\(name).txt").mapValues { [UInt8](hexadecimal: $0) }
    }

    /// The authenticator data of a registration.
    private static func registered(_ vector: [String: [UInt8]]) throws -> [UInt8] {
        let object = try #require(vector["create.attestationObject"])
        // The certificates in a packed attestation are deeper than our own objects.
        let marker = Array("hauthData".utf8)
        let start = try #require(object.indices.first { object[$0...].starts(with: marker) })
        var reader = CBORReader(at: start + marker.count)
        return try #require(try reader.value(of: object.span).byteString)
    }

    private static let sample = AuthenticatorData(
        relyingPartyHash: .zero, flags: [.userPresent, .backupEligible, .backedUp], counter: 0x0102_0304,
        credential: AttestedCredential(id: [1, 2, 3], key: key), extensions: CBORValue(["credProtect": CBORValue(2)]))

    // MARK: Refusals

    @Test func `data that is cut, extended or altered in its form is refused`() throws {
        let bytes = AuthenticatorDataTests.sample.encoded
        for length in 0..<bytes.count { #expect(AuthenticatorData(bytes: bytes[..<length]) == nil) }
        #expect(AuthenticatorData(bytes: bytes + [0]) == nil)
        var changed = bytes
        for reserved: UInt8 in [1 << 1, 1 << 5] {
            changed[32] = bytes[32] | reserved
            #expect(AuthenticatorData(bytes: changed) == nil)
        }
        // A backup of a key that may not leave its device.
        changed[32] = bytes[32] & ~(1 << 3)
        #expect(AuthenticatorData(bytes: changed) == nil)
        for flag: UInt8 in [1 << 6, 1 << 7] {
            changed[32] = bytes[32] & ~flag
            #expect(AuthenticatorData(bytes: changed) == nil)
        }
        changed = AuthenticatorData(relyingPartyHash: .zero, flags: .userPresent).encoded
        #expect(changed.count == 37 && AuthenticatorData(bytes: changed) != nil)
        for flag: UInt8 in [1 << 6, 1 << 7] {
            var changed = changed
            changed[32] |= flag
            #expect(AuthenticatorData(bytes: changed) == nil)
        }
    }

    @Test func `identifiers of no bytes or more than 1,023 are refused`() throws {
        for length in [0, 1024, 70_000] {
            #expect(
                AttestedCredential(id: [UInt8](repeating: 0, count: length), key: AuthenticatorDataTests.key) == nil)
        }
        var bytes = AuthenticatorDataTests.sample.encoded
        (bytes[53], bytes[54]) = (0xff, 0xff)
        #expect(AuthenticatorData(bytes: bytes) == nil)
    }

    @Test(arguments: [
        // Another algorithm for the curve, another curve, a compressed point, a short number, a missing one, a private
        // number, a member too many, and no key at all.
        "a50102032720012158200000000000000000000000000000000000000000000000000000000000000000225820"
            + "0000000000000000000000000000000000000000000000000000000000000000",
        "a50102032620022158200000000000000000000000000000000000000000000000000000000000000000225820"
            + "0000000000000000000000000000000000000000000000000000000000000000",
        "a501020326200121582000000000000000000000000000000000000000000000000000000000000000002" + "2f5",
        "a5010203262001215820000000000000000000000000000000000000000000000000000000000000000022581f"
            + "00000000000000000000000000000000000000000000000000000000000000",
        "a401020326200121582000000000000000000000000000000000000000000000000000000000000000" + "00",
        "a50101032720062158200000000000000000000000000000000000000000000000000000000000000000235820"
            + "0000000000000000000000000000000000000000000000000000000000000000",
        "a401030339010020430100012143010001", "a0", "80", "f6",
    ])
    func `a key of another form is refused`(text: String) throws {
        let value = try CBORReader.read([UInt8](hexadecimal: text).span)
        #expect(COSEKey(value) == nil)
    }

    @Test func `a point of another length or form is refused`() {
        for length in [0, 1, 33, 64, 66, 97] {
            #expect(COSEKey(point: [UInt8](repeating: 4, count: length)) == nil)
        }
        for first: UInt8 in [0, 2, 3, 5, 6, 7] {
            #expect(COSEKey(point: [first] + [UInt8](repeating: 1, count: 64)) == nil)
        }
    }

    @Test func `an attestation other than none is refused, as are further members`() throws {
        let packed = try AuthenticatorDataTests.vector("packed-eddsa")["create.attestationObject"] ?? []
        #expect(AttestationObject(bytes: packed) == nil)
        let data = CBORValue.bytes(AuthenticatorDataTests.sample.encoded)
        let bare = CBORValue.bytes(AuthenticatorData(relyingPartyHash: .zero, flags: []).encoded)
        for value in [
            CBORValue(["fmt": .text("none"), "attStmt": .map([]), "authData": bare]),
            CBORValue(["fmt": .text("none"), "attStmt": CBORValue(["a": .null]), "authData": data]),
            CBORValue(["fmt": .text("none"), "attStmt": .map([]), "authData": data, "x": .null]),
            CBORValue(["fmt": .text("none"), "authData": data]),
        ] {
            let bytes = value.encoded
            #expect(AttestationObject(bytes: bytes) == nil)
        }
    }

    // MARK: Known answers

    @Test(arguments: all) func `the data of the specification is read and written`(name: String) throws {
        let vector = try AuthenticatorDataTests.vector(name)
        let bytes = try AuthenticatorDataTests.registered(vector)
        let data = try #require(AuthenticatorData(bytes: bytes))
        #expect(data.encoded == bytes && data.counter == 0 && data.extensions == nil)
        #expect(data.flags.contains(.userPresent))
        // SHA-256 of example.org.
        let hash = [UInt8](hexadecimal: "bfabc37432958b063360d3ad6461c9c4735ae7f8edd46592a5e0f01452b2e4b5")
        #expect(data.relyingPartyHash == Bytes32(hash))
        let credential = try #require(data.credential)
        #expect(credential.id == vector["create.credential_id"])
        #expect(credential.model == vector["create.aaguid"].map { Bytes16($0) })
        #expect(credential.key.algorithm == (name == "packed-eddsa" ? .edDSA : .es256))
        let asserted = try #require(vector["get.authenticatorData"])
        let signedIn = try #require(AuthenticatorData(bytes: asserted))
        #expect(signedIn.encoded == asserted && signedIn.credential == nil)
    }

    @Test(arguments: unattested) func `an attestation object of the specification is made byte for byte`(
        name: String
    ) throws {
        let vector = try AuthenticatorDataTests.vector(name)
        let bytes = try #require(vector["create.attestationObject"])
        let object = try #require(AttestationObject(bytes: bytes))
        let read = object.data
        let credential = try #require(read.credential)
        let point = credential.key.representation
        let key = try #require(COSEKey(point: point))
        let made = AuthenticatorData(
            relyingPartyHash: read.relyingPartyHash, flags: read.flags,
            credential: AttestedCredential(model: credential.model, id: credential.id, key: key))
        #expect(AttestationObject(made).encoded == bytes)
    }

    @Test func `a public key has the form that certificates have`() throws {
        let coordinates = [UInt8](1...64)
        let point = try #require(COSEKey(point: [4] + coordinates)).subjectPublicKeyInfo
        // RFC 5480: id-ecPublicKey, secp256r1.
        let head = "3059301306072a8648ce3d020106082a8648ce3d03010703420004"
        #expect(point == [UInt8](hexadecimal: head) + coordinates)
        let key = [UInt8](hexadecimal: "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1")
        // RFC 8410, 10.1.
        #expect(COSEKey.edDSA(key).subjectPublicKeyInfo == [UInt8](hexadecimal: "302a300506032b6570032100") + key)
    }

    @Test func `the model of this vault is constant`() {
        #expect(AttestedCredential.vault.text == "16fe5721936f42e6949db3c090fc7bec")
        #expect(AttestedCredential(id: [1], key: AuthenticatorDataTests.key)?.model == AttestedCredential.vault)
    }

    @Test func `data with extensions is read as it was written, and no damage goes unseen`() {
        let sample = AuthenticatorDataTests.sample
        let bytes = sample.encoded
        #expect(AuthenticatorData(bytes: bytes) == sample)
        #expect(AttestationObject(bytes: AttestationObject(sample).encoded)?.data == sample)
        let random = SeededRandom("authenticator data")
        for _ in 0..<20_000 {
            var changed = bytes
            for _ in 0..<random.number(in: 1...3) {
                changed[random.number(in: 32...changed.count - 1)] ^= 1 << UInt8(random.uniform(8))
            }
            if let data = AuthenticatorData(bytes: changed) { #expect(data.encoded == changed) }
        }
    }

    // MARK: Client data

    /// The vectors that the specification's generator made without its random additional member.
    @Test(arguments: all) func `client data is the beginning of the specification's`(name: String) throws {
        let vector = try AuthenticatorDataTests.vector(name)
        for (prefix, ceremony) in [("create", ClientData.Ceremony.create), ("get", .get)] {
            let expected = try #require(vector["\(prefix).clientDataJSON"])
            let challenge = try #require(vector["\(prefix).challenge"])
            let json = ClientData(
                ceremony, challenge: challenge, origin: "https://example.org",
                isCrossOrigin: name == "none-es256-cross-origin"
            ).json
            let hasMore = expected.count > json.count
            #expect(
                expected.starts(with: hasMore ? json.dropLast() : json[...])
                    && (!hasMore || expected[json.count - 1] == 0x2c))
        }
    }

    @Test func `the client data of a sign-in equals the specification's`() throws {
        let vector = try AuthenticatorDataTests.vector("none-es256")
        let challenge = try #require(vector["get.challenge"])
        let data = ClientData(.get, challenge: challenge, origin: "https://example.org")
        #expect(data.json == vector["get.clientDataJSON"])
    }

    /// CCDToString of WebAuthn, 5.8.1.1: only what JSON requires is escaped, and DEL is not.
    @Test(arguments: [
        ("\"", #""\"""#), ("\\", #""\\""#), ("/", #""/""#), ("\n", #""\u000a""#), ("\u{1f}", #""\u001f""#),
        ("\u{0}", #""\u0000""#), ("\u{7f}", "\"\u{7f}\""), ("ü😀\u{2028}<", "\"ü😀\u{2028}<\""),
    ])
    func `a text is escaped as the specification has it`(text: String, escaped: String) {
        var output: [UInt8] = []
        ClientData.append(text, to: &output)
        #expect(output == Array(escaped.utf8))
    }
}
