// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The parts of a URL (RFC 3986, as browsers read it) that identify the server: a scheme, a host and a port.
struct WebPlace: Hashable, Sendable {
    /// The scheme in lower case; `nil` if the text has none.
    let scheme: String?
    let host: WebHost
    /// The port; `nil` for the default one of the scheme.
    let port: Int?
    /// Whether the text had a user in front of the host, if only an empty one.
    var hasUser = false

    static let ports = ["http": 80, "https": 443]

    init(scheme: String?, host: WebHost, port: Int?) { (self.scheme, self.host, self.port) = (scheme, host, port) }

    /// Fails for a text that does not name a host.
    init?(_ text: String) {
        // Split by bytes: a `Character` may be a slash with a combining mark. The whole text is read: in the first part
        // of a URL with a long user, the user would be the host.
        var rest = Array(text.utf8)[...]
        if let colon = rest.firstIndex(of: UInt8(ascii: ":")), rest[colon...].starts(with: "://".utf8) {
            guard let scheme = WebPlace.scheme(rest[..<colon]) else { return nil }
            self.scheme = scheme
            rest = rest[(colon + 3)...]
        } else {
            scheme = nil
        }
        // Browsers treat a backslash as a slash.
        let authority = rest.prefix { !"/?#\\".utf8.contains($0) }
        var place = authority
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
            // Without a scheme, the text is a mail address.
            guard scheme != nil else { return nil }
            place = authority[(at + 1)...]
            hasUser = true
        }
        var port: Int?
        let hostEnd = place.first == UInt8(ascii: "[") ? place.lastIndex(of: UInt8(ascii: "]")) : place.startIndex
        guard let hostEnd else { return nil }
        if let colon = place[hostEnd...].firstIndex(of: UInt8(ascii: ":")) {
            let digits = place[(colon + 1)...]
            if !digits.isEmpty {
                guard digits.count <= 5, digits.allSatisfy({ (0x30...0x39).contains($0) }),
                    let number = Int(String(decoding: digits, as: UTF8.self)), number <= 65_535
                else { return nil }
                port = number
            }
            place = place[..<colon]
        }
        guard let name = String(validating: place, as: UTF8.self), let host = WebHost(name) else { return nil }
        (self.host, self.port) = (host, port)
    }

    private static func scheme(_ bytes: ArraySlice<UInt8>) -> String? {
        guard let first = bytes.first, (0x61...0x7a).contains(first | 0x20), bytes.count <= 32 else { return nil }
        let isScheme = bytes.allSatisfy { byte in
            (0x61...0x7a).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "+-.".utf8.contains(byte)
        }
        return isScheme ? String(decoding: bytes, as: UTF8.self).lowercased() : nil
    }
}

/// A page that requests a login.
struct WebPage: Hashable, Sendable {
    /// `http` or `https`.
    let scheme: String
    let host: WebHost
    let port: Int

    /// Fails for a URL that is neither http nor https, names no host, or names a user: a user has no use for the match,
    /// and makes one host look like another.
    init?(_ url: String) {
        guard let place = WebPlace(url), !place.hasUser, let scheme = place.scheme, let usual = WebPlace.ports[scheme]
        else {
            return nil
        }
        (self.scheme, host, port) = (scheme, place.host, place.port ?? usual)
    }

    /// The port; `nil` if it is the default one of the scheme.
    var unusualPort: Int? { port == WebPlace.ports[scheme] ? nil : port }

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
