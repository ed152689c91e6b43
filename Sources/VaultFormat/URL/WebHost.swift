// SPDX-License-Identifier: Apache-2.0

/// The host of a URL of the web: a name, or an address, below which there are no other hosts. Two spellings that
/// browsers treat as the same host are equal. A host that browsers read only after a repair, such as `%65xample.com`
/// and `0x7f.1`, is none: no page has it in its URL, and a person does not see where it leads.
package struct WebHost: Hashable, Sendable {
    /// The host in ASCII and lower case; an IPv6 address in brackets, its eight groups without leading zeros.
    package let text: String
    /// The labels of a name, the top-level one last; empty for an address.
    package let labels: [String]

    /// The maximum length, in bytes: DNS allows 253, and the name of an attribute has a prefix in front of the host.
    package static let longest = 240

    /// Fails for a text that no browser would resolve: an empty label, a blank, a number that is not an address.
    package init?(_ text: some StringProtocol) {
        // A longer text cannot be a name, in any spelling.
        guard text.utf8.count <= 1024 else { return nil }
        if text.hasPrefix("[") {
            guard text.hasSuffix("]"), let groups = WebHost.groups(text.dropFirst().dropLast()) else { return nil }
            self.text = "[\(groups.map { String($0, radix: 16) }.joined(separator: ":"))]"
            labels = []
            return
        }
        var parts = String(text).unicodeScalars.split(omittingEmptySubsequences: false, whereSeparator: WebHost.isDot)
        // The trailing dot of the DNS root is allowed.
        if parts.count > 1, parts.last?.isEmpty == true { parts.removeLast() }
        var labels: [String] = []
        for part in parts {
            guard let label = WebHost.label(part) else { return nil }
            labels.append(label)
        }
        self.text = labels.joined(separator: ".")
        guard self.text.utf8.count <= WebHost.longest, let last = labels.last else { return nil }
        if WebHost.isNumber(last) {
            guard labels.count == 4, labels.allSatisfy(WebHost.isByte) else { return nil }
            self.labels = []
        } else {
            self.labels = labels
        }
    }

    package init?(_ text: Span<UInt8>, _ range: Range<Int>) {
        guard range.count <= 1024, let text = String(validating: text.array(range), as: UTF8.self) else { return nil }
        self.init(text)
    }

    package var isAddress: Bool { labels.isEmpty }

    package var labelCount: Int { labels.count }

    /// Whether the host is this machine, reached without a network.
    package var isLoopback: Bool {
        labels.last == "localhost" || isAddress && (text.hasPrefix("127.") || text == "[0:0:0:0:0:0:0:1]")
    }

    /// Whether a text without a scheme is likely meant as this host: a single word may mean anything.
    package var isMoreThanAWord: Bool { labels.count != 1 || isLoopback }

    // MARK: Names

    /// Whether a scalar is a full stop of IDNA.
    package static func isDot(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case ".", "\u{3002}", "\u{FF0E}", "\u{FF61}": true
        default: false
        }
    }

    /// Returns a label in ASCII; `nil` if it is invalid. A label `xn--…` is taken as it is: no page has an invalid one.
    private static func label(_ text: Substring.UnicodeScalarView) -> String? {
        // The longest label in ASCII has 63 characters, and Punycode does not shorten one.
        guard (1...63).contains(text.count) else { return nil }
        if text.allSatisfy(\.isASCII) {
            let label = String(text).foldedASCII
            let isLabel = label.utf8.allSatisfy {
                $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
            return isLabel ? label : nil
        }
        var scalars: [Unicode.Scalar] = []
        for scalar in text {
            guard let mapped = mapped(scalar) else { return nil }
            scalars.append(mapped)
        }
        guard scalars.first.map(isMark) == false else { return nil }
        // The Kelvin sign, for one, is a k.
        if scalars.allSatisfy(\.isASCII) { return String(String.UnicodeScalarView(scalars)) }
        guard !scalars.starts(with: "xn--".unicodeScalars) else { return nil }
        let label = "xn--" + Punycode.encoded(scalars)
        return label.utf8.count <= 63 ? label : nil
    }

    /// Returns a scalar in lower case, as UTS #46 maps it; `nil` for one of no label, and for one that UTS #46 maps to
    /// other letters or joins with the one in front of it: the composed letters are written instead.
    private static func mapped(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar {
        case "a"..."z", "0"..."9", "-", "_": return scalar
        case "A"..."Z": return Unicode.Scalar(UInt8(scalar.value) | 0x20)
        case _ where scalar.isASCII: return nil
        // Case folding changes these two, and UTS #46 does not.
        case "ß", "ς": return scalar
        // Marks that combine with letters, a capital ß, Arabic hamza and madda, kana's marks, and parts of Hangul.
        case "\u{300}"..."\u{36f}", "\u{1e9e}", "\u{653}"..."\u{655}", "\u{3099}"..."\u{309a}",
            "\u{1100}"..."\u{11ff}":
            return nil
        default: break
        }
        let lower = scalar.properties.lowercaseMapping.unicodeScalars
        guard let mapped = lower.first, lower.count == 1 else { return nil }
        guard !mapped.isASCII else { return mapped }
        guard !mapped.properties.changesWhenNFKCCaseFolded else { return nil }
        switch mapped.properties.generalCategory {
        case .lowercaseLetter, .modifierLetter, .otherLetter, .decimalNumber: return mapped
        default: return isMark(mapped) ? mapped : nil
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        [.nonspacingMark, .spacingMark].contains(scalar.properties.generalCategory)
    }

    // MARK: Addresses

    /// Returns whether the URL standard treats a host that ends in this label as an IPv4 address, valid or not.
    private static func isNumber(_ label: String) -> Bool {
        label.utf8.allSatisfy(\.isASCIIDigit)
            || label.hasPrefix("0x")
                && label.dropFirst(2).utf8.allSatisfy { $0.isASCIIDigit || (0x61...0x66).contains($0) }
    }

    private static func isByte(_ label: some StringProtocol) -> Bool {
        UInt8(label).map { String($0) == label } ?? false
    }

    /// Returns the eight groups of an IPv6 address without a zone. The last two may be an IPv4 address.
    private static func groups(_ text: some StringProtocol) -> [UInt16]? {
        guard (2...45).contains(text.utf8.count) else { return nil }
        let sides = String(text).split(separator: "::", omittingEmptySubsequences: false)
        guard sides.count <= 2 else { return nil }
        var found: [[UInt16]] = []
        for (number, side) in sides.enumerated() {
            let parts = side.isEmpty ? [] : side.split(separator: ":", omittingEmptySubsequences: false)
            var groups: [UInt16] = []
            for (index, part) in parts.enumerated() {
                if part.contains("."), index == parts.count - 1, number == sides.count - 1 {
                    let bytes = part.split(separator: ".", omittingEmptySubsequences: false)
                    guard bytes.count == 4, bytes.allSatisfy({ isByte($0) }) else { return nil }
                    let values = bytes.compactMap { UInt16($0) }
                    groups += [values[0] << 8 | values[1], values[2] << 8 | values[3]]
                    continue
                }
                let isHexadecimal =
                    (1...4).contains(part.utf8.count) && part.utf8.allSatisfy { $0 != 0x2b && $0 != 0x2d }
                guard isHexadecimal, let group = UInt16(part, radix: 16) else { return nil }
                groups.append(group)
            }
            found.append(groups)
        }
        let count = found.reduce(0) { $0 + $1.count }
        guard found.count == 2 else { return count == 8 ? found.first : nil }
        guard count < 8 else { return nil }
        return found[0] + Array(repeating: 0, count: 8 - count) + found[1]
    }
}
