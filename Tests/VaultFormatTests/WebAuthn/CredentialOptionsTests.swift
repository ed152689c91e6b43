// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultFormat

/// Options of sites, in the form in which the extension passes them on.
struct CredentialOptionsTests {
    private static let challenge = "AAECAwQFBgcICQoLDA0ODw"

    /// Options of a registration; each argument is JSON.
    private static func creation(
        challenge: String = "\"\(challenge)\"", user: String = #"{"id":"AQID","name":"ada","displayName":"Ada L."}"#,
        parameters: String = #"[{"type":"public-key","alg":-7}]"#, more: String = ""
    ) -> String {
        #"{"rp":{"id":"example.org","name":"Example"},"user":\#(user),"challenge":\#(challenge),"#
            + #""pubKeyCredParams":\#(parameters)\#(more)}"#
    }

    private static func request(_ more: String = "") -> String {
        #"{"challenge":"\#(challenge)","rpId":"example.org"\#(more)}"#
    }

    private func creation(_ text: String) throws -> CreationOptions {
        let bytes = Array(text.utf8)
        return try CreationOptions(try JSONNode(bytes.span), of: bytes.span)
    }

    private func request(_ text: String) throws -> RequestOptions {
        let bytes = Array(text.utf8)
        return try RequestOptions(try JSONNode(bytes.span), of: bytes.span)
    }

    // MARK: Refusals

    @Test func `the codes are those of the extension`() {
        #expect(PasskeyRefusal.allCases.map(\.rawValue) == [15] + Array(20...33))
    }

    @Test(arguments: [
        "null", "[]", "\"x\"", "1", "true",
    ])
    func `options that are no object are refused`(text: String) {
        #expect(throws: PasskeyRefusal.noOptions) { try creation(text) }
        #expect(throws: PasskeyRefusal.noOptions) { try request(text) }
    }

    @Test func `missing options are refused`() {
        let nothing: [UInt8] = []
        #expect(throws: PasskeyRefusal.noOptions) { try CreationOptions(nil, of: nothing.span) }
        #expect(throws: PasskeyRefusal.noOptions) { try RequestOptions(nil, of: nothing.span) }
    }

