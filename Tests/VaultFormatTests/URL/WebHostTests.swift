// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultFormat

/// The hosts of the web, in one spelling each.
struct WebHostTests {
    @Test(arguments: [
        "", ".", "..", ".a", "a..b", "a..", " a", "a b", "a\0", "a\u{7f}", "a!", "a,b", "a%62", "%61", "a:b", "a@b",
        "a/b",
        "a*b", "a\u{202e}b", "a\u{200b}b", "a\u{ad}b", "\u{fffd}", "\u{1f600}.com",
        "\(String(repeating: "a", count: 64)).com", "\(String(repeating: "a.", count: 120))a.com",
        // Numbers that browsers turn into other addresses, or refuse.
        "1", "1.2.3", "1.2.3.4.5", "0x7f.1", "0x7f000001", "a.1", "a.0x", "01.2.3.4", "256.1.1.1", "1.2.3.4..",
        "[]", "[::1", "::1", "[::1]x", "[1:2]", "[1::2::3]", "[1:2:3:4:5:6:7:8:9]", "[::1:2:3:4:5:6:7:8]", "[:1]",
        "[1:]",
        "[00001::]", "[::+1]", "[::g]", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1.2.3]", "[::1.2.3.04]",
        "[::1.2.3.256]",
        "[::1.2.3.4:5]", "[1.2.3.4::]", "[1.2.3.4]", "[1:2:3:4:5:6:7:1.2.3.4]",
        // Letters that UTS #46 maps to others, and marks that it joins with the letter in front of them.
        "\u{fb01}.com", "\u{17f}.com", "\u{ff21}.com", "\u{ff11}.2.3.4", "\u{1e9e}.de", "bu\u{308}cher.example",
        "\u{93c}a.example", "\u{1112}\u{1161}.example", "xn--\u{fc}.example",
    ])
    func `what no page has as its host is refused`(text: String) { #expect(WebHost(text) == nil) }

    @Test(arguments: [
        ("example.com", "example.com"), ("EXAMPLE.Com.", "example.com"), ("localhost", "localhost"), ("a_b-c", "a_b-c"),
        ("1.2.3.4", "1.2.3.4"), ("1.2.3.4.", "1.2.3.4"), ("1e3", "1e3"), ("0xg", "0xg"),
        ("[::1]", "[0:0:0:0:0:0:0:1]"), ("[2001:DB8::A]", "[2001:db8:0:0:0:0:0:a]"),
        ("[1:2:3:4:5:6:7::]", "[1:2:3:4:5:6:7:0]"), ("[::ffff:1.2.3.4]", "[0:0:0:0:0:ffff:102:304]"),
        ("b\u{fc}cher.example", "xn--bcher-kva.example"), ("B\u{dc}CHER.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"), ("example\u{3002}com", "example.com"),
        ("example\u{ff0e}com\u{ff61}", "example.com"), ("stra\u{df}e.de", "xn--strae-oqa.de"),
        // The Kelvin sign is a k to browsers.
        ("ban\u{212a}.com", "bank.com"),
    ])
    func `a host has one spelling`(text: String, expected: String) throws {
        let host = try #require(WebHost(text))
        #expect(host.text == expected)
        #expect(WebHost(host.text) == host)
        #expect(
            host.isAddress == (host.labels.isEmpty)
                && (host.isAddress || host.labels.joined(separator: ".") == expected))
    }

    @Test func `a single word is no host by itself, and this machine and an address are`() throws {
        for (text, isOne) in [("word", false), ("a.b", true), ("localhost", true), ("1.2.3.4", true), ("[::1]", true)] {
            #expect(try #require(WebHost(text)).isMoreThanAWord == isOne)
        }
    }

    /// Examples of RFC 3492, section 7.1, and names that browsers display.
    @Test(arguments: [
        ("bücher", "bcher-kva"), ("他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"),
        ("почемужеонинеговорятпорусски", "b1abfaaepdrnnbgefbadotcwatmq2g4l"),
        ("3年b組金八先生", "3b-ww4c5e180e575a65lsy2b"), ("ü", "tda"),
    ])
    func `names beyond ASCII are written as DNS has them`(label: String, encoded: String) {
        #expect(Punycode.encoded(Array(label.unicodeScalars)) == encoded)
    }
}
