// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import VaultFormat

/// A name by which a person or a program means an item, and the rules of which items that are. The first rule that
/// finds any decides; everything else about the item only filters.
package struct ItemName: Equatable, Sendable {
    /// The parts of an item that a name may equal, in their order.
    package struct Rules: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The place: the service or the server.
        package static let place = Rules(rawValue: 1)
        /// The title.
        package static let title = Rules(rawValue: 2)
        /// The host, which the name may be in any spelling, or have in a URL.
        package static let host = Rules(rawValue: 4)

        package static let all: Rules = [.place, .title, .host]
        fileprivate static let inOrder = [place, title, host]
    }

    package let text: String
    /// The user, or the account attribute; `nil` for any.
    package let account: String?
    package let rules: Rules
    /// The first digits of the identifier, in hexadecimal; `nil` for any.
    package let id: String?

    /// - Parameter rules: titles are set by programs, by imports and by other people, so that only a person who looks
    ///   at what is found goes by them.
    package init(_ text: String, account: String? = nil, _ rules: Rules = .all, id: String? = nil) {
        (self.text, self.account, self.rules) = (text, account, rules)
        self.id = id.map { $0.lowercased().replacing("-", with: "") }
    }

    /// The rules of this name, in their order.
    package var orderedRules: [Rules] { Rules.inOrder.filter(rules.contains) }

    /// The host that the name is, or that it has as a URL; `nil` for a single word, which may mean anything.
    package var host: WebHost? {
        WebPlace(text).flatMap { $0.scheme != nil || $0.host.isMoreThanAWord ? $0.host : nil }
    }

    /// Returns whether a name means an item by a rule, if there is no item that it means by an earlier one.
    package func means(_ face: ItemFace, by rule: Rules) -> Bool {
        let isNamed =
            switch rule {
            case .place: face.place.utf8.elementsEqual(text.utf8)
            case .title: face.title.utf8.elementsEqual(text.utf8) && !HiddenItems.isCollection(face.item)
            default: host.map { face.host?.withoutWWW == $0.withoutWWW } ?? false
            }
        return isNamed && isOfAccount(face) && hasID(face)
    }

    /// Returns the items that the name means.
    package func meant(among items: [Item]) -> [Item] {
        for rule in orderedRules {
            let found = items.filter { means(ItemFace($0), by: rule) }
            if !found.isEmpty { return found }
        }
        return []
    }

    private func isOfAccount(_ face: ItemFace) -> Bool {
        guard let account else { return true }
        return (face.item.account ?? "").utf8.elementsEqual(account.utf8) || face.user.utf8.elementsEqual(account.utf8)
    }

    private func hasID(_ face: ItemFace) -> Bool {
        guard let id else { return true }
        return face.item.record?.shortID(digits: 32).hasPrefix(id) ?? false
    }
}

extension ItemRecord {
    /// The first digits of the identifier, in hexadecimal: 1 to 32.
    package func shortID(digits: Int) -> String { String(hexadecimal(itemID.bytes.span.array(0..<16)).prefix(digits)) }
}

extension Query {
    /// The items that a name means, with attributes that filter them. The secret comes with the only one.
    package init(named name: ItemName, _ itemClass: ItemClass? = nil, attributes: [Attribute: AttributeValue] = [:]) {
        self.init(itemClass, attributes: attributes)
        self.name = name
    }
}

extension [Item] {
    /// The items in the order in which programs expect them, which take the first: the last changed one first.
    package var lastChangedFirst: [Item] {
        // The order of equal dates is that of the creation, the newest first.
        enumerated().sorted { a, b in
            let (first, second) = (a.element.record?.modified, b.element.record?.modified)
            return first == second ? a.offset > b.offset : first ?? .distantPast > second ?? .distantPast
        }.map(\.element)
    }
}
