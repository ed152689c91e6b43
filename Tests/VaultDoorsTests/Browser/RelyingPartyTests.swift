// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultFormat

@testable import VaultBrowser

/// The domains that a page may claim for passkeys.
struct RelyingPartyTests {
    private static let list = PublicSuffixes(
        """
        // ===BEGIN ICANN DOMAINS===
        com
        org
        uk
        co.uk
        *.ck
        !www.ck
        jp
        *.kawasaki.jp
        !city.kawasaki.jp
        公司.cn
        // ===BEGIN PRIVATE DOMAINS===
        github.io
        s3.amazonaws.com
        """)

    private func refusal(_ id: String?, _ origin: String, _ suffixes: PublicSuffixes = list) -> PasskeyRefusal? {
        do throws(PasskeyRefusal) {
            _ = try RelyingParty(id, origin: origin, suffixes)
            return nil
        } catch { return error }
    }

    // MARK: Refusals

    @Test(arguments: [
        "", "https", "https:", "https://", "https:///", "example.com", "//example.com", "https://exa mple.com",
        "https://example..com", "https://.example.com", "https://example.com:99999", "https://example.com:8a",
        "https://[::1", "https://1.2.3", "https://256.1.1.1", "https://exa\u{0}mple.com",
        "https://%65xample.com", "https://example.com/", "https://example.com/login", "https://example.com?x",
        "https://example.com#x", "https://ada@example.com", "https://example.com\\@evil.com",
        "https://evil.com\\.example.com", " https://example.com", "https://example.com\n",
        "https://\(String(repeating: "a", count: 64)).com",
    ])
    func `what is not an origin is refused`(origin: String) {
        #expect(refusal("example.com", origin) == .unreadableOrigin)
        #expect(refusal(nil, origin) == .unreadableOrigin)
    }

    @Test(arguments: [
        "null", "http://example.com", "http://example.com:443", "http://localhost.example.com", "http://192.168.1.1",
        "http://127.0.0.1", "http://[::1]", "file://", "file:///etc/passwd", "ftp://example.com", "data:text/html,x",
        "moz-extension://0123", "chrome-extension://oboonakemofpalcgghocfoadofidjkkk", "about:blank",
        "wss://example.com",
        "javascript:alert(1)", "blob:https://example.com/0123", "android:apk-key-hash:x",
    ])
    func `an origin that may not use passkeys is refused`(origin: String) {
        #expect(refusal("example.com", origin) == .originNotAllowed)
        #expect(refusal(nil, origin) == .originNotAllowed)
    }

