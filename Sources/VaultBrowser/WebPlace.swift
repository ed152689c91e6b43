// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The parts of a URL that identify the server: a scheme, a host and a port.
struct WebPlace: Hashable, Sendable {
    /// The scheme in lower case; `nil` if the text has none.
    let scheme: String?
    let host: WebHost
    /// The port; `nil` for the default one of the scheme.
    let port: Int?

    init(scheme: String?, host: WebHost, port: Int?) { (self.scheme, self.host, self.port) = (scheme, host, port) }

    private init?(_ text: Span<UInt8>, _ parts: URLParts) {
        guard let server = URLServer(text, parts.server), let host = WebHost(text, server.host) else { return nil }
        self.init(scheme: parts.scheme, host: host, port: server.port.map(Int.init))
    }

    /// The place that a login is stored for. A user in the URL and blanks around it make no difference.
    ///
    /// Fails for a text that does not name a host.
    init?(_ text: String) {
        let bytes = text.utf8.span
        guard let parts = URLParts(bytes, trims: true) else { return nil }
        self.init(bytes, parts)
    }

    /// The place of a page. A user in its URL has no use for the match, and makes one host look like another.
    ///
    /// Fails for a URL that names a user, or does not name a host.
    fileprivate init?(page url: String) {
        let bytes = url.utf8.span
        guard let parts = URLParts(bytes), parts.user == nil else { return nil }
        self.init(bytes, parts)
    }
}

/// A page that requests a login.
struct WebPage: Hashable, Sendable {
    /// `http` or `https`.
    let scheme: String
    let host: WebHost
    let port: Int

    /// Fails for a URL that is neither http nor https, names no host, or names a user.
    init?(_ url: String) {
        guard let place = WebPlace(page: url), let scheme = place.scheme, WebPage.isScheme(scheme),
            let usual = URLScheme.usualPort(scheme)
        else { return nil }
        (self.scheme, host, port) = (scheme, place.host, place.port ?? Int(usual))
    }

    /// Whether pages have the scheme.
    static func isScheme(_ scheme: String) -> Bool { scheme == "https" || scheme == "http" }

    /// The port; `nil` if it is the default one of the scheme.
    var unusualPort: Int? { URLScheme.usualPort(scheme).map(Int.init) == port ? nil : port }

    /// The URL without its path.
    var text: String { "\(scheme)://\(host.text)\(unusualPort.map { ":\($0)" } ?? "")" }

    /// Returns whether a login of a place matches the page. A place without a scheme matches https, and pages of this
    /// machine: over http, an attacker on the network can impersonate any host.
    func matches(_ place: WebPlace, _ suffixes: PublicSuffixes) -> Bool {
        guard place.scheme.map({ $0 == scheme }) ?? (scheme == "https" || host.isLoopback) else { return false }
        guard place.port.map({ $0 == port }) ?? true else { return false }
        return host.isAtOrBelow(place.host, suffixes)
    }
}