    @Test(arguments: [
        "null", "\"\"", "\"AAECAwQFBgcICQoLDA0O\"", "17", "[1,2]", "\"AAECAwQFBgcICQoLDA0ODw==\"",
        "\"AAECAwQFBgcICQoLDA0O+w\"", "\"AAECAwQFBgcICQoLDA0ODx\"",
    ])
    func `a short or unreadable challenge is refused`(challenge: String) {
        #expect(throws: PasskeyRefusal.challenge) {
            try creation(CredentialOptionsTests.creation(challenge: challenge))
        }
        #expect(throws: PasskeyRefusal.challenge) { try request(#"{"challenge":\#(challenge)}"#) }
    }

    @Test(arguments: [
        "null", "{}", #"{"id":""}"#, #"{"id":null}"#, #"{"id":7}"#, #"{"id":"AQID="}"#,
        #"{"id":"\#(String(repeating: "A", count: 87))"}"#,
    ])
    func `a user without an identifier of 1 to 64 bytes is refused`(user: String) {
        #expect(throws: PasskeyRefusal.userID) { try creation(CredentialOptionsTests.creation(user: user)) }
    }

    @Test(arguments: [
        "null", "{}", #"[{"type":"public-key","alg":-257}]"#, #"[{"type":"public-key","alg":-35}]"#,
        #"[{"type":"other","alg":-7}]"#, #"[{"alg":-7}]"#, #"[{"type":"public-key","alg":"-7"}]"#,
        #"[{"type":"public-key","alg":-7.5}]"#, #"[{"type":"public-key","alg":1e300}]"#, "[null,1,[],{}]",
    ])
    func `a site that accepts none of the algorithms is refused`(parameters: String) {
        #expect(throws: PasskeyRefusal.noAlgorithm) {
            try creation(CredentialOptionsTests.creation(parameters: parameters))
        }
    }

    @Test func `only an attestation of the device itself is refused`() throws {
        #expect(throws: PasskeyRefusal.attestation) {
            try creation(CredentialOptionsTests.creation(more: #","attestation":"enterprise""#))
        }
        for other in ["\"none\"", "\"indirect\"", "\"direct\"", "\"new\"", "null", "3"] {
            #expect(throws: Never.self) {
                try creation(CredentialOptionsTests.creation(more: #","attestation":\#(other)"#))
            }
        }
    }

    @Test func `inputs of a credential that is not listed are refused`() throws {
        let list = #","allowCredentials":[{"type":"public-key","id":"AQID"}]"#
        for name in ["AQIE", "", "A", "AQID="] {
            let prf = #","extensions":{"prf":{"evalByCredential":{"\#(name)":{"first":"AA"}}}}"#
            #expect(throws: PasskeyRefusal.other) { try request(CredentialOptionsTests.request(list + prf)) }
        }
        let prf = #","extensions":{"prf":{"evalByCredential":{"AQID":{"first":"AA"}}}}"#
        #expect(throws: PasskeyRefusal.other) { try request(CredentialOptionsTests.request(prf)) }
        #expect(throws: Never.self) { try request(CredentialOptionsTests.request(list + prf)) }
    }

    @Test func `inputs of a listed credential are refused in a registration`() {
        let prf = #","extensions":{"prf":{"evalByCredential":{"AQID":{"first":"AA"}}}}"#
        #expect(throws: PasskeyRefusal.other) { try creation(CredentialOptionsTests.creation(more: prf)) }
    }

    @Test func `a site that wants a security key gets no passkey of the platform`() {
        let selection = #","authenticatorSelection":{"authenticatorAttachment":"#
        #expect(throws: PasskeyRefusal.other) {
            try creation(CredentialOptionsTests.creation(more: selection + #""cross-platform"}"#))
        }
        for other in ["\"platform\"", "\"new\"", "null", "3"] {
            #expect(throws: Never.self) {
                try creation(CredentialOptionsTests.creation(more: selection + other + "}"))
            }
        }
    }

    @Test(arguments: [
        #"{"eval":{"first":{}}}"#, #"{"eval":{"first":{"0":1}}}"#, #"{"eval":{"first":[1]}}"#, #"{"eval":{}}"#,
        #"{"eval":7}"#, #"{"eval":{"first":"AQ","second":{}}}"#, #"{"eval":{"first":"AQ="}}"#,
        #"{"eval":{"first":"AQ"},"evalByCredential":{"AQID":{"first":{}}}}"#,
    ])
    func `inputs of prf that are no text are left out with their extension`(inputs: String) throws {
        let list = #","allowCredentials":[{"type":"public-key","id":"AQID"}]"#
        let extensions = #","extensions":{"prf":\#(inputs)}"#
        #expect(try request(CredentialOptionsTests.request(list + extensions)).common.pseudoRandom == nil)
        #expect(try creation(CredentialOptionsTests.creation(more: extensions)).common.pseudoRandom == nil)
    }

    @Test func `a list longer than any site's is refused`() {
        let list = Array(repeating: "{}", count: 16_385).joined(separator: ",")
        #expect(throws: PasskeyRefusal.other) {
            try creation(CredentialOptionsTests.creation(more: #","excludeCredentials":[\#(list)]"#))
        }
        #expect(throws: PasskeyRefusal.other) {
            try request(CredentialOptionsTests.request(#","allowCredentials":[\#(list)]"#))
        }
    }

    // MARK: Accepted

    @Test func `the members of a registration are read, and unknown ones ignored`() throws {
        let options = try creation(
            CredentialOptionsTests.creation(
                parameters: #"""
                    [{"type":"public-key","alg":-257},{"type":"x","alg":-7},{"type":"public-key","alg":-8,"new":[]},
                    {"type":"public-key","alg":-7},{"type":"public-key","alg":-8}]
                    """#,
                more: #"""
                    ,"timeout":60000,"attestation":"direct","new":{"a":[null]},"hints":["client-device"],
                    "authenticatorSelection":{"userVerification":"required","residentKey":"preferred"},
                    "excludeCredentials":[{"type":"public-key","id":"AQID","transports":["usb"]},{"type":"x","id":"BA"},
                    {"type":"public-key","id":"="},{"type":"public-key","id":""},{"type":"public-key"},7],
                    "extensions":{"credProps":true,"prf":{"eval":{"first":"AQ","second":"Ag"}},"other":1}
                    """#))
        #expect(options.common.challenge == Array(0...15) && options.common.relyingParty == "example.org")
        #expect(options.relyingPartyName == "Example" && options.userID == [1, 2, 3])
        #expect(options.userName == "ada" && options.displayName == "Ada L.")
        #expect(options.algorithms == [.edDSA, .es256])
        #expect(options.excluded == [[1, 2, 3]] && options.wantsProperties)
        #expect(options.common.verification == .required && options.common.timeout == .seconds(60))
        #expect(options.common.pseudoRandom?.pair(for: [9])?.first == [1])
        #expect(options.common.pseudoRandom?.common?.second == [2])
    }

    @Test func `members that are missing have the defaults of browsers`() throws {
        let options = try creation(
            #"{"challenge":"\#(CredentialOptionsTests.challenge)","user":{"id":"AQ"},"pubKeyCredParams":[]}"#)
        #expect(options.common.relyingParty == nil && options.relyingPartyName.isEmpty && options.userName.isEmpty)
        #expect(options.algorithms == [.es256] && options.excluded.isEmpty && !options.wantsProperties)
        #expect(options.common.verification == .preferred && options.common.timeout == .seconds(120))
        #expect(options.common.pseudoRandom == nil)
    }

    @Test(arguments: [
        ("60000", Duration.seconds(60)), ("15000", .seconds(15)), ("120000", .seconds(120)), ("0", .seconds(15)),
        ("-1", .seconds(15)), ("14999.9", .seconds(15)), ("300000", .seconds(120)), ("4294967296", .seconds(120)),
        ("1e999", .seconds(120)), ("-1e999", .seconds(15)), ("9e4", .seconds(90)), ("\"60000\"", .seconds(120)),
        ("null", .seconds(120)), ("{}", .seconds(120)),
    ])
    func `a timeout is kept between 15 and 120 seconds`(number: String, timeout: Duration) throws {
        let options = try request(CredentialOptionsTests.request(#","timeout":\#(number)"#))
        #expect(options.common.timeout == timeout)
    }

    @Test func `an empty list leaves the choice to the user, an unreadable one does not`() throws {
        for list in ["[]", "null", "{}"] {
            let options = try request(CredentialOptionsTests.request(#","allowCredentials":\#(list)"#))
            #expect(options.allowed == nil && options.allows([1]))
        }
        for list in ["[7]", #"[{"type":"x","id":"AQ"}]"#, #"[{"type":"public-key","id":"A"}]"#] {
            let options = try request(CredentialOptionsTests.request(#","allowCredentials":\#(list)"#))
            #expect(options.allowed == [] && !options.allows([1]))
        }
        let options = try request(
            CredentialOptionsTests.request(#","allowCredentials":[{"type":"public-key","id":"AQ"}]"#))
        #expect(options.allows([1]) && !options.allows([2]) && options.common.relyingParty == "example.org")
    }

    @Test func `names are cut between characters`() throws {
        let long = String(repeating: "ü", count: 4000)
        let options = try creation(
            CredentialOptionsTests.creation(user: #"{"id":"AQ","name":"a\#(long)","displayName":"a\u030a\n"}"#))
        #expect(options.userName.utf8.count == 255 && options.userName.hasPrefix("aüü"))
        #expect(options.displayName == "å\n")
    }

    @Test func `inputs for a credential come before those for all`() throws {
        let options = try request(
            CredentialOptionsTests.request(
                #"""
                ,"allowCredentials":[{"type":"public-key","id":"AQID"}],
                "extensions":{"prf":{"eval":{"first":"AQ"},"evalByCredential":{"AQID":{"first":"Ag","second":"Aw"}}}}
                """#))
        let inputs = try #require(options.common.pseudoRandom)
        #expect(inputs.pair(for: [1, 2, 3])?.messages == [2, 3].map { Array("WebAuthn PRF".utf8) + [0, $0] })
        #expect(inputs.pair(for: [7])?.messages == [Array("WebAuthn PRF".utf8) + [0, 1]])
        let enabled = try request(CredentialOptionsTests.request(#","extensions":{"prf":{}}"#))
        #expect(enabled.common.pseudoRandom != nil && enabled.common.pseudoRandom?.pair(for: [7]) == nil)
        let empty = try request(
            CredentialOptionsTests.request(#","extensions":{"prf":{"eval":null,"evalByCredential":null}}"#))
        #expect(empty.common.pseudoRandom == enabled.common.pseudoRandom)
    }

    // MARK: Size and damage

    @Test func `10,000 exclusions and options of 1 MiB are read without delay`() throws {
        let list = (0..<10_000).map { number in
            let id = Base64URL.encoded([UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 7, count: 30))
            return #"{"type":"public-key","id":"\#(id)"}"#
        }
        let padding = String(repeating: " ", count: 1 << 18)
        let names = (0..<20_000).map { #""n\#($0)":0"# }.joined(separator: ",")
        let text = CredentialOptionsTests.creation(
            more: #","excludeCredentials":[\#(list.joined(separator: ","))],\#(names)\#(padding)"#)
        #expect(text.utf8.count > 1 << 20)
        let clock = ContinuousClock()
        var options: CreationOptions?
        let time = try clock.measure { options = try creation(text) }
        #expect(options?.excluded.count == 10_000)
        // A debug build takes a second; quadratic time would take minutes.
        #expect(time < .seconds(30))
    }

    @Test func `damaged options are read or refused`() {
        let random = SeededRandom("options")
        let seeds = [
            CredentialOptionsTests.creation(
                more:
                    #","timeout":6e4,"excludeCredentials":[{"type":"public-key","id":"AQID"}],"#
                    + #""extensions":{"prf":{}}"#),
            CredentialOptionsTests.request(
                #","allowCredentials":[{"type":"public-key","id":"AQ"}],"#
                    + #""extensions":{"prf":{"evalByCredential":{"AQ":{"first":"AA"}}}}"#
            ),
        ].map { Array($0.utf8) }
        var accepted = 0
        for _ in 0..<10_000 {
            var text = random.element(of: seeds)
            for _ in 0..<random.number(in: 1...3) {
                let index = random.number(in: 0...text.count - 1)
                switch random.number(in: 0...2) {
                case 0: text[index] = random.chance(50) ? UInt8(random.uniform(256)) : random.element(of: seeds[0])
                case 1: text.remove(at: index)
                default: text.insert(random.element(of: seeds[1]), at: index)
                }
            }
            guard let node = try? JSONNode(text.span) else { continue }
            if let options = try? CreationOptions(node, of: text.span) {
                accepted += 1
                #expect(options.common.challenge.count >= 16 && (1...64).contains(options.userID.count))
            }
            if let options = try? RequestOptions(node, of: text.span) {
                accepted += 1
                #expect((Duration.seconds(15) ... .seconds(120)).contains(options.common.timeout))
            }
        }
        #expect(accepted > 500)
    }

    /// The judges of `Scripts/fuzz`, with a few damaged bytes each.
    @Test func `damaged inputs of every parser of passkeys hold`() {
        let random = SeededRandom("passkeys")
        for seed in FuzzedFormat.ofPasskeys {
            #expect(FuzzedFormat.holds(seed))
            for _ in 0..<1000 {
                var input = seed
                for _ in 0..<random.number(in: 1...4) where input.count > 1 {
                    let index = random.number(in: 1...input.count - 1)
                    switch random.number(in: 0...2) {
                    case 0: input[index] = UInt8(random.uniform(256))
                    case 1: input.remove(at: index)
                    default: input.insert(random.element(of: seed), at: index)
                    }
                }
                #expect(FuzzedFormat.holds(input), "\(input)")
            }
        }
    }
}