    @Test(arguments: [
        "https://127.0.0.1", "https://[::1]", "https://[2001:db8::1]:8443", "https://192.168.1.1",
        "https://example.com.",
        "https://example.com.:8443", "https://example.com\u{3002}",
    ])
    func `a page whose host is no domain is refused`(origin: String) {
        for id in [nil, "example.com", "127.0.0.1", "example.com."] { #expect(refusal(id, origin) == .notADomain) }
    }

    @Test(arguments: [
        "", ".", ".com", "example..com", "exa mple.com", "127.0.0.1", "1.2.3", "0x7f000001", "[::1]", "::1",
        "example.com:443", "https://example.com", "example.com/", "example.com.", "example.com\u{ff0e}",
        "example.com\0",
        "ada@example.com", "*.example.com", "%65xample.com", "exa\u{200B}mple.com", "exa\u{202E}mple.com",
        String(repeating: "a.", count: 200) + "com",
    ])
    func `an rpId that is no domain is refused`(id: String) {
        #expect(refusal(id, "https://example.com") == .notADomain)
    }

    @Test(arguments: [
        ("www.example.com", "https://example.com"), ("example.org", "https://example.com"),
        ("ample.com", "https://example.com"), ("com", "https://example.com"),
        ("example.com", "https://example.com.evil.org"),
        ("example.com", "https://notexample.com"), ("evil.com", "https://example.com"),
        // Public suffixes: listed, wild, the page itself, in Unicode, and one above which a page may claim nothing.
        ("co.uk", "https://shop.co.uk"), ("uk", "https://shop.co.uk"), ("github.io", "https://me.github.io"),
        ("io", "https://me.github.io"), ("b.ck", "https://a.b.ck"), ("ck", "https://www.ck"),
        ("co.uk", "https://co.uk"),
        ("github.io", "https://github.io"), ("com", "https://com"), ("x.kawasaki.jp", "https://a.x.kawasaki.jp"),
        ("kawasaki.jp", "https://a.x.kawasaki.jp"), ("公司.cn", "https://a.xn--55qx5d.cn"),
        ("xn--55qx5d.cn", "https://a.xn--55qx5d.cn"), ("amazonaws.com", "https://bucket.s3.amazonaws.com"),
        ("amazonaws.com", "https://s3.amazonaws.com"), ("s3.amazonaws.com", "https://bucket.s3.amazonaws.com"),
        // A top-level domain that the list does not have.
        ("internal", "https://host.internal"), ("localhost", "http://app.localhost"),
        ("xn--exmple-cua.com", "https://example.com"), ("ex\u{0430}mple.com", "https://example.com"),
        ("bucher.example", "https://xn--bcher-kva.example"),
    ])
    func `a domain that is not the page's to claim is refused`(id: String, origin: String) {
        #expect(refusal(id, origin) == .foreignRelyingParty)
    }

    @Test func `the host of a page that is a public suffix is refused without an rpId as well`() {
        #expect(refusal(nil, "https://github.io") == .foreignRelyingParty)
    }

    @Test func `without a list only the host itself is accepted`() {
        let none = PublicSuffixes()
        for (id, origin) in [
            ("example.com", "https://www.example.com"), ("github.io", "https://me.github.io"),
            ("co.uk", "https://shop.co.uk"), ("com", "https://example.com"),
        ] {
            #expect(refusal(id, origin, none) == .foreignRelyingParty)
        }
        #expect(refusal("www.example.com", "https://www.example.com", none) == nil)
        #expect(refusal(nil, "https://www.example.com", none) == nil)
        #expect(refusal("co.uk", "https://co.uk", none) == .foreignRelyingParty)
    }

    // MARK: Accepted

    /// An rpId, an origin, and the two as they are signed.
    @Test(
        arguments: [
            ("example.com", "https://example.com", "example.com", "https://example.com"),
            (nil, "https://www.example.com", "www.example.com", "https://www.example.com"),
            ("example.com", "https://a.b.example.com", "example.com", "https://a.b.example.com"),
            ("b.example.com", "https://a.b.example.com", "b.example.com", "https://a.b.example.com"),
            ("example.com", "https://example.com:8443", "example.com", "https://example.com:8443"),
            ("example.com", "https://example.com:443", "example.com", "https://example.com"),
            ("EXAMPLE.com", "HTTPS://Example.COM", "example.com", "https://example.com"),
            ("shop.co.uk", "https://www.shop.co.uk", "shop.co.uk", "https://www.shop.co.uk"),
            ("me.github.io", "https://a.me.github.io", "me.github.io", "https://a.me.github.io"),
            ("www.ck", "https://a.www.ck", "www.ck", "https://a.www.ck"),
            ("city.kawasaki.jp", "https://a.city.kawasaki.jp", "city.kawasaki.jp", "https://a.city.kawasaki.jp"),
            ("b.s3.amazonaws.com", "https://b.s3.amazonaws.com", "b.s3.amazonaws.com", "https://b.s3.amazonaws.com"),
            ("host.internal", "https://a.host.internal", "host.internal", "https://a.host.internal"),
            ("router", "https://router", "router", "https://router"),
            ("localhost", "http://localhost:8080", "localhost", "http://localhost:8080"),
            (nil, "https://localhost", "localhost", "https://localhost"),
            ("app.localhost", "http://app.localhost", "app.localhost", "http://app.localhost"),
            (
                "bücher.example", "https://xn--bcher-kva.example", "xn--bcher-kva.example",
                "https://xn--bcher-kva.example"
            ),
            (
                "xn--bcher-kva.example", "https://a.bücher.example", "xn--bcher-kva.example",
                "https://a.xn--bcher-kva.example"
            ),
        ] as [(String?, String, String, String)])
    func `a page claims its host, or a registrable domain above it`(
        id: String?, origin: String, signed: String, signedOrigin: String
    ) throws {
        let party = try RelyingParty(id, origin: origin, RelyingPartyTests.list)
        #expect(party.id == signed && party.origin == signedOrigin)
    }
}
