// SPDX-License-Identifier: Apache-2.0
import Testing
import VaultFormat

@testable import VaultBrowser

/// The owners of hosts.
struct PublicSuffixesTests {
    private static let list = PublicSuffixes(
        """
        com
        uk
        co.uk
        *.ck
        !www.ck
        *.kobe.jp
        jp
        !city.kobe.jp
        github.io
        s3.example.com
        """)

    @Test(arguments: [
        ("example.com", "example.com"), ("a.b.example.com", "example.com"), ("EXAMPLE.com.", "example.com"),
        ("x.co.uk", "x.co.uk"), ("a.x.co.uk", "x.co.uk"), ("co.uk", "co.uk"), ("ada.github.io", "ada.github.io"),
        ("www.ada.github.io", "ada.github.io"), ("a.b.x.ck", "b.x.ck"), ("a.www.ck", "www.ck"),
        ("a.b.kobe.jp", "a.b.kobe.jp"), ("www.city.kobe.jp", "city.kobe.jp"), ("x.unlisted", "x.unlisted"),
        ("a.x.unlisted", "x.unlisted"), ("localhost", "localhost"), ("a.localhost", "a.localhost"), ("com", "com"),
        ("a.bucket.s3.example.com", "bucket.s3.example.com"), ("www.example.com", "example.com"),
        ("127.0.0.1", "127.0.0.1"), ("[::1]", "[0:0:0:0:0:0:0:1]"),
    ])
    func `a host belongs to the domain that its owner has registered`(host: String, domain: String) throws {
        #expect(Self.list.registrableDomain(of: try #require(WebHost(host))) == domain)
    }

    @Test func `without a list the second labels of countries are nobody's`() throws {
        for (host, domain) in [("a.b.co.uk", "b.co.uk"), ("a.b.example", "b.example"), ("co.uk", "co.uk")] {
            #expect(PublicSuffixes().registrableDomain(of: try #require(WebHost(host))) == domain)
        }
    }
}
