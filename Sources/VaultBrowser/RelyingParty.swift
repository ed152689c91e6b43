// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// A site's domain for passkeys, checked against the page that claims it (WebAuthn, 5.1.3 and 5.1.4): the host of the
/// page, or a domain above it below which all hosts have one owner.
struct RelyingParty: Hashable, Sendable {
    /// The rpId in ASCII and lower case, whose SHA-256 is signed.
    let id: String
    /// The origin, as browsers serialize it.
    let origin: String

    /// - Parameters:
    ///   - id: the rpId in the options; `nil` stands for the host of the page.
    ///   - origin: scheme, host and an unusual port, without a path or a user.
    ///   - suffixes: if empty, only the host of the page itself is accepted.
    /// - Throws: `.unreadableOrigin`, `.originNotAllowed`, `.notADomain`, `.foreignRelyingParty`.
    init(_ id: String?, origin: String, _ suffixes: PublicSuffixes) throws(PasskeyRefusal) {
        let page = try RelyingParty.page(origin)
        let domain = page.host
        guard !domain.isAddress, !RelyingParty.hasTrailingDot(origin) else { throw .notADomain }
        guard let claimed = id.map({ WebHost($0) }) ?? domain, !claimed.isAddress,
            !(id.map(RelyingParty.hasTrailingDot) ?? false)
        else { throw .notADomain }
        guard RelyingParty.may(domain, claim: claimed, suffixes) else { throw .foreignRelyingParty }
        (self.id, self.origin) = (claimed.text, page.text)
    }

    /// The page of an origin that may use passkeys: one that no attacker on the network can replace.
    private static func page(_ origin: String) throws(PasskeyRefusal) -> WebPage {
        // The serialization of every opaque origin (HTML, 7.1.1), such as that of a sandboxed frame.
        guard origin != "null" else { throw .originNotAllowed }
        guard let page = WebPage(origin) else { throw hasForeignScheme(origin) ? .originNotAllowed : .unreadableOrigin }
        // With more than an origin, the text that a page sees in the client data would not be the origin of the page.
        let bytes = origin.utf8.span
        guard let parts = URLParts(bytes), parts.path.isEmpty, parts.query == nil, parts.fragment == nil else {
            throw .unreadableOrigin
        }
        let isLocal = page.host.labels.last == "localhost"
        guard page.scheme == "https" || isLocal else { throw .originNotAllowed }
        return page
    }

    /// Whether the text is a URL of another scheme, such as that of an extension or a file.
    private static func hasForeignScheme(_ text: String) -> Bool {
        URLParts.scheme(of: text.utf8.span).map { !WebPage.isScheme($0) } ?? false
    }

    /// Whether a host ends in the dot of the DNS root, which makes it another host to browsers: the URL standard keeps
    /// the dot, and RFC 6265 shares no cookies across it.
    private static func hasTrailingDot(_ text: String) -> Bool {
        let bytes = text.utf8.span
        guard let server = URLParts(bytes).flatMap({ URLServer(bytes, $0.server) }) else { return false }
        return bytes.text(server.host).unicodeScalars.last.map(WebHost.isDot) ?? false
    }

    /// "Is a registrable domain suffix of or is equal to" (HTML, 6.2), but never a public suffix, even as the host of
    /// the page itself.
    private static func may(_ domain: WebHost, claim claimed: WebHost, _ suffixes: PublicSuffixes) -> Bool {
        guard domain.hasOwner(of: claimed, suffixes) else { return false }
        guard domain != claimed else { return true }
        // Without a list, a domain above the page may be a public suffix. A top-level domain always is one.
        return !suffixes.isEmpty && claimed.labels.count >= 2
    }
}
