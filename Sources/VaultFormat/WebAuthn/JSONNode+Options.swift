// SPDX-License-Identifier: Apache-2.0

// Members of the options of a ceremony. The values are `nil` for a member of another type: browsers have converted the
// page's values before.

extension JSONNode {
    /// The maximum length of a name, in bytes: authenticators may cut at 64 (WebAuthn, 6.4.1).
    private static let longestName = 256

    /// The text of a string.
    func string(_ text: Span<UInt8>) -> String? { isString ? unescaped(text) : nil }

    /// The bytes of a string in base64url.
    func bytes(_ text: Span<UInt8>) -> [UInt8]? {
        guard isString else { return nil }
        var digits: [UInt8] = []
        digits.reserveCapacity(range.count)
        unescape(text) { digits.append($0) }
        return Base64URL.decoded(digits.span)
    }

    /// A name for a person to read, cut between two characters.
    func name(_ text: Span<UInt8>) -> String? {
        guard let whole = string(text) else { return nil }
        guard whole.utf8.count > JSONNode.longestName else { return whole }
        // A character may have any number of scalars.
        var cut = String.UnicodeScalarView()
        var count = 0
        for scalar in whole.unicodeScalars {
            count += UTF8.width(scalar)
            guard count <= JSONNode.longestName else { break }
            cut.append(scalar)
        }
        return String(cut)
    }

    func number(_ text: Span<UInt8>) -> Double? {
        guard case .number = kind else { return nil }
        return Double(String(decoding: text.array(range), as: UTF8.self))
    }

    var isTrue: Bool { if case .boolean(true) = kind { true } else { false } }

    var isNull: Bool { if case .null = kind { true } else { false } }

    var isArray: Bool { if case .array = kind { true } else { false } }

    var members: [(key: String, value: JSONNode)] { if case .object(let members) = kind { members } else { [] } }

    /// Whether a parameter or a descriptor is of the only type of credentials, `public-key`.
    func isPublicKey(_ text: Span<UInt8>) -> Bool { self["type"]?.string(text) == "public-key" }
}
