// SPDX-License-Identifier: Apache-2.0

/// The host of a URL: a name, or an address, below which there are no other hosts. Two spellings that browsers treat as
/// the same host are equal.
package struct WebHost: Hashable, Sendable {
    /// The host in ASCII and lower case; an IPv6 address in brackets, its eight groups without leading zeros.
    package let text: String
    /// The labels of a name, the top-level one last; empty for an address.
    package let labels: [String]

    /// The maximum length, in bytes: DNS allows 253, and the name of an attribute has a prefix in front of the host.
    package static let longest = 240

    /// The full stops of IDNA.
    package static let dots: Set<Unicode.Scalar> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}"]

    /// Fails for a text that no browser would resolve: an empty label, a blank, a number that is not an address.
    package init?(_ text: some StringProtocol) {
        if text.hasPrefix("[") {
            guard text.hasSuffix("]"), let groups = WebHost.groups(text.dropFirst().dropLast()) else { return nil }
            self.text = "[\(groups.map { String($0, radix: 16) }.joined(separator: ":"))]"
            labels = []
            return
        }
        // A longer text cannot be a name, in any spelling.
        guard text.utf8.count <= 1024 else { return nil }
        var parts = text.lowercased().unicodeScalars.split(omittingEmptySubsequences: false) {
            WebHost.dots.contains($0)
        }
        // The trailing dot of the DNS root is allowed.
        if parts.count > 1, parts.last?.isEmpty == true { parts.removeLast() }
        var labels: [String] = []
        for part in parts {
            guard let label = WebHost.label(Array(part)) else { return nil }
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

    package var isAddress: Bool { labels.isEmpty }

    package var labelCount: Int { labels.count }

    /// Whether the host is this machine, reached without a network.
    package var isLoopback: Bool {
        labels.last == "localhost" || isAddress && (text.hasPrefix("127.") || text == "[0:0:0:0:0:0:0:1]")
    }

    // MARK: Names

    /// Returns a label in ASCII; `nil` if it is invalid.
    private static func label(_ scalars: [Unicode.Scalar]) -> String? {
        guard (1...63).contains(scalars.count), scalars.allSatisfy(isOfLabel) else { return nil }
        let isASCII = scalars.allSatisfy(\.isASCII)
        let label = isASCII ? String(String.UnicodeScalarView(scalars)) : "xn--" + Punycode.encoded(scalars)
        return label.utf8.count <= 63 ? label : nil
    }

    private static func isOfLabel(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "0"..."9", "-", "_": return true
        case _ where scalar.isASCII: return false
        default: break
        }
        return switch scalar.properties.generalCategory {
        case .lowercaseLetter, .modifierLetter, .otherLetter, .decimalNumber, .nonspacingMark, .spacingMark: true
        default: false
        }
    }

    // MARK: Addresses

    /// Returns whether the URL standard treats a host that ends in this label as an IPv4 address, valid or not.
    private static func isNumber(_ label: String) -> Bool {
        label.utf8.allSatisfy { (0x30...0x39).contains($0) }
            || label.hasPrefix("0x")
                && label.dropFirst(2).utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    private static func isByte(_ label: String) -> Bool { UInt8(label).map { String($0) == label } ?? false }

    /// Returns the eight groups of an IPv6 address without a zone. An address that ends in dotted IPv4 notation is not
    /// accepted: browsers write it in groups.
    private static func groups(_ text: some StringProtocol) -> [UInt16]? {
        guard (2...39).contains(text.utf8.count) else { return nil }
        let sides = String(text).split(separator: "::", omittingEmptySubsequences: false)
        guard sides.count <= 2 else { return nil }
        var found: [[UInt16]] = []
        for side in sides {
            let parts = side.isEmpty ? [] : side.split(separator: ":", omittingEmptySubsequences: false)
            var groups: [UInt16] = []
            for part in parts {
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
