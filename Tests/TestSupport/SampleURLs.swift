// SPDX-License-Identifier: Apache-2.0

/// Texts that are URLs, or nearly: parts that parsers disagree about, put together and changed here and there.
package struct SampleURLs: Sequence, IteratorProtocol {
    private var left: Int
    private var state: UInt64

    private static let schemes = [
        "https://", "https://", "https://", "https://", "http://", "http://", "http://", "wss://", "ftp://", "ssh://",
        "ssh://", "HTTPS://", "wss://", "ftp://", "ssh://", "androidapp://",
        "a+b.c-1://",
        "https:/", "https:", "https:///", "https:\\\\", "https:/\\", "ssh:/", "mailto:", "1http://", "://", "ht tp://",
        "//", "",
        " https://", "\nhttps://", "ht\ttps://", "https\u{0}://",
    ]
    private static let users = [
        "", "", "", "", "", "ada@", "ada:pw@", "@", ":@", "a@b@", "bank.example.com:443@", "evil.com\\@", "evil.com/@",
        "evil.com?@",
        "evil.com#@", "evil.com\t@", "%40@", "[::1]@", "x:y:z@",
    ]
    private static let hosts = [
        "bank.example.com", "bank.example.com", "evil.com", "EXAMPLE.com", "localhost", "a", "a_b.c-d", "com",
        "example.com.", "example.com..",
        ".example.com", "a..b", "xn--bcher-kva.example", "b\u{fc}cher.example", "B\u{dc}CHER.example",
        "bu\u{308}cher.example", "ban\u{212a}.com", "\u{17f}.com",
        "\u{fb01}.com", "\u{ff21}.com", "\u{ff11}.2.3.4", "a\u{ad}b.com", "a\u{200b}b.com", "a\u{202e}b.com",
        "example\u{3002}com", "example\u{ff0e}com", "stra\u{df}e.de",
        "1.2.3.4", "1.2.3.4.", "1.2.3", "1.2.3.4.5", "0x7f.1", "0x7f000001", "0x", "010.1.2.3", "256.1.1.1",
        "4294967295", "4294967296",
        "1.2.3.08", "a.1", "a.0x1", "1e3", "99999999999999999999", "[::1]", "[::]", "[1:2:3:4:5:6:7:8]", "[1::2::3]",
        "[::ffff:1.2.3.4]", "[::1.2.3.04]",
        "[1:2:3:4:5:6:7::]", "[::1:2:3:4:5:6:7:8]", "[FE80::ABCD]", "[fe80::1%25eth0]", "[::1", "::1]", "[::1]x", "[]",
        "[1.2.3.4]", "[00001::]", "[1:2]", "[:1]", "[::+1]",
        "%65xample.com", "ex%2Fample.com", "%", "a%zz.com", "%e2%84%aa.com", "a b.com", "a|b", "a^b", "a<b>", "a\u{0}b",
        "a\u{7f}b", "a!b", "a$b'c(d)", "a{b}", "a`b", "a\"b",
        "a;b,c", "a=b&c", "*", "-", "_", "-a-", "a\tb.com", "", "",
    ]
    private static let ports = [
        "", "", "", "", ":", ":80", ":443", ":0", ":00", ":00443", ":8443", ":65535", ":65536", ":99999999999999999999",
        ":-1", ":+1", ":8a",
        ": 80", ":80:80", ":\u{ff11}", ":000000000000000000001",
    ]
    private static let tails = [
        "", "", "/", "/a/b?c#d", "?x", "#x", "\\", "\\@bank.example.com", "/@bank.example.com", "?@bank.example.com/",
        "#@evil.com", "//evil.com", "/\t", " ", "/ ",
        "@", "@evil.com", ".evil.com/", "%2F", ";x",
    ]
    private static let changes = [
        "", "/", "\\", "@", ":", ".", "[", "]", "%", "?", "#", " ", "\t", "\u{0}", "a", "0", "x", "\u{212a}",
        "\u{3002}", "::", "-", "xn--", "1.",
    ]

    package init(count: Int, seed: UInt64) { (left, state) = (count, seed) }

    /// SplitMix64: a million URLs take ten million numbers.
    private mutating func draw(_ bound: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
        return Int((z ^ z >> 31) >> 33) % bound
    }

    private mutating func element(_ list: [String]) -> String { list[draw(list.count)] }

    package mutating func next() -> String? {
        guard left > 0 else { return nil }
        left -= 1
        var host = element(SampleURLs.hosts)
        switch draw(40) {
        case 0: host = String(repeating: element(["a", "a.", "\u{fc}", "1."]), count: draw(300)) + host
        case 1: host += "." + element(SampleURLs.hosts)
        default: break
        }
        let text =
            element(SampleURLs.schemes) + element(SampleURLs.users) + host + element(SampleURLs.ports)
            + element(SampleURLs.tails)
        guard draw(4) == 0 else { return text }
        var scalars = Array(text.unicodeScalars)
        for _ in 0...draw(2) where !scalars.isEmpty {
            let place = draw(scalars.count)
            scalars.replaceSubrange(place..<place + draw(2), with: element(SampleURLs.changes).unicodeScalars)
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
