// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultFormat

/// The parts of a URL. Facts of the WHATWG URL standard, and what the product refuses beyond it.
struct URLPartsTests {
    /// Returns `scheme|user|server|path|query|fragment`, with `-` for a part that is not there.
    private func parts(_ text: String, trims: Bool = false) -> String? {
        let bytes = text.utf8.span
        guard let parts = URLParts(bytes, trims: trims) else { return nil }
        let ranges = [parts.user, parts.server, parts.path, parts.query, parts.fragment]
        let texts = ranges.map { range in range.map { bytes.text($0) } ?? "-" }
        return ([parts.scheme ?? "-"] + texts).joined(separator: "|")
    }

    /// Returns `host|port`, with `-` for no port, and `+` behind it for a colon.
    private func server(_ text: String) -> String? {
        let bytes = text.utf8.span
        guard let server = URLServer(bytes, 0..<bytes.count) else { return nil }
        return bytes.text(server.host) + "|" + (server.port.map(String.init) ?? "-") + (server.hasColon ? "+" : "")
    }

    @Test(arguments: [
        "ada@example.com", "git@example.com:repo.git", "1https://x", "ht tps://x", "://x", "https\0://x", "https:x",
        "https:/x", "HTTP:\\\\x", "file:/etc", " https://x", "https://ada@", "https://ada@/x", "ssh://@",
        "\(String(repeating: "a", count: 65))://x",
    ])
    func `a text without a scheme, with a user, and a scheme that is none make no URL`(text: String) {
        #expect(parts(text) == nil)
    }

    @Test(arguments: [
        ("https://ada:pw@example.com:8443/a/b?c=d#e", "https|ada:pw|example.com:8443|/a/b|c=d|e"),
        ("HTTPS://Example.com", "https|-|Example.com||-|-"), ("a+b.c-1://x", "a+b.c-1|-|x||-|-"),
        ("example.com:80/a", "-|-|example.com:80|/a|-|-"), ("word", "-|-|word||-|-"), ("", "-|-|||-|-"),
        ("ssh:x", "-|-|ssh:x||-|-"), ("//example.com/", "-|-||//example.com/|-|-"), ("ssh:///srv", "ssh|-||/srv|-|-"),
        // The last @ ends the user, which may be empty, and may have blanks.
        ("https://a@b@c/", "https|a@b|c|/|-|-"), ("https://@c", "https||c||-|-"),
        ("https://evil.com\t@c", "https|evil.com\t|c||-|-"),
        // A path, a query or a fragment begins in front of an @.
        ("https://evil.com/@c", "https|-|evil.com|/@c|-|-"), ("https://evil.com?@c/", "https|-|evil.com||@c/|-"),
        ("https://evil.com#@c/?d", "https|-|evil.com||-|@c/?d"), ("https://x/?", "https|-|x|/||-"),
        // A backslash is a slash to browsers, and a letter to other programs.
        ("https://evil.com\\@c", "https|-|evil.com|\\@c|-|-"), ("evil.com\\@c", "-|-|evil.com|\\@c|-|-"),
        ("ssh://evil.com\\@c", "ssh|evil.com\\|c||-|-"),
        // A slash with a combining mark is a slash.
        ("https://evil.com/\u{301}@c", "https|-|evil.com|/\u{301}@c|-|-"),
    ])
    func `a URL has the parts that it has to a browser`(text: String, expected: String) {
        #expect(parts(text) == expected)
    }

    @Test func `blanks and controls around a URL are no part of it, where the caller says so`() {
        #expect(parts("\0\t https://x/a b \r\n", trims: true) == "https|-|x|/a b|-|-")
        #expect(parts(" \n", trims: true) == "-|-|||-|-")
        #expect(parts("https://x/a ") == "https|-|x|/a |-|-")
    }

    @Test(arguments: [
        "a:b", "a:80:80", "a:0", "a:000", "a:65536", "a:99999999999999999999", "a:-1", "a:+1", "a: 80", "a:\u{ff11}",
        ":80", ":", "[::1", "[::1]x", "[::1]80", "::1", "[[::1]]", "a]b", "[a b]", "a b", "a\tb", "a\0b", "a\u{7f}b",
        "a\\b", "a/b", "a?b", "a#b", "a@b", "a<b", "a>b", "a^b", "a|b",
    ])
    func `a character that no host has, and a port that is no number from 1 to 65535, name no server`(text: String) {
        #expect(server(text) == nil)
    }

    @Test(arguments: [
        ("example.com", "example.com|-"), ("example.com:", "example.com|-+"), ("example.com:443", "example.com|443+"),
        ("a:00443", "a|443+"), ("a:\(String(repeating: "0", count: 100))1", "a|1+"), ("a:65535", "a|65535+"),
        ("[::1]", "[::1]|-"), ("[::1]:80", "[::1]|80+"), ("[fe80::1%25eth0]:22", "[fe80::1%25eth0]|22+"),
        ("", "|-"), ("%2Frun", "%2Frun|-"), ("b\u{fc}cher", "b\u{fc}cher|-"), ("ban\u{212a}", "ban\u{212a}|-"),
    ])
    func `a server is a host and a port`(text: String, expected: String) { #expect(server(text) == expected) }

    @Test func `a mebibyte is read to its end`() throws {
        let long = String(repeating: "a", count: 1 << 20)
        #expect(
            parts("https://\(long)@bank.example.com.evil.com/")?.hasSuffix("|bank.example.com.evil.com|/|-|-") == true)
        #expect(parts("https://\(long)/@x")?.hasSuffix("\(long)|/@x|-|-") == true)
        #expect(parts("\(long)://x") == nil)
        #expect(server(String(repeating: ":", count: 1 << 20)) == nil)
        #expect(server("a:" + String(repeating: "0", count: 1 << 20)) == nil)
        for part in [":", "@", "/", "\\", "[", "%41", "\u{3002}", ".", "\u{fc}", "://", "::"] {
            let text = String(repeating: part, count: (1 << 20) / part.utf8.count)
            _ = parts("https://" + text)
            #expect(WebHost(text) == nil)
        }
    }

    @Test func `the scheme of any text is in front of its first colon`() {
        for (text, scheme) in [
            ("about:blank", "about"), ("HTTPS://x", "https"), ("moz-extension://0/", "moz-extension"), ("x", nil),
            (":x", nil), ("1a:b", nil), ("a b:c", nil), ("\u{212a}:x", nil),
        ] as [(String, String?)] { #expect(URLParts.scheme(of: text.utf8.span) == scheme) }
    }
}
