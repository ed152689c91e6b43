// SPDX-License-Identifier: Apache-2.0
import Testing
import Vault
import VaultFormat

@testable import VaultBrowser

/// The match between pages and logins.
struct WebPageTests {
    private static let list = PublicSuffixes(
        """
        // ===BEGIN ICANN DOMAINS===
        com
        co.uk
        *.ck
        !www.ck
        github.io
        公司.cn
        """)

    private func matches(_ page: String, _ entry: String, _ suffixes: PublicSuffixes = WebPageTests.list) -> Bool {
        guard let page = WebPage(page), let place = WebPlace(entry) else { return false }
        return page.matches(place, suffixes)
    }

    @Test(arguments: [
        "", "https://", "https:///path", "http:example.com", "//example.com", "example.com", "about:blank",
        "file:///etc/passwd", "moz-extension://0123/x", "javascript://example.com/%0aalert(1)", "ftp://example.com/",
        "data:text/html,https://example.com/", "https://exa mple.com/", "https://example..com/",
        "https://.example.com/",
        "https://example.com:99999/", "https://example.com:8a/", "https://example.com:-1/", "https://[::1/",
        "https://[::1]x/", "https://[1:2]/", "https://[1::2::3]/", "https://[fe80::1%25eth0]/", "https://1.2.3/",
        "https://1.2.3.4.5/", "https://0x7f000001/", "https://256.1.1.1/", "https://01.2.3.4/",
        "https://%65xample.com/",
        "https://exa\u{0}mple.com/", "https://exa\u{202E}mple.com/", "https://ex\u{200B}ample.com/",
        "https://\(String(repeating: "a", count: 64)).com/", "https://\(String(repeating: "a.", count: 200))com/",
        " https://example.com/", "https\u{0}://example.com/", "1https://example.com/",
        "https://ada:pw@example.com/", "https://ada@example.com/", "https://@example.com/", "https://:@example.com/",
        "https://evil.com@example.com/", "https://example.com@evil.com/", "https://a@b@example.com/",
    ])
    func `what names no page is refused`(url: String) {
        #expect(WebPage(url) == nil)
    }

    /// A page, and the place that its login was stored for.
    @Test(arguments: [
        ("https://example.com/login?x#y", "https://example.com"), ("https://example.com/", "example.com"),
        ("https://EXAMPLE.com./", "https://example.COM"), ("https://www.example.com/", "https://example.com"),
        ("https://a.b.example.com/", "example.com"), ("https://example.com:443/", "https://example.com"),
        ("https://example.com:443/", "https://example.com:443"), ("https://example.com/", "https://example.com:443"),
        ("https://example.com:8443/", "https://example.com"), ("https://example.com:8443/", "https://example.com:8443"),
        ("http://example.com/", "http://example.com/"), ("http://localhost:8080/", "localhost"),
        ("http://127.0.0.1/", "127.0.0.1"), ("http://[::1]:80/", "http://[0:0::0:1]"),
        ("https://[2001:db8::1]/", "https://[2001:DB8:0:0:0:0:0:1]"), ("https://router/", "https://router"),
        ("https://example.com/", "https://ada:pw@example.com"), ("https://example.com/@evil.com", "example.com"),
        ("https://xn--bcher-kva.example/", "https://bücher.example"), ("https://bücher.example/", "BÜCHER.example"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"), ("https://shop.co.uk/", "shop.co.uk"),
        ("https://a.shop.co.uk/", "shop.co.uk"), ("https://co.uk/", "co.uk"), ("https://a.www.ck/", "www.ck"),
        ("https://a.me.github.io/", "me.github.io"), ("https://example.com\\@evil.com/", "example.com"),
    ])
    func `a page gets the logins of its host, and of those it is below`(page: String, entry: String) {
        #expect(matches(page, entry))
    }

    @Test(arguments: [
        ("https://example.com/", "www.example.com"), ("https://notexample.com/", "example.com"),
        ("https://example.com.evil.com/", "example.com"), ("https://example.com@evil.com/", "example.com"),
        ("https://evil.com\\@example.com/", "example.com"), ("https://evil.com/?example.com", "example.com"),
        ("https://evil.com#@example.com/", "example.com"), ("https://example.comevil.com/", "example.com"),
        ("http://example.com/", "https://example.com"), ("https://example.com/", "http://example.com"),
        ("http://example.com/", "example.com"), ("https://example.com/", "https://example.com:8443"),
        ("https://example.com:8443/", "https://example.com:443"), ("https://a.router/", "https://router"),
        ("https://evil.com/", "https://com"), ("https://evil.com/", "com"), ("https://evil.co.uk/", "co.uk"),
        ("https://evil.ck/", "ck"), ("https://a.b.ck/", "b.ck"), ("https://evil.github.io/", "github.io"),
        ("https://a.xn--55qx5d.cn/", "公司.cn"), ("https://1.127.0.0.1/", "127.0.0.1"),
        ("https://10.127.0.0/", "127.0.0"), ("https://a.1.2.3.4/", "1.2.3.4"), ("https://2.3.4.5/", "3.4.5"),
        ("https://[::2]/", "https://[::1]"), ("https://bucher.example/", "bücher.example"),
        // A Cyrillic а.
        ("https://xn--exmple-cua.com/", "example.com"), ("https://ex\u{0430}mple.com/", "example.com"),
        ("https://example.com/", "imaps://example.com"), ("https://example.com/", "ada@example.com"),
        ("https://localhost.evil.com/", "localhost"),
    ])
    func `no other page gets them`(page: String, entry: String) {
        #expect(!matches(page, entry))
    }

    @Test func `a suffix of the list that is longer than the login's host divides owners`() throws {
        let suffixes = PublicSuffixes("com\ns3.example.com")
        let login = try #require(WebHost("example.com"))
        for (host, matches) in [("www.example.com", true), ("s3.example.com", false), ("x.s3.example.com", false)] {
            #expect(try #require(WebHost(host)).isAtOrBelow(login, suffixes) == matches, "\(host)")
        }
    }

    @Test func `without a list the second labels of countries count`() {
        let none = PublicSuffixes()
        #expect(!matches("https://evil.co.uk/", "co.uk", none) && !matches("https://evil.com.au/", "com.au", none))
        #expect(matches("https://www.shop.co.uk/", "shop.co.uk", none))
        #expect(matches("https://login.web.de/", "web.de", none))
    }

    /// With a limit in front of the split, the text up to the limit had another host.
    @Test func `a long user makes no page, and a long path changes no host`() throws {
        for length in [1, 239, 1023, 4071, 4072, 4079, 4080, 65_535, 1 << 20] {
            let long = String(repeating: "a", count: length)
            for user in ["\(long)@bank.example.com", "\(long)@bank.example.com:x", "\(long):\(long)", "a@\(long)"] {
                #expect(WebPage("https://\(user)@evil.com/") == nil)
                #expect(WebPage("https://\(user).evil.com/") == nil)
            }
            #expect(WebPage("https://bank.example.com\(long).evil.com/")?.text != "https://bank.example.com")
            let page = try #require(WebPage("https://evil.com/\(long)@bank.example.com/?\(long)#@\(long)"))
            #expect(page.text == "https://evil.com")
            // The user of a stored place does not count, however long.
            #expect(try #require(WebPlace("https://\(long)@evil.com/\(long)")).host == page.host)
        }
    }

    @Test func `a page is named without its path`() throws {
        let page = try #require(WebPage("https://Example.com:8443/token?x=1"))
        #expect(page.text == "https://example.com:8443")
        #expect(WebPage("http://[0::1]/x")?.text == "http://[0:0:0:0:0:0:0:1]")
    }
}
