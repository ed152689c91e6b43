// SPDX-License-Identifier: Apache-2.0

/// A second reading of URLs, to compare the product's with: the basic URL parser of the WHATWG URL standard (4.4), as
/// the state machine that the standard describes, over scalars, without a base URL, up to the port. Slow, and written
/// without a look at `URLParts`. Schemes other than `file` are read.
package struct StandardURL {
    package var scheme = ""
    /// Whether an `@` was seen in the authority.
    package var hasUser = false
    /// An IPv6 address as eight groups in brackets; a name beyond ASCII in Unicode; `nil` if the URL has no authority.
    package var host: String?
    /// `nil` for the default one.
    package var port: Int?

    private static let special = ["ftp": 21, "http": 80, "https": 443, "ws": 80, "wss": 443]
    private static let forbidden = Set("\0\t\n\r #/:<>?@[\\]^|".unicodeScalars)

    private enum State {
        case schemeStart, scheme, specialAuthoritySlashes, specialAuthorityIgnoreSlashes, pathOrAuthority
        case authority, host, port, end
    }

    private var state = State.schemeStart
    private var buffer: [Unicode.Scalar] = []
    private var isInsideBrackets = false

    private var isSpecial: Bool { StandardURL.special[scheme] != nil }

    /// Fails where the standard returns failure.
    package init?(_ text: String) {
        var input = Array(text.unicodeScalars)
        while let last = input.last, last.value <= 0x20 { input.removeLast() }
        while let first = input.first, first.value <= 0x20 { input.removeFirst() }
        input.removeAll { $0 == "\t" || $0 == "\n" || $0 == "\r" }
        var pointer = 0
        while state != .end {
            guard pointer <= input.count else { return nil }
            let c = pointer < input.count ? input[pointer] : nil
            let next = pointer + 1 < input.count ? input[pointer + 1] : nil
            guard step(c, next, &pointer) else { return nil }
            pointer += 1
        }
    }

    /// Returns `false` for failure.
    private mutating func step(_ c: Unicode.Scalar?, _ next: Unicode.Scalar?, _ pointer: inout Int) -> Bool {
        switch state {
        case .schemeStart:
            guard let c, c.isASCII, c.properties.isAlphabetic else { return false }
            buffer.append(c)
            state = .scheme
        case .scheme:
            guard let c else { return false }
            if c.isASCII, c.properties.isAlphabetic || ("0"..."9").contains(c) || "+-.".unicodeScalars.contains(c) {
                buffer.append(c)
            } else if c == ":" {
                scheme = text(buffer).lowercased()
                buffer = []
                if isSpecial {
                    state = .specialAuthoritySlashes
                } else if next == "/" {
                    state = .pathOrAuthority
                    pointer += 1
                } else {
                    state = .end
                }
            } else {
                return false
            }
        case .specialAuthoritySlashes:
            state = .specialAuthorityIgnoreSlashes
            if c == "/", next == "/" { pointer += 1 } else { pointer -= 1 }
        case .specialAuthorityIgnoreSlashes:
            if c != "/", c != "\\" {
                state = .authority
                pointer -= 1
            }
        case .pathOrAuthority: state = c == "/" ? .authority : .end
        case .authority:
            if c == "@" {
                hasUser = true
                buffer = []
            } else if isEnd(c) {
                if hasUser, buffer.isEmpty { return false }
                pointer -= buffer.count + 1
                buffer = []
                state = .host
            } else if let c {
                buffer.append(c)
            }
        case .host:
            if c == ":", !isInsideBrackets {
                guard !buffer.isEmpty else { return false }
                guard takeHost() else { return false }
                state = .port
            } else if isEnd(c) {
                pointer -= 1
                if isSpecial, buffer.isEmpty { return false }
                guard takeHost() else { return false }
                state = .end
            } else if let c {
                if c == "[" { isInsideBrackets = true }
                if c == "]" { isInsideBrackets = false }
                buffer.append(c)
            }
        case .port:
            if let c, ("0"..."9").contains(c) {
                buffer.append(c)
            } else if isEnd(c) {
                if !buffer.isEmpty {
                    let number = buffer.reduce(0) { min($0 * 10 + Int($1.value) - 0x30, 1 << 20) }
                    guard number <= 65_535 else { return false }
                    port = StandardURL.special[scheme] == number ? nil : number
                }
                state = .end
            } else {
                return false
            }
        case .end: break
        }
        return true
    }

    private func isEnd(_ c: Unicode.Scalar?) -> Bool {
        c == nil || c == "/" || c == "?" || c == "#" || isSpecial && c == "\\"
    }

    private func text(_ scalars: [Unicode.Scalar]) -> String { String(String.UnicodeScalarView(scalars)) }

    // MARK: Hosts (3.5)

    private mutating func takeHost() -> Bool {
        defer { buffer = [] }
        guard !buffer.isEmpty else {
            host = ""
            return true
        }
        if buffer[0] == "[" {
            guard buffer.last == "]", let pieces = StandardURL.ipv6(Array(buffer[1..<buffer.count - 1])) else {
                return false
            }
            host = "[" + pieces.map { String($0, radix: 16) }.joined(separator: ":") + "]"
            return true
        }
        guard isSpecial else {
            guard !buffer.contains(where: { StandardURL.forbidden.contains($0) }) else { return false }
            host = text(buffer)
            return true
        }
        guard let decoded = decodedBytes(), let domain = StandardURL.unicodeDomain(decoded) else { return false }
        let isForbidden = domain.unicodeScalars.contains {
            StandardURL.forbidden.contains($0) || $0.value < 0x20 || $0 == "%" || $0.value == 0x7f
        }
        guard !domain.isEmpty, !isForbidden else { return false }
        if StandardURL.endsInNumber(domain) {
            guard let address = StandardURL.ipv4(domain) else { return false }
            host = [24, 16, 8, 0].map { String(address >> $0 & 255) }.joined(separator: ".")
        } else {
            host = domain
        }
        return true
    }

    private func decodedBytes() -> String? {
        var bytes: [UInt8] = []
        let encoded = Array(text(buffer).utf8)
        var index = 0
        while index < encoded.count {
            if encoded[index] == 0x25, index + 2 < encoded.count,
                let value = UInt8(String(decoding: encoded[index + 1...index + 2], as: UTF8.self), radix: 16),
                encoded[index + 1] != 0x2b, encoded[index + 1] != 0x2d
            {
                bytes.append(value)
                index += 3
            } else {
                bytes.append(encoded[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The mappings of UTS #46 that the comparison uses; `nil` for an invalid domain.
    private static func unicodeDomain(_ text: String) -> String? {
        var mapped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\u{3002}", "\u{ff0e}", "\u{ff61}": mapped += "."
            case "\u{ad}", "\u{200b}": break
            case "\u{212a}": mapped += "k"
            case "\u{17f}": mapped += "s"
            case "\u{fb01}": mapped += "fi"
            case "\u{dc}": mapped += "\u{fc}"
            case "\u{ff21}": mapped += "a"
            case "\u{ff11}": mapped += "1"
            case "\u{fffd}", "\u{202e}": return nil
            // A mark composes with the letter in front of it, and no label begins with one.
            case "\u{308}":
                guard mapped.unicodeScalars.last == "u" else { return nil }
                mapped.unicodeScalars.removeLast()
                mapped += "\u{fc}"
            default: mapped += scalar.isASCII ? String(scalar).lowercased() : String(scalar)
            }
        }
        // Such a label is Punycode, and so in ASCII.
        let isMixed = mapped.split(separator: ".").contains {
            $0.hasPrefix("xn--") && !$0.utf8.allSatisfy { $0 < 0x80 }
        }
        return isMixed ? nil : mapped
    }

    private static func parts(_ domain: String) -> [Substring] {
        var parts = domain.split(separator: ".", omittingEmptySubsequences: false)
        if parts.last == "", parts.count > 1 { parts.removeLast() }
        return parts
    }

    private static func endsInNumber(_ domain: String) -> Bool {
        guard let last = parts(domain).last else { return false }
        return !last.isEmpty && last.allSatisfy { ("0"..."9").contains($0) } || number(last) != nil
    }

    private static func number(_ text: Substring) -> Int? {
        if text.isEmpty { return nil }
        var (digits, radix) = (text, 10)
        if text.hasPrefix("0x") || text.hasPrefix("0X") {
            (digits, radix) = (text.dropFirst(2), 16)
        } else if text.count >= 2, text.hasPrefix("0") {
            (digits, radix) = (text.dropFirst(), 8)
        }
        if digits.isEmpty { return 0 }
        guard digits.allSatisfy({ $0.isASCII && ($0.hexDigitValue ?? 16) < radix }) else { return nil }
        // A number without a value in 64 bits is larger than every address.
        return Int(digits, radix: radix) ?? 1 << 60
    }

    private static func ipv4(_ domain: String) -> Int? {
        let numbers = parts(domain).map { number($0) }
        guard numbers.count <= 4, !numbers.contains(nil) else { return nil }
        let values = numbers.compactMap { $0 }
        guard values.dropLast().allSatisfy({ $0 <= 255 }), let last = values.last,
            last < 1 << (8 * (5 - values.count))
        else { return nil }
        return values.dropLast().enumerated().reduce(last) { $0 + $1.element << (8 * (3 - $1.offset)) }
    }

    private static func ipv6(_ input: [Unicode.Scalar]) -> [UInt16]? {
        var address = [UInt16](repeating: 0, count: 8)
        var (piece, compress, pointer) = (0, Int?.none, 0)
        func c(_ offset: Int = 0) -> Unicode.Scalar? {
            pointer + offset < input.count ? input[pointer + offset] : nil
        }
        func digit(_ scalar: Unicode.Scalar?) -> Int? {
            scalar.flatMap { $0.isASCII ? Character($0).hexDigitValue : nil }
        }
        if c() == ":" {
            guard c(1) == ":" else { return nil }
            pointer += 2
            piece += 1
            compress = piece
        }
        while c() != nil {
            guard piece < 8 else { return nil }
            if c() == ":" {
                guard compress == nil else { return nil }
                pointer += 1
                piece += 1
                compress = piece
                continue
            }
            var (value, length) = (0, 0)
            while length < 4, let found = digit(c()) {
                value = value * 16 + found
                pointer += 1
                length += 1
            }
            if c() == "." {
                guard length > 0 else { return nil }
                pointer -= length
                guard piece <= 6 else { return nil }
                var seen = 0
                while c() != nil {
                    var byte: Int?
                    if seen > 0 {
                        guard c() == ".", seen < 4 else { return nil }
                        pointer += 1
                    }
                    guard let first = c(), ("0"..."9").contains(first) else { return nil }
                    while let found = c(), ("0"..."9").contains(found) {
                        let number = Int(found.value) - 0x30
                        if byte == nil {
                            byte = number
                        } else if byte == 0 {
                            return nil
                        } else {
                            byte = (byte ?? 0) * 10 + number
                        }
                        guard (byte ?? 0) <= 255 else { return nil }
                        pointer += 1
                    }
                    address[piece] = address[piece] << 8 + UInt16(byte ?? 0)
                    seen += 1
                    if seen == 2 || seen == 4 { piece += 1 }
                }
                guard seen == 4 else { return nil }
                break
            } else if c() == ":" {
                pointer += 1
                guard c() != nil else { return nil }
            } else if c() != nil {
                return nil
            }
            address[piece] = UInt16(value)
            piece += 1
        }
        guard let compress else { return piece == 8 ? address : nil }
        let tail = Array(address[compress..<piece])
        return Array(address[..<compress]) + [UInt16](repeating: 0, count: 8 - piece) + tail
    }
}
