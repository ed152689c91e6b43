// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto

@testable import VaultFormat

struct Base64URLTests {
    @Test(arguments: ["A", "AAAAA", "Zg==", "Zm8=", "Zm9v YmFy", "Zm9v\n", "Zm+v", "Zm/v", "Zh", "Zm9", "ü", "Zg\u{0}"])
    func `padding, other characters and unused bits are refused`(text: String) {
        #expect(Base64URL.decoded(text) == nil)
    }

    /// RFC 4648, 10, without padding, and the two characters that differ from the other alphabet.
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
        ("foobar", "Zm9vYmFy"), ("\u{3fb}", "z7s"), ("~~?", "fn4_"), ("~~>", "fn4-"),
    ])
    func `the examples of RFC 4648 are read and written`(plain: String, text: String) {
        #expect(Base64URL.encoded(Array(plain.utf8)) == text)
        #expect(Base64URL.decoded(text) == Array(plain.utf8))
    }

    @Test func `each text that is read is the text of its bytes`() {
        let random = SeededRandom("base64url")
        for length in 0..<200 {
            let bytes = random.bytes(length)
            #expect(Base64URL.decoded(Base64URL.encoded(bytes)) == bytes)
        }
        var accepted = 0
        for _ in 0..<5000 {
            let digits = Array("AQgwBCIEIz09-_".utf8)
            let text = String(
                decoding: (0..<random.number(in: 0...9)).map { _ in random.element(of: digits) }, as: UTF8.self)
            guard let bytes = Base64URL.decoded(text) else { continue }
            accepted += 1
            #expect(Base64URL.encoded(bytes) == text)
        }
        #expect(accepted > 1000)
    }
}
