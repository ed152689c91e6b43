// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import Vault

/// The parts of a URL that become attributes of an internet password.
struct WebAddressTests {
    @Test(arguments: [
        "https://example.com", "https://example.com:8443/a/b", "http://[::1]:8080", "example.com", "sub.example.com/x",
        "ssh://host",
        "androidapp://com.example", "localhost:3000",
    ])
    func `an address that its parts say is not kept twice`(_ text: String) {
        #expect(WebAddress(text)?.text == text)
    }

    @Test(arguments: [
        ("https://ada:pw@Example.COM:443/?q#f", "https://example.com:443"),
        ("https://example.com/?a=/b", "https://example.com"),
        ("HTTPS://EXAMPLE.com/A", "https://example.com/A"), (" https://example.com\n", "https://example.com"),
        // The server that a browser opens.
        ("https://evil.com\\@bank.example.com", "https://evil.com/@bank.example.com"),
        ("https://bank.example.com@evil.com/", "https://evil.com"),
        ("evil.com\\@bank.example.com", "evil.com/@bank.example.com"), ("https://example.com:/", "https://example.com"),
        ("https://example.com:00443/", "https://example.com:443"), ("[::1]:80", "[::1]:80"),
        ("https://B\u{dc}CHER.Example/X", "https://b\u{fc}cher.example/X"),
        ("https://x.example/a \n#e", "https://x.example/a"),
        // Not the Kelvin sign's k, which only the browser's door reads.
        ("https://BAN\u{212a}.com", "https://ban\u{212a}.com"),
    ])
    func `what its parts cannot say is left to the attribute`(_ text: String, _ parts: String) {
        #expect(WebAddress(text)?.text == parts)
    }

    @Test(arguments: [
        "", "word", "two words", "://x", "https://", "a:b:c", "https://x:99999/", "1http://x", "https://a b/", ".",
        "..", "/path", "ada@example.com", "https://x:0", "https://x:a", "https:example.com", "https:/example.com",
        "https://ex%61mple.com", "https://0x7f.1", "1.5", "https://a..b", "https://[::1", "https://ada@",
        "https://\(String(repeating: "a", count: 300)).com", "ssh://a b", "ssh://evil.com\\x", "https://ev\til.com",
    ])
    func `what names no host is no address`(_ text: String) { #expect(WebAddress(text) == nil) }

    @Test func `the text of an address is the address`() {
        let samples = Array(SampleURLs(count: 20_000, seed: 7))
        let found =
            samples.compactMap { WebAddress($0) }
            + zip(samples, samples.dropFirst()).compactMap {
                WebAddress("https://x.example/" + $0 + $1)
            }
        #expect(found.count > 20_000)
        #expect(found.filter { WebAddress($0.text) != $0 }.map(\.text) == [])
    }

    @Test func `a host is below a domain by its labels, in any spelling`() throws {
        let address = try #require(WebAddress("https://www.B\u{fc}cher.example./"))
        #expect(address.isOf("xn--bcher-kva.example") && address.isOf("B\u{dc}CHER.example"))
        #expect(!address.isOf("cher.example") && !address.isOf("") && !address.isOf("a.www.xn--bcher-kva.example"))
        #expect(try #require(WebAddress("https://1.2.3.4")).isOf("1.2.3.4"))
        #expect(try !#require(WebAddress("https://1.2.3.4")).isOf("3.4"))
    }
}
