// SPDX-License-Identifier: Apache-2.0

/// Where the parts of a URL lie in its bytes: the one reading of URLs for the browser's door, imports, remotes and git,
/// so that none of them takes a URL for another server's than the next one does.
///
/// The reading is that of the basic URL parser (WHATWG URL standard, 4.4), without its repairs: a tab or a newline
/// inside, or other than two slashes behind the scheme, are no way to write another URL. A text that begins with its
/// server, without a scheme, is read as well. The whole text is read, in linear time, and nothing is copied.
package struct URLParts: Sendable {
    /// The name in front of `://`, in lower case; `nil` for a text that begins with its server.
    package let scheme: String?
    /// The user and the password, if only an empty one: all in front of the last `@` of the authority.
    package let user: Range<Int>?
    /// Host and port, for ``URLServer``; several in a remote.
    package let server: Range<Int>
    /// From the end of the server to the query: empty, or with its leading slash, which may be a backslash.
    package let path: Range<Int>
    /// The text between `?` and `#`.
    package let query: Range<Int>?
    /// The text after `#`.
    package let fragment: Range<Int>?

    /// The maximum length of a scheme, in bytes; the longest registered one has 36.
    private static let longestScheme = 64

    /// - Parameters:
    ///   - text: a URL, or a server with what may follow it.
    ///   - trims: whether blanks and controls around the URL are no part of it.
    /// - Returns: `nil` for a scheme that is none, for a user without a scheme, which makes a mail address, for a user
    ///   without a server, and for a scheme of the web without `://`.
    package init?(_ text: Span<UInt8>, trims: Bool = false) {
        var (start, end) = (0, text.count)
        if trims {
            while start < end, text[start] <= 0x20 { start += 1 }
            while start < end, text[end - 1] <= 0x20 { end -= 1 }
        }
        let colon = (start..<end).first { text[$0] == UInt8(ascii: ":") }
        let name = colon.flatMap { URLParts.scheme(text, start..<$0) }
        let slash = UInt8(ascii: "/")
        if let colon, colon + 3 <= end, text[colon + 1] == slash, text[colon + 2] == slash {
            guard let name else { return nil }
            start = colon + 3
            scheme = name
        } else {
            guard name.map(URLScheme.isOfWeb) != true else { return nil }
            scheme = nil
        }
        // Browsers take a backslash for a slash in the URLs that they open, and so in a text without a scheme.
        let isOfWeb = scheme.map(URLScheme.isOfWeb) ?? true
        var at: Int?
        var place = start
        scan: while place < end {
            switch text[place] {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): break scan
            case UInt8(ascii: "\\") where isOfWeb: break scan
            case UInt8(ascii: "@"): at = place
            default: break
            }
            place += 1
        }
        user = at.map { start..<$0 }
        server = (at.map { $0 + 1 } ?? start)..<place
        guard at == nil || scheme != nil && !server.isEmpty else { return nil }
        let hash = (place..<end).first { text[$0] == UInt8(ascii: "#") }
        let mark = (place..<(hash ?? end)).first { text[$0] == UInt8(ascii: "?") }
        path = place..<(mark ?? hash ?? end)
        query = mark.map { $0 + 1..<(hash ?? end) }
        fragment = hash.map { $0 + 1..<end }
    }

    /// Returns the scheme in front of the first colon (RFC 3986, 3.1), in lower case, whatever follows the colon.
    package static func scheme(of text: Span<UInt8>) -> String? {
        (0..<text.count).first { text[$0] == UInt8(ascii: ":") }.flatMap { scheme(text, 0..<$0) }
    }

    private static func scheme(_ text: Span<UInt8>, _ range: Range<Int>) -> String? {
        guard let first = range.first, text[first].isASCIILetter, range.count <= longestScheme else { return nil }
        let isScheme = range.allSatisfy { text[$0].isASCIIAlphanumeric || "+-.".utf8.contains(text[$0]) }
        return isScheme ? text.text(range).foldedASCII : nil
    }
}

/// A host and a port, as `host[:port]`.
package struct URLServer: Sendable {
    /// The host as it is written, an IPv6 address with its brackets; may be empty. ``WebHost`` reads the names of the
    /// web.
    package let host: Range<Int>
    /// From 1; `nil` if there is none, or an empty one.
    package let port: UInt16?
    /// Whether a colon follows the host.
    package let hasColon: Bool

    /// - Returns: `nil` for a character that no host has, a bracket that is not closed, a colon without a host, and a
    ///   port that is not a decimal number from 1 to 65,535. Leading zeros do not count.
    package init?(_ text: Span<UInt8>, _ range: Range<Int>) {
        var end = range.lowerBound
        if let first = range.first, text[first] == UInt8(ascii: "[") {
            guard let closing = range.first(where: { text[$0] == UInt8(ascii: "]") }) else { return nil }
            end = closing + 1
            guard (first + 1..<closing).allSatisfy({ URLServer.isOfHost(text[$0]) }) else { return nil }
            guard end == range.upperBound || text[end] == UInt8(ascii: ":") else { return nil }
        } else {
            while end < range.upperBound, text[end] != UInt8(ascii: ":") {
                guard URLServer.isOfHost(text[end]) else { return nil }
                end += 1
            }
        }
        host = range.lowerBound..<end
        hasColon = end < range.upperBound
        guard !host.isEmpty || !hasColon else { return nil }
        var number: UInt32 = 0
        let digits = end + (hasColon ? 1 : 0)..<range.upperBound
        for index in digits {
            guard text[index].isASCIIDigit else { return nil }
            number = number * 10 + UInt32(text[index] - 0x30)
            guard number <= 65_535 else { return nil }
        }
        guard digits.isEmpty || number > 0 else { return nil }
        port = digits.isEmpty ? nil : UInt16(number)
    }

    /// Whether a byte is none of the forbidden host code points (WHATWG URL standard, 3.2), nor a control.
    private static func isOfHost(_ byte: UInt8) -> Bool {
        switch byte {
        case 0...0x20, 0x7f, UInt8(ascii: "#"), UInt8(ascii: "/"), UInt8(ascii: "<"), UInt8(ascii: ">"),
            UInt8(ascii: "?"), UInt8(ascii: "@"), UInt8(ascii: "["), UInt8(ascii: "\\"), UInt8(ascii: "]"),
            UInt8(ascii: "^"), UInt8(ascii: "|"):
            false
        default: true
        }
    }
}

/// Facts of the schemes that programs share.
package enum URLScheme {
    /// Whether the URL standard calls the scheme special: browsers open such URLs, and read a backslash in them as a
    /// slash.
    package static func isOfWeb(_ scheme: String) -> Bool {
        switch scheme {
        case "http", "https", "ws", "wss", "ftp", "file": true
        default: false
        }
    }

    /// The default port; `nil` if there is none, or it is not known.
    package static func usualPort(_ scheme: String) -> UInt16? {
        switch scheme {
        case "http", "ws": 80
        case "https", "wss": 443
        case "ftp": 21
        case "ftps": 990
        default: nil
        }
    }
}
