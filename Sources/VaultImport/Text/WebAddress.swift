// SPDX-License-Identifier: Apache-2.0
internal import Vault

/// A URL (RFC 3986) split into the attributes of an internet password; the rest of the URL is kept elsewhere.
struct WebAddress: Equatable {
    /// The scheme in lower case; `nil` if the text has none.
    let scheme: String?
    let host: String
    let port: Int?
    /// The path with its leading slash; `nil` if empty, or only a slash.
    let path: String?

    /// Fails for a text that does not name a host.
    init?(_ text: String) {
        // Split by bytes: a `Character` may be a slash with a combining mark.
        var rest = Array(text.utf8)[...]
        if let colon = rest.firstIndex(of: UInt8(ascii: ":")), rest[colon...].starts(with: "://".utf8) {
            let scheme = rest[..<colon]
            guard let first = scheme.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first | 0x20),
                scheme.allSatisfy(WebAddress.isOfScheme)
            else { return nil }
            self.scheme = WebAddress.lowercased(scheme)
            rest = rest[(colon + 3)...]
        } else {
            scheme = nil
        }
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let tail = rest[authority.endIndex...].prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        path = tail.count < 2 ? nil : String(decoding: tail, as: UTF8.self)
        var place = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[($0 + 1)...] } ?? authority
        var port: Int?
        let digits = place.reversed().prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
        let colon = place.endIndex - digits - 1
        if digits > 0, colon >= place.startIndex, place[colon] == UInt8(ascii: ":") {
            guard let number = Int(String(decoding: place[(colon + 1)...], as: UTF8.self)), number <= 65535 else {
                return nil
            }
            port = number
            place = place[..<colon]
        }
        self.port = port
        let isBracketed = place.first == UInt8(ascii: "[") && place.last == UInt8(ascii: "]")
        guard !place.isEmpty, place.count <= 255, isBracketed || !place.contains(UInt8(ascii: ":")) else { return nil }
        host = WebAddress.lowercased(place)
        guard !host.unicodeScalars.contains(where: { $0.value <= 0x20 || !$0.isASCII && $0.properties.isWhitespace })
        else { return nil }
        // Without a scheme, the text may be any word.
        let isDotted = place.dropFirst().dropLast().contains(UInt8(ascii: "."))
        guard scheme != nil || isDotted || host == "localhost" else { return nil }
    }

    private static func lowercased(_ bytes: ArraySlice<UInt8>) -> String {
        guard bytes.allSatisfy({ $0 < 0x80 }) else { return String(decoding: bytes, as: UTF8.self).lowercased() }
        let lower = bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        return String(decoding: lower, as: UTF8.self)
    }

    private static func isOfScheme(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "+-.".utf8.contains(byte)
        }
    }

    init(_ item: Item) {
        scheme = item[.protocolName]?.text.flatMap { $0.isEmpty ? nil : ProtocolNames.name($0) }
        host = item[.server]?.text ?? ""
        if case .number(let number) = item[.port], number != 0 { port = Int(number) } else { port = nil }
        path = item[.path]?.text.flatMap { $0.isEmpty ? nil : $0 }
    }

    var text: String {
        (scheme.map { $0 + "://" } ?? "") + host + (port.map { ":\($0)" } ?? "") + (path ?? "")
    }

    var attributes: [Attribute: AttributeValue] {
        var attributes: [Attribute: AttributeValue] = [.server: .string(host)]
        attributes[.protocolName] = scheme.map { .string(ProtocolNames.code($0)) }
        attributes[.port] = port.map { .number(Int64($0)) }
        attributes[.path] = path.map(AttributeValue.string)
        return attributes
    }

    /// Returns whether the host is a domain, or below it.
    func isOf(_ domain: String) -> Bool { host == domain || host.hasSuffix("." + domain) }
}
