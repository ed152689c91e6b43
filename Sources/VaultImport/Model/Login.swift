// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import Vault
package import VaultCrypto

/// An entry of another product.
///
/// Size: the properties are the parts that products have in common; a format may leave each of them empty.
package struct Login: Sendable {
    /// The address of an entry, where its URL does not determine it.
    package enum Address: Sendable {
        /// An internet password of the first URL, if it names a host, else a generic password of the title.
        case ofURL
        case service(String)
        /// An internet password with these attributes, including a server.
        case internet([Attribute: AttributeValue])
    }

    package struct Attachment: Sendable {
        package var name: String
        package var content: Secret
        /// Whether the content is compressed by gzip, and has yet to be decompressed.
        package var isCompressed = false
    }

    package struct OlderPassword: Sendable {
        package var password: Secret
        package var since: Date?
    }

    /// An identifier that the source gives the entry, stable across imports; empty if it has none: the entry is then
    /// identified by its page, else its title, and its user, never by its position.
    package var id: String
    /// Returns the identifiers of earlier versions, if the vault has items of the source without a present one.
    package var earlierIDs: @Sendable () -> [String] = { [] }
    /// The place for messages, such as "line 3" or "entry 12"; not an attribute.
    package var place: String
    package var address = Address.ofURL
    package var title = ""
    package var user = ""
    package var urls: [String] = []
    package var folder = ""
    package var notes = ""
    package var kind: String?
    package var password: Secret?
    /// The secrets besides the password, in the order of the source.
    package var fields: [(name: String, secret: Secret)] = []
    package var attributes: [(name: String, value: String)] = []
    /// Whether programs rely on the names of attributes: those that do not begin with `vault.` stay unchanged.
    package var keepsAttributeNames = false
    /// The content type of the password, as stated by its program (RFC 2045, 5.1); `nil` for text.
    package var contentType: String?
    package var attachments: [Attachment] = []
    package var passkeys: [PortablePasskey] = []
    /// Whether the entry is nothing but its passkeys, so that it makes no item of its own.
    package var isOnlyPasskeys = false
    /// The attributes that are booleans at the source, not texts.
    package var booleans: Set<String> = []
    /// The statements of the file about the item, in fields of this product; see ``withStatements(within:)``.
    var stated: Stated?
    /// The label of the collection in which a program of the source looks for the item; `nil` for the user's default.
    package var collection: String?
    /// The attributes that earlier versions gave to such an entry in place of its own.
    package var earlierAttributes: [String: String] = [:]
    package var created: Date?
    package var modified: Date?
    package var olderVersions = 0
    /// The passwords of the versions with a different one, oldest first.
    package var olderPasswords: [OlderPassword] = []

    /// - Parameter position: the identifier that earlier versions gave to an entry without one.
    init(id: String?, place: String, position: Int) {
        self.init(id: id ?? "", place: place)
        if self.id.isEmpty { earlierIDs = { [String(position)] } }
    }

    package init(id: String, place: String) { (self.id, self.place) = (id, place) }

    mutating func addField(_ name: String, _ secret: Secret?) {
        if let secret, !secret.isEmpty { fields.append((name, secret)) }
    }

    mutating func addHistory(_ entries: [JSONValue], password: String, end: (JSONValue) -> Date?) throws(ImportError) {
        olderVersions = entries.count
        let ended = entries.map { (entry: $0, end: end($0)) }
        var since = created
        for (entry, end) in ended.sorted(by: { $0.end ?? .distantPast < $1.end ?? .distantPast }) {
            guard let password = try entry[password]?.secret() else { continue }
            olderPasswords.append(OlderPassword(password: password, since: since))
            since = end
        }
    }

    mutating func addAttribute(_ name: String, _ value: String?) {
        if let value, !value.isEmpty { attributes.append((name, value)) }
    }

    /// - Parameter earlier: the value of the attribute in earlier versions, which was the source's own.
    mutating func addTags(_ tags: [String], earlier: String) {
        let names = tags.map { $0.filter { !$0.isNewline } }.filter { !$0.isEmpty }
        addAttribute(ItemNames.tags, names.joined(separator: "\n"))
        if names.count > 1, !earlier.isEmpty { earlierAttributes[ItemNames.tags] = earlier }
    }
}

package struct ImportedLogins: Sendable {
    package var logins: [Login] = []
    package var skipped: [(place: String, reason: String)] = []
    /// The numbers of parts that are not imported, by name, and of those without content of their own, such as icons.
    package internal(set) var lost: [String: Int] = [:]
    package internal(set) var looks: [String: Int] = [:]
    package internal(set) var remarks: [String] = []
    /// The product that a file names, if its format is of several.
    package internal(set) var product: String?
    /// Whether reading them needed a passphrase.
    package internal(set) var wereEncrypted = false

    package init() {}

    /// - Parameter reason: may contain names from the source, of any length.
    mutating func skip(_ place: String, _ reason: String) { skipped.append((place, ImportedLogins.bounded(reason))) }

    static func bounded(_ text: String) -> String { String(String.UnicodeScalarView(text.unicodeScalars.prefix(300))) }
}
