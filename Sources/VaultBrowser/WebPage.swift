// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultFormat

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

    /// The hosts whose logins may match: the page's, and each domain of two labels or more above it.
    var hosts: [String] {
        let above = host.labelCount < 3 ? [] : (2..<host.labelCount).reversed().map { host.labels.suffix($0) }
        return [host.text] + above.map { $0.joined(separator: ".") }
    }

    /// Returns whether a login of a place matches the page. A place without a scheme matches https, and pages of this
    /// machine: over http, an attacker on the network can impersonate any host.
    func matches(_ place: WebPlace, _ suffixes: PublicSuffixes) -> Bool {
        guard place.scheme.map({ $0 == scheme }) ?? (scheme == "https" || host.isLoopback) else { return false }
        guard place.port.map({ $0 == port }) ?? true else { return false }
        return host.isAtOrBelow(place.host, suffixes)
    }
}
