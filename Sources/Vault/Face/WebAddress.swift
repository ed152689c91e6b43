// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// A URL split into the attributes of an internet password; the rest of the URL is kept elsewhere.
package struct WebAddress: Equatable {
    /// The scheme in lower case; `nil` if the text has none.
    package let scheme: String?
    /// The host as it is written, in lower case, but for letters such as the Kelvin sign, whose lower case is in ASCII:
    /// that is the name of another server to all but the browser's door.
    package let host: String
    package let port: Int?
    /// The path with its leading slash; `nil` if empty, or only a slash.
    package let path: String?

    private static let longestHost = 255

    /// Fails for a text that does not name a host; for a scheme of the web, and without one, a host that the browser's
    /// door does not read either.
    package init?(_ text: String) {
        let bytes = text.utf8.span
        guard let parts = URLParts(bytes, trims: true), let server = URLServer(bytes, parts.server),
            (1...WebAddress.longestHost).contains(server.host.count)
        else { return nil }
        (scheme, port) = (parts.scheme, server.port.map(Int.init))
        host = WebAddress.lowercased(bytes.text(server.host))
        // The path may become the end of a text, where a blank or a control is no part of a URL.
        var end = parts.path.upperBound
        while end > parts.path.lowerBound, bytes[end - 1] <= 0x20 { end -= 1 }
        var path = bytes.text(parts.path.lowerBound..<end)
        if scheme.map(URLScheme.isOfWeb) ?? true {
            guard let name = WebHost(bytes, server.host), scheme != nil || name.isMoreThanAWord else { return nil }
            if path.utf8.contains(UInt8(ascii: "\\")) { path.replace("\\", with: "/") }
        }
        self.path = path.utf8.count < 2 ? nil : path
    }

    private static func lowercased(_ host: String) -> String {
        guard host.utf8.contains(where: { $0 >= 0x80 }) else { return host.foldedASCII }
        return host.unicodeScalars.map { scalar in
            let lower = scalar.properties.lowercaseMapping
            return scalar.isASCII || !lower.unicodeScalars.contains(where: \.isASCII) ? lower : String(scalar)
        }.joined()
    }

    package init(_ item: Item) {
        scheme = item[.protocolName]?.text.flatMap { $0.isEmpty ? nil : ProtocolNames.name($0) }
        host = item[.server]?.text ?? ""
        if case .number(let number) = item[.port], number != 0 { port = Int(number) } else { port = nil }
        path = item[.path]?.text.flatMap { $0.isEmpty ? nil : $0 }
    }

    package var text: String {
        // A program may store a path without its slash.
        let path = path.map { $0.hasPrefix("/") ? $0 : "/" + $0 } ?? ""
        return (scheme.map { $0 + "://" } ?? "") + host + (port.map { ":\($0)" } ?? "") + path
    }

    package var attributes: [Attribute: AttributeValue] {
        var attributes: [Attribute: AttributeValue] = [.server: .string(host)]
        attributes[.protocolName] = scheme.map { .string(ProtocolNames.code($0)) }
        attributes[.port] = port.map { .number(Int64($0)) }
        attributes[.path] = path.map(AttributeValue.string)
        return attributes
    }

    /// Returns whether the host is a domain, or below it.
    package func isOf(_ domain: String) -> Bool {
        guard let host = WebHost(host), let domain = WebHost(domain) else { return false }
        return host == domain || !domain.labels.isEmpty && host.labels.suffix(domain.labels.count) == domain.labels[...]
    }
}
