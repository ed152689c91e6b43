// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VaultImport

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
        ("HTTPS://EXAMPLE.com/A", "https://example.com/A"),
    ])
    func `what its parts cannot say is left to the attribute`(_ text: String, _ parts: String) {
        #expect(WebAddress(text)?.text == parts)
    }

    @Test(arguments: [
        "", "word", "two words", "://x", "https://", "a:b:c", "https://x:99999/", "1http://x", "https://a b/", ".",
        "..", "/path",
    ])
    func `what names no host is no address`(_ text: String) { #expect(WebAddress(text) == nil) }
}
