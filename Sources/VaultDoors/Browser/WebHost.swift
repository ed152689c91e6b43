// SPDX-License-Identifier: Apache-2.0

/// A host as it stands in a URL: a name, or an address, which no other is below. Two that browsers take for the same
/// are equal.
struct WebHost: Hashable, Sendable {
    /// In ASCII and lower case; an IPv6 address in brackets, its eight groups without leading zeros.
    let text: String
    /// Of a name, the most general last; none of an address.
    private let labels: [String]

    /// The longest that is taken, in bytes: DNS has 253, and an attribute's name a word before it.
    static let longest = 240

    /// Nil for what no browser would ask a server by: an empty label, a blank, a number that is no address.
    init?(_ text: some StringProtocol) {
        if text.hasPrefix("[") {
            guard text.hasSuffix("]"), let groups = WebHost.groups(text.dropFirst().dropLast()) else { return nil }
            self.text = "[\(groups.map { String($0, radix: 16) }.joined(separator: ":"))]"
            labels = []
            return
        }
        // More would be no name, however it is written.
        guard text.utf8.count <= 1024 else { return nil }
        var parts = text.lowercased().unicodeScalars.split(omittingEmptySubsequences: false) { scalar in
            // IDNA's other full stops.
            [".", "\u{3002}", "\u{FF0E}", "\u{FF61}"].contains(scalar)
        }
        // The name of the root, which may be said.
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

    /// Whether the host is the other one or below it. Below an address there is nothing, nor below a name of one label
    /// or a suffix under which strangers have names.
    func isAtOrBelow(_ other: WebHost, _ suffixes: PublicSuffixes) -> Bool {
        guard self != other else { return true }
        return other.labels.count >= 2 && labels.count > other.labels.count
            && labels.suffix(other.labels.count).elementsEqual(other.labels) && !suffixes.contains(other.labels)
    }

    var isAddress: Bool { labels.isEmpty }

    var labelCount: Int { labels.count }

    /// Whether it is this machine, which no network is between.
    var isLoopback: Bool {
        labels.last == "localhost" || isAddress && (text.hasPrefix("127.") || text == "[0:0:0:0:0:0:0:1]")
    }

    // MARK: Names

    /// In ASCII.
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

    /// As the URL standard decides that a host is an IPv4 address, or none at all.
    private static func isNumber(_ label: String) -> Bool {
        label.utf8.allSatisfy { (0x30...0x39).contains($0) }
            || label.hasPrefix("0x")
                && label.dropFirst(2).utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    private static func isByte(_ label: String) -> Bool { UInt8(label).map { String($0) == label } ?? false }

    /// The eight groups of an IPv6 address without a zone; one that ends as IPv4 browsers write in groups.
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
