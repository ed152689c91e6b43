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
        guard let page = WebPage(origin) else {
            throw hasForeignScheme(origin) ? .originNotAllowed : .unreadableOrigin
        }
        // With more than an origin, the text that a page sees in the client data would not be the origin of the page.
        let bytes = origin.utf8
        guard !bytes.contains(where: { "@\\?#".utf8.contains($0) }),
            bytes.count(where: { $0 == UInt8(ascii: "/") }) == 2
        else { throw .unreadableOrigin }
        let isLocal = page.host.labels.last == "localhost"
        guard page.scheme == "https" || isLocal else { throw .originNotAllowed }
        return page
    }

    /// Whether the text is a URL of another scheme, such as that of an extension or a file.
    private static func hasForeignScheme(_ text: String) -> Bool {
        guard let end = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let scheme = text[..<end].lowercased()
        return !scheme.isEmpty && WebPlace.ports[scheme] == nil
            && scheme.utf8.allSatisfy {
                (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0)
            }
    }

    /// Whether a host ends in the dot of the DNS root, which makes it another host to browsers: the URL standard keeps
    /// the dot, and RFC 6265 shares no cookies across it.
    private static func hasTrailingDot(_ text: String) -> Bool {
        let host = text.split(separator: "://", maxSplits: 1).last ?? ""
        let name = host.prefix { $0 != ":" && $0 != "/" }
        return name.unicodeScalars.last.map { WebHost.dots.contains($0) } ?? false
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
