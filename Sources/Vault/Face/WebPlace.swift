// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// The parts of a URL that identify the server: a scheme, a host and a port.
package struct WebPlace: Hashable, Sendable {
    /// The scheme in lower case; `nil` if the text has none.
    package let scheme: String?
    package let host: WebHost
    /// The port; `nil` for the default one of the scheme.
    package let port: Int?

    package init(scheme: String?, host: WebHost, port: Int?) {
        (self.scheme, self.host, self.port) = (scheme, host, port)
    }

    private init?(_ text: Span<UInt8>, _ parts: URLParts) {
        guard let server = URLServer(text, parts.server), let host = WebHost(text, server.host) else { return nil }
        self.init(scheme: parts.scheme, host: host, port: server.port.map(Int.init))
    }

    /// The place that a login is stored for. A user in the URL and blanks around it make no difference.
    ///
    /// Fails for a text that does not name a host.
    package init?(_ text: String) {
        let bytes = text.utf8.span
        guard let parts = URLParts(bytes, trims: true) else { return nil }
        self.init(bytes, parts)
    }

    /// The place of a page. A user in its URL has no use for the match, and makes one host look like another.
    ///
    /// Fails for a URL that names a user, or does not name a host.
    package init?(page url: String) {
        let bytes = url.utf8.span
        guard let parts = URLParts(bytes), parts.user == nil else { return nil }
        self.init(bytes, parts)
    }

    /// The place of an internet password; fails if its server is not a host of the web.
    package init?(ofInternet item: Item) {
        guard let server = item.server, let host = WebHost(WebPlace.bracketed(server)) else { return nil }
        let name = item[.protocolName]?.text ?? ""
        var port: Int?
        if case .number(let number) = item[.port], number != 0 { port = Int(exactly: number) }
        self.init(scheme: name.isEmpty ? nil : ProtocolNames.name(name), host: host, port: port)
    }

    /// Adds the brackets to an IPv6 address: users omit them where the address stands alone.
    private static func bracketed(_ server: String) -> String {
        server.contains(":") && !server.hasPrefix("[") ? "[\(server)]" : server
    }
}
