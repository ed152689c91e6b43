// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import Vault
package import VaultCrypto

/// What another product keeps in one entry, as far as products have it in common.
package struct Login: Sendable {
    /// Where an entry belongs that is not told by its URL.
    package enum Address: Sendable {
        /// An internet password of the first URL, if it names a host, else a generic password of the title.
        case ofURL
        /// A generic password of this service.
        case service(String)
        /// An internet password of these attributes, a server among them.
        case internet([Attribute: AttributeValue])
    }

    package struct Attachment: Sendable {
        package var name: String
        package var content: Secret
        /// Whether the content is packed by gzip, and still has to be opened.
        package var isCompressed = false
    }

    package struct OlderPassword: Sendable {
        package var password: Secret
        /// When it became the password.
        package var since: Date?
    }

    /// What tells it from the others of its source, the next time too.
    package var id: String
    /// For messages, such as "line 3" or "entry 12": no attribute of it.
    package var place: String
    package var address = Address.ofURL
    package var title = ""
    package var user = ""
    package var urls: [String] = []
    /// Parted by slashes.
    package var folder = ""
    package var notes = ""
    /// What kind it is, if it is no login.
    package var kind: String?
    package var password: Secret?
    /// Secrets beside the password, in the order of their source.
    package var fields: [(name: String, secret: Secret)] = []
    /// What else is said of it, in the order of its source.
    package var attributes: [(name: String, value: String)] = []
    /// Whether the names of attributes mean something to programs, and so stay as they are, but for those that begin
    /// with `vault.`.
    package var keepsAttributeNames = false
    /// What the password is, as its program said (RFC 2045, 5.1); nil: a text.
    package var contentType: String?
    package var attachments: [Attachment] = []
    /// The attributes that are truths at the source, and no texts.
    package var booleans: Set<String> = []
    /// When it was made, and last changed, at the source.
    package var created: Date?
    package var modified: Date?
    /// How many older versions the source has.
    package var olderVersions = 0
    /// The passwords of those that had another one, the oldest first.
    package var olderPasswords: [OlderPassword] = []

    package init(id: String, place: String) { (self.id, self.place) = (id, place) }

    mutating func addField(_ name: String, _ secret: Secret?) {
        if let secret, !secret.isEmpty { fields.append((name, secret)) }
    }

    mutating func addAttribute(_ name: String, _ value: String?) {
        if let value, !value.isEmpty { attributes.append((name, value)) }
    }
}

/// What a format gives.
package struct ImportedLogins: Sendable {
    package var logins: [Login] = []
    /// Entries that cannot come, each with the reason.
    package var skipped: [(place: String, reason: String)] = []
    /// Whether a passphrase was needed to read them.
    package internal(set) var wereEncrypted = false

    package init() {}

    mutating func skip(_ place: String, _ reason: String) { skipped.append((place, reason)) }
}

/// The names of attributes and fields that an import gives a meaning.
package enum ImportNames {
    /// `FORMAT:ID`, where an item came from.
    package static let source = "vault.import"
    /// The field with the fingerprint of what came.
    package static let fingerprint = "vault.import"
    /// The service of a generic password, or the domain of an internet password, that was changed because another
    /// entry has the same key.
    package static let originalKey = "vault.key"
    /// The names of the attributes that are truths where they came from, a line each.
    static let booleans = "vault.boolean"
    /// What the secret is, if it is no text; it belongs to the item as its user's attributes do.
    package static let contentType = "vault.content-type"
    package static let folder = "folder"
    /// The first URL as it was written, where server, protocol, port and path do not say all of it.
    package static let url = "url"
    package static let otp = "otp"
    /// How the URL of this number is compared with a page's, as Bitwarden has it: `url.match`, `url.2.match` and on.
    static func match(of number: Int) -> String { (number == 1 ? url : furtherURL(number)) + ".match" }
    /// Before the name of a custom attribute that would pass for one of these.
    package static let custom = "custom."

    /// `url.2` and on.
    package static func furtherURL(_ number: Int) -> String { "\(url).\(number)" }

    /// Whether an attribute is for the import alone, and says nothing of the item.
    static func isOwn(_ name: String) -> Bool { name.hasPrefix(prefix) && name != contentType }

    /// Of names that no other program gives a meaning.
    static let prefix = "vault."

    package static func isReserved(_ name: String) -> Bool {
        name.hasPrefix(prefix) || name.hasPrefix(custom) || name == folder || name == url
            || name.hasPrefix(url + ".") && Int(name.dropFirst(url.count + 1)) != nil
    }
}
