// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import VaultCrypto

struct PassphraseTests {
    @Test(arguments: [
        ([], PassphraseFlaw.empty), ([0x61, 0x00], .controlCharacter), ([0x61, 0x0a, 0x62], .controlCharacter),
        ([0x7f], .controlCharacter),
        ([0xff, 0x61], .invalidUTF8), ([0xc3], .invalidUTF8), ([0xc2, 0x85], .controlCharacter),
        ([UInt8](repeating: 0x61, count: 1025), .tooLong), ([UInt8](repeating: 0x61, count: 9000), .tooLong),
        ([0xed, 0xa0, 0x80], .invalidUTF8),
    ])
    func `a passphrase that nobody could type again is refused`(bytes: [UInt8], flaw: PassphraseFlaw) throws {
        let typed = try SecretBytes(copying: bytes.span)
        #expect(throws: CryptoError.unacceptablePassphrase(flaw)) { try Passphrase(typed) }
    }

    @Test(arguments: [
        ("plain ascii ~", "plain ascii ~"), ("e\u{301}t\u{e9}", "\u{e9}t\u{e9}"),
        ("a\u{a0}b\u{2003}c\u{3000}d", "a b c d"),
        ("\u{1100}\u{1161}", "\u{ac00}"), ("\u{2126}", "\u{3a9}"), ("\u{fb01}", "\u{fb01}"),
        ("Stra\u{df}e", "Stra\u{df}e"),
        (" spaces stay ", " spaces stay "),
    ])
    func `text is normalized to NFC and its spaces to one`(typed: String, expected: String) throws {
        #expect(try Passphrase.of(typed).secret.exposed == Array(expected.utf8))
    }

    @Test(arguments: [("pw\n", "pw"), ("pw\r\n", "pw"), ("pw", "pw"), ("pw ", "pw ")])
    func `a line loses the one newline that ends it`(line: String, expected: String) throws {
        #expect(
            try Passphrase(line: SecretBytes(copying: Array(line.utf8).span)).secret.exposed == Array(expected.utf8))
    }

    @Test(arguments: ["pw\n\n", "pw\r", "\n"])
    func `more newlines are no passphrase`(line: String) throws {
        let typed = try SecretBytes(copying: Array(line.utf8).span)
        #expect(throws: CryptoError.self) { try Passphrase(line: typed) }
    }

    @Test func `the longest passphrase has 1,024 bytes`() throws {
        #expect(try Passphrase.of(String(repeating: "x", count: 1024)).secret.count == 1024)
        #expect(try Passphrase.of(String(repeating: "\u{e9}", count: 512)).secret.count == 1024)
    }
}
