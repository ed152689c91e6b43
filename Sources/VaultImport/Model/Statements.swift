// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultFormat

/// The statements of an exported file about an item, in custom fields named `vault.…`, which other products show: the
/// parts that its format has no place for, each only where an import would derive another value.
enum Statement {
    /// The class, `generic` or `internet`.
    static let itemClass = "vault.class"
    static let accessible = "vault.accessible"
    /// The constraints of the access control, as a number.
    static let presence = "vault.presence"
    static let group = "vault.group"
    static let synchronizable = "vault.synchronizable"
    /// Whether the notes are a `field` or `open`, where an import derives the other.
    static let notes = "vault.notes"
    /// `derived`, if the URL is not the item's own, but that of its place.
    static let urls = "vault.urls"
    /// The parts that the item does not have, separated by blanks.
    static let none = "vault.none"
    /// The names of the fields in base64.
    static let base64 = "vault.base64"
    /// The attachments that are secrets of the item: the name of each, and the field that it is.
    static let attached = "vault.attached"
    /// The names of the attributes, in a format whose values are all secrets.
    static let open = "vault.open"
    static let service = "vault.service"
    static let domain = "vault.domain"
    static let kind = "vault.kind"
    static let folder = "vault.folder"

    static let attributes: [(name: String, attribute: Attribute)] = [
        (service, .service), ("vault.account", .account), ("vault.server", .server),
        ("vault.protocol", .protocolName), ("vault.port", .port), ("vault.path", .path), (domain, .securityDomain),
        ("vault.authentication", .authenticationType), ("vault.label", .label), (kind, .itemDescription),
    ]

    static let unchanged = [
        ItemNames.made, ItemNames.programAttributes, ItemNames.originalKey, ItemNames.contentType,
    ]

    static let all = Set(
        [itemClass, accessible, presence, group, synchronizable, notes, urls, none, base64, attached, open, folder]
            + unchanged
            + attributes.map(\.name))

    /// - Parameter login: the entry as an import reads it, but for the statements.
    static func about(_ item: Item, readAs login: Login, hasOwnURLs: Bool) -> [(name: String, value: String)] {
        var stated: [(name: String, value: String)] = []
        var absent: [String] = []
        func state(_ name: String, _ own: String, besides derived: String) {
            guard !own.utf8.elementsEqual(derived.utf8) else { return }
            if own.isEmpty {
                absent.append(String(name.dropFirst(ItemNames.prefix.count)))
            } else {
                stated.append((name, encoded(own)))
            }
        }
        let key = login.key
        let isSame = key.itemClass == item.itemClass
        if !isSame { stated.append((itemClass, item.itemClass == .internetPassword ? "internet" : "generic")) }
        let read: [Attribute: String] = [
            .label: login.title, .itemDescription: login.kind ?? "", .account: login.user,
        ]
        for (name, attribute) in attributes where attribute.belongs(to: item.itemClass) {
            let derived = read[attribute] ?? (isSame ? key.attributes[attribute]?.shownText ?? "" : "")
            state(name, item[attribute]?.shownText ?? "", besides: derived)
        }
        if case .data(let bytes) = item[.accessControl], let control = AccessControl(parsing: bytes) {
            state(presence, control.constraints.flatMap { $0 == 0 ? nil : String($0) } ?? "", besides: "")
        }
        let usual = Accessibility.whenUnlocked.rawValue
        state(accessible, item[.accessible]?.text ?? usual, besides: usual)
        state(group, item[.accessGroup]?.text ?? usualGroup, besides: usualGroup)
        state(synchronizable, item[.synchronizable]?.shownText ?? "", besides: "")
        let user = item.userAttributes
        for (name, value) in user.sorted(by: { $0.key < $1.key }) where name.hasPrefix(ItemNames.prefix) {
            if ![ItemNames.source, ItemNames.booleans].contains(name) { state(name, value, besides: "\u{0}") }
        }
        state(folder, user[ItemNames.folder] ?? "", besides: login.folder)
        if !hasOwnURLs, !login.urls.isEmpty { stated.append((urls, "derived")) }
        if !absent.isEmpty { stated.append((none, absent.joined(separator: " "))) }
        return stated
    }

    /// Returns a value without what some formats change: control characters, and blanks at its ends.
    private static func encoded(_ value: String) -> String {
        let scalars = value.unicodeScalars
        func isChanged(_ index: String.Index) -> Bool {
            let scalar = scalars[index]
            let isEnd = index == scalars.startIndex || scalars.index(after: index) == scalars.endIndex
            return scalar == "%" || scalar.properties.generalCategory == .control
                || isEnd && scalar.properties.isWhitespace
                || ["\u{2028}", "\u{2029}", "\u{fffe}", "\u{ffff}"].contains(scalar)
        }
        guard scalars.indices.contains(where: isChanged) else { return value }
        return scalars.indices.map { isChanged($0) ? PercentCoding.encoded(String(scalars[$0])) : String(scalars[$0]) }
            .joined()
    }

    /// Returns the value as the item has it; lists of names are decoded by ``names(_:)``.
    static func decoded(_ name: String, _ value: String) -> String {
        [base64, attached, open].contains(name) ? value : PercentCoding.decoded(value) ?? value
    }

    /// Stands for the password among the names of fields, none of which is empty.
    static let password = ""

    static func text(_ names: some Sequence<String>) -> String {
        names.map { $0.isEmpty ? "=" : PercentCoding.encoded($0) }.joined(separator: " ")
    }

    /// Returns the names of such a text, or of ``ItemNames/lines(_:)``.
    static func names(_ text: String) -> [String] {
        text.split(whereSeparator: \.isWhitespace).compactMap { $0 == "=" ? "" : PercentCoding.decoded($0) }
    }

    static let usualGroup = "default"
}

extension AttributeValue {
    /// A text, or a number other than 0.
    var shownText: String? {
        if case .number(let number) = self { return number == 0 ? nil : String(number) }
        return text
    }
}

/// Custom names in files. An item keeps those that have a meaning to this product with a prefix.
enum CustomName {
    private static func rest(_ name: String) -> Substring {
        var rest = name[...]
        while rest.hasPrefix(ItemNames.custom) { rest = rest.dropFirst(ItemNames.custom.count) }
        return rest
    }

    private static func isEscaped(_ name: String) -> Bool {
        let rest = rest(name)
        // A file's name that would be a statement stays apart from the statements of an export for good.
        if rest.hasPrefix(ItemNames.prefix) { return rest.utf8.count == name.utf8.count }
        return ItemNames.isReserved(String(rest))
    }

    static func kept(_ name: String) -> String { isEscaped(name) ? ItemNames.custom + name : name }

    static func shown(_ name: String) -> String {
        guard name.hasPrefix(ItemNames.custom) else { return name }
        let shown = String(name.dropFirst(ItemNames.custom.count))
        return isEscaped(shown) && !shown.hasPrefix(ItemNames.prefix) ? shown : name
    }
}

extension Maker {
    static func of(importFrom format: String) -> String { "\(Maker.imported.rawValue):\(format)" }
}
