// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// The names of attributes and fields that have a meaning to this product.
package enum ItemNames {
    /// The origin of an item, as `FORMAT:ID`.
    package static let source = "vault.import"
    /// The field with the fingerprint of the imported content.
    package static let fingerprint = "vault.import"
    /// The original service of a generic password, or domain of an internet password, which was changed because another
    /// entry has the same key.
    package static let originalKey = "vault.key"
    /// The names of the attributes that are booleans at the source, one per line.
    package static let booleans = "vault.boolean"
    /// The content type of the secret, if not text; part of the item like its user attributes.
    package static let contentType = "vault.content-type"
    /// The end of ``source`` for a passkey of an entry, in front of a number for a second one.
    package static let passkeySuffix = "/passkey"
    /// The end of the service of an imported attachment.
    package static let attachmentSuffix = "/attachment"
    package static let folder = "folder"
    /// The first URL as written, if server, protocol, port and path do not cover all of it.
    package static let url = "url"
    package static let otp = "otp"
    /// The field with notes that are too long, or too secret, for the comment.
    package static let notes = "notes"
    /// How the URL with this number is compared with that of a page, in Bitwarden's terms: `url.match`, `url.2.match`,
    /// ….
    package static func match(of number: Int) -> String { (number == 1 ? url : furtherURL(number)) + ".match" }
    /// The prefix for a custom attribute whose name would clash with one of these.
    package static let custom = "custom."

    /// Returns `url.2` and so on.
    package static func furtherURL(_ number: Int) -> String { "\(url).\(number)" }

    /// Returns a value of ``source`` without the number of a further item of one identity.
    package static func unnumbered(_ source: String) -> String {
        guard let mark = source.utf8.lastIndex(of: UInt8(ascii: "~")), Int(source[mark...].dropFirst()) ?? 0 > 1 else {
            return source
        }
        return String(source[..<mark])
    }

    /// Returns whether an attribute is only for the import, and says nothing about the item.
    package static func isOwn(_ name: String) -> Bool { name.hasPrefix(prefix) && name != contentType }

    /// The association of the browser that saved the login.
    package static let browser = "vault.browser"
    /// The maker of the item: ``Maker``. An item without the attribute is an earlier version's.
    package static let made = "vault.made"
    /// The names of the attributes that a program set over the bus: percent-encoded, one per line.
    package static let programAttributes = "vault.attributes"
    /// The tags, one per line.
    package static let tags = "tags"

    /// Returns names as lines, in the order of their bytes.
    package static func lines(_ names: some Sequence<String>) -> String {
        names.map { PercentCoding.encoded($0) }.sorted().joined(separator: "\n")
    }

    /// Returns the names of such lines.
    package static func names(inLines lines: String) -> [String] {
        lines.split(separator: "\n").compactMap { PercentCoding.decoded($0) }
    }

    /// The prefix of names reserved for this product.
    package static let prefix = "vault."

    package static func isReserved(_ name: String) -> Bool {
        name.hasPrefix(prefix) || name.hasPrefix(custom) || name == folder || isURL(name)
    }

    private static func isURL(_ name: String) -> Bool {
        name == url || name.hasPrefix(url + ".") && Int(name.dropFirst(url.count + 1)) != nil
    }

    /// Returns whether an attribute is a part of ``ItemFace`` that has a name of its own there.
    static func isPart(_ name: String) -> Bool { name == folder || name == tags || isURL(name) }
}

/// The maker of an item: the value of ``ItemNames/made``, with a format behind a colon for an import.
package enum Maker: String, Sendable {
    case command, git, browser, program
    case imported = "import"

    /// - Parameter item: `nil` if no version that says so has made it.
    package init?(of item: Item) {
        guard let text = item.userAttributes[ItemNames.made] else { return nil }
        self.init(rawValue: String(text.prefix { $0 != ":" }))
    }
}
