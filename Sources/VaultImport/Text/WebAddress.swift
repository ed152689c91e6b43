// SPDX-License-Identifier: Apache-2.0
internal import Vault

/// A URL (RFC 3986) in the parts that an internet password has. What they cannot say is kept beside them.
struct WebAddress: Equatable {
    /// A scheme, in lower case; nil: the text has none.
    let scheme: String?
    let host: String
    let port: Int?
    /// With its first slash; nil for none, and for a slash alone.
    let path: String?

    /// Nil for what names no host.
    init?(_ text: String) {
        var rest = Substring(text)
        if let end = text.firstRange(of: "://")?.lowerBound {
            let scheme = text[..<end]
            guard let first = scheme.first, first.isASCII, first.isLetter,
                scheme.utf8.allSatisfy({ WebAddress.isOfScheme($0) })
            else { return nil }
            self.scheme = scheme.lowercased()
            rest = text[text.index(end, offsetBy: 3)...]
        } else {
            scheme = nil
        }
        let authority = rest.prefix { !"/?#".contains($0) }
        let tail = rest[authority.endIndex...].prefix { !"?#".contains($0) }
        path = tail.isEmpty || tail == "/" ? nil : String(tail)
        var place = authority[
            (authority.lastIndex(of: "@").map { authority.index(after: $0) } ?? authority.startIndex)...]
        var port: Int?
        let digits = place.reversed().prefix { $0.isASCII && $0.isNumber }.count
        let colon = place.index(place.endIndex, offsetBy: -digits - 1, limitedBy: place.startIndex)
        if digits > 0, let colon, place[colon] == ":" {
            guard let number = Int(place.suffix(digits)), number <= 65535 else { return nil }
            port = number
            place = place[..<colon]
        }
        self.port = port
        host = place.lowercased()
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        guard !host.isEmpty, host.utf8.count <= 255, isBracketed || !host.contains(":"),
            !host.unicodeScalars.contains(where: { $0.properties.isWhitespace || $0.value < 0x20 })
        else { return nil }
        // Without a scheme it may be any word.
        guard scheme != nil || host.dropFirst().dropLast().contains(".") || host == "localhost" else { return nil }
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
}
